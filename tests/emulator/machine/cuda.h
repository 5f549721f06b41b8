/* The part of CUDA C++ that kernels/ uses, for g++. */
#pragma once

#include "support.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) alignas(bytes)
#define threadIdx (emulated::self->thread)
#define blockIdx (emulated::self->block)
#define blockDim (emulated::block_size)
#define gridDim (emulated::grid_size)
#define HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
struct alignas(16) longlong2 {
    long long x, y;
};

/* Barriers and fences. Fences do nothing, because memory is sequentially consistent. */
inline void __syncthreads(HERE) {
    emulated::block_barrier(false, file, line);
}
inline int __syncthreads_or(int value, HERE) {
    return emulated::block_barrier(value != 0, file, line) != 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, HERE) {
    emulated::exchange(emulated::SYNC, mask, 0, 0, file, line);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {
    emulated::yield();
}

/* Warps. The active lanes are those that are at the same place of the code, called from the same one, when this one continues. */
__attribute__((always_inline)) inline unsigned __activemask() {
    const void* place;
    asm volatile("lea 0(%%rip), %0" : "=r"(place));
    const long depth = (const char*)emulated::self - (const char*)__builtin_frame_address(0);
    return emulated::converged(place, __builtin_return_address(0), depth);
}
inline unsigned __ballot_sync(unsigned mask, int value, HERE) {
    return (unsigned)emulated::exchange(emulated::VOTE, mask, value != 0, 0, file, line);
}
inline int __any_sync(unsigned mask, int value, HERE) {
    return __ballot_sync(mask, value, file, line) != 0;
}
inline int __all_sync(unsigned mask, int value, HERE) {
    return __ballot_sync(mask, value == 0, file, line) == 0;
}
namespace emulated {
template <typename T>
inline T shuffle(unsigned mask, T value, int from, const char* file, int line) {
    return back<T>(exchange(SHUFFLE, mask, as<unsigned long long>(value), from, file, line));
}
}
template <typename T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32, HERE) {
    const int first = emulated::lane() & -width;
    return emulated::shuffle(mask, value, first + (from & (width - 1)), file, line);
}
template <typename T>
inline T __shfl_xor_sync(unsigned mask, T value, int step, int width = 32, HERE) {
    const int lane = emulated::lane(), from = lane ^ step;
    return emulated::shuffle(mask, value, from < (lane & -width) + width ? from : lane, file, line);
}
template <typename T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned step, int width = 32, HERE) {
    const int lane = emulated::lane(), from = lane - (int)step;
    return emulated::shuffle(mask, value, from < (lane & -width) ? lane : from, file, line);
}
template <typename T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned step, int width = 32, HERE) {
    const int lane = emulated::lane(), from = lane + (int)step;
    return emulated::shuffle(mask, value, from >= (lane & -width) + width ? lane : from, file, line);
}
template <typename T>
inline unsigned __match_any_sync(unsigned mask, T value, HERE) {
    return (unsigned)emulated::exchange(emulated::MATCH, mask, emulated::as<unsigned long long>(value), 0, file, line);
}
#define REDUCE(name, T, kind)                                                                                \
    inline T name(unsigned mask, T value, HERE) {                                                            \
        return (T)emulated::exchange(emulated::kind, mask, (unsigned long long)(long long)value, 0, file, line); \
    }
REDUCE(__reduce_add_sync, unsigned, ADD)
REDUCE(__reduce_add_sync, int, ADD)
REDUCE(__reduce_max_sync, unsigned, GREATEST)
REDUCE(__reduce_max_sync, int, GREATEST_SIGNED)
REDUCE(__reduce_min_sync, unsigned, LEAST)
REDUCE(__reduce_min_sync, int, LEAST_SIGNED)

/* Atomics, for the types for which CUDA has them. */
#define ATOMIC(name, T, left)                          \
    inline T name(T* address, T value) {               \
        emulated::may_yield();                             \
        const T before = *(volatile T*)address;        \
        *(volatile T*)address = left;                  \
        return before;                                 \
    }
#define ATOMICS(name, left)                  \
    ATOMIC(name, int, left)                  \
    ATOMIC(name, unsigned, left)             \
    ATOMIC(name, unsigned long long, left)
ATOMICS(atomicAdd, before + value)
ATOMIC(atomicAdd, float, before + value)
ATOMIC(atomicAdd, double, before + value)
ATOMIC(atomicSub, int, before - value)
ATOMIC(atomicSub, unsigned, before - value)
ATOMICS(atomicMin, before < value ? before : value)
ATOMIC(atomicMin, long long, before < value ? before : value)
ATOMICS(atomicMax, before > value ? before : value)
ATOMIC(atomicMax, long long, before > value ? before : value)
ATOMICS(atomicOr, before | value)
ATOMICS(atomicAnd, before& value)
ATOMICS(atomicXor, before ^ value)
ATOMICS(atomicExch, value)
ATOMIC(atomicExch, float, value)
#define ATOMIC_CAS(T)                                           \
    inline T atomicCAS(T* address, T compare, T value) {        \
        emulated::may_yield();                                      \
        const T before = *(volatile T*)address;                 \
        *(volatile T*)address = before == compare ? value : before; \
        return before;                                          \
    }
ATOMIC_CAS(unsigned short)
ATOMIC_CAS(int)
ATOMIC_CAS(unsigned)
ATOMIC_CAS(unsigned long long)

/* Loads that bypass the L1 cache see other threads' writes, so another thread may run first. */
template <typename T>
inline T __ldcg(const T* address) {
    emulated::may_yield();
    return *address;
}
template <typename T>
inline T __ldcs(const T* address) {
    return *address;
}
template <typename T>
inline T __ldg(const T* address) {
    return *address;
}
template <typename T>
inline void __stcg(T* address, T value) {
    *address = value;
    emulated::may_yield();
}

/* Bit and arithmetic intrinsics. */
inline int __popc(unsigned value) {
    return __builtin_popcount(value);
}
inline int __popcll(unsigned long long value) {
    return __builtin_popcountll(value);
}
inline int __ffs(int value) {
    return __builtin_ffs(value);
}
inline int __ffsll(long long value) {
    return __builtin_ffsll(value);
}
inline int __clz(int value) {
    return value ? __builtin_clz((unsigned)value) : 32;
}
inline int __clzll(long long value) {
    return value ? __builtin_clzll((unsigned long long)value) : 64;
}
inline unsigned long long __brevll(unsigned long long value) {
    unsigned long long turned = 0;
    for (int bit = 0; bit < 64; ++bit) {
        turned |= (value >> bit & 1) << (63 - bit);
    }
    return turned;
}
inline unsigned __brev(unsigned value) {
    return (unsigned)(__brevll(value) >> 32);
}
inline long long __double_as_longlong(double value) {
    return emulated::as<long long>(value);
}
inline double __longlong_as_double(long long value) {
    return emulated::as<double>(value);
}
inline unsigned __float_as_uint(float value) {
    return emulated::as<unsigned>(value);
}
inline float __uint_as_float(unsigned value) {
    return emulated::as<float>(value);
}
inline double __dmul_rn(double left, double right) {
    return left * right;
}
inline double __dadd_rn(double left, double right) {
    return left + right;
}
inline double __ddiv_rn(double left, double right) {
    return left / right;
}
inline double fabs(double value) {
    return __builtin_fabs(value);
}
inline float fabs(float value) {
    return __builtin_fabsf(value);
}
#define OF_DOUBLE(T, name) \
    inline T name(double value) { return __builtin_##name(value); }
OF_DOUBLE(double, sqrt)
OF_DOUBLE(double, floor)
OF_DOUBLE(double, rint)
OF_DOUBLE(double, ceil)
OF_DOUBLE(double, exp)
OF_DOUBLE(double, log)
OF_DOUBLE(bool, isnan)
OF_DOUBLE(bool, isinf)
#define LEAST_AND_MOST(T, A, B)                                                  \
    inline T min(A a, B b) { return (T)b < (T)a ? (T)b : (T)a; }                 \
    inline T max(A a, B b) { return (T)a < (T)b ? (T)b : (T)a; }
#define LEAST_AND_MOST_OF(SIGNED)                                                \
    LEAST_AND_MOST(SIGNED, SIGNED, SIGNED)                                       \
    LEAST_AND_MOST(unsigned SIGNED, unsigned SIGNED, unsigned SIGNED)            \
    LEAST_AND_MOST(unsigned SIGNED, unsigned SIGNED, SIGNED)                     \
    LEAST_AND_MOST(unsigned SIGNED, SIGNED, unsigned SIGNED)
LEAST_AND_MOST_OF(int)
LEAST_AND_MOST_OF(long long)
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline double min(double a, double b) { return __builtin_fmin(a, b); }
inline double max(double a, double b) { return __builtin_fmax(a, b); }
inline unsigned long long __cvta_generic_to_shared(const void* place) {
    return emulated::shared_address(place);
}
