/* Lengths of paths as unsigned integers that order as the lengths do, so that an integer minimum works for every type of weight.

   SUM is the type of a sum of weights: int (tried first if the weights are integers), int64_t, or double (its bits, which order
   as non-negative doubles do). FAR is the length of no path, and a sum that reaches it is not the length of a path. ROW is the
   type of a row number, WEIGHT that of a weight. */
#pragma once

#include "gpu/device.cuh"

template <typename Sum>
struct Kind;

template <>
struct Kind<int> {
    typedef uint32_t Length;
    static constexpr Length far = 0xffffffffu;
    static __device__ __forceinline__ Length of(int64_t weight) { return weight < (int64_t)far ? (Length)weight : far; }
    static __device__ __forceinline__ Length plus(Length a, Length b) { return (a < far - b ? a : far - b) + b; }
    static __device__ __forceinline__ int64_t sum(Length length) { return (int64_t)length; }
    static __device__ __forceinline__ Length part(Length length, int eighths) {
        return (Length)((uint64_t)length * eighths >> 3);
    }
};

template <>
struct Kind<int64_t> {
    typedef uint64_t Length;
    static constexpr Length far = 1ull << 63;
    static __device__ __forceinline__ Length of(int64_t weight) { return (Length)weight; }
    static __device__ __forceinline__ Length plus(Length a, Length b) { /* neither is above `far` */
        return a >= far - b ? far : a + b;
    }
    static __device__ __forceinline__ int64_t sum(Length length) { return (int64_t)length; }
    static __device__ __forceinline__ Length part(Length length, int eighths) {
        return (length >> 3) * eighths + ((length & 7) * eighths >> 3);
    }
};

template <>
struct Kind<double> {
    typedef uint64_t Length;
    static constexpr Length far = 0x7ff0000000000000ull;
    static __device__ __forceinline__ Length of(double weight) {
        return (Length)__double_as_longlong(weight + 0.0); /* avoids a negative zero */
    }
    static __device__ __forceinline__ Length plus(Length a, Length b) {
        return (Length)__double_as_longlong(__longlong_as_double((int64_t)a) + __longlong_as_double((int64_t)b));
    }
    static __device__ __forceinline__ double sum(Length length) { return __longlong_as_double((int64_t)length); }
    static __device__ __forceinline__ Length part(Length length, int eighths) {
        return (Length)__double_as_longlong(__longlong_as_double((int64_t)length) * (eighths * 0.125));
    }
};

typedef Kind<SUM>::Length Length;
#define FAR (Kind<SUM>::far)

__device__ __forceinline__ Length plus(Length a, Length b) { return Kind<SUM>::plus(a, b); }

__device__ __forceinline__ Length length_of(WEIGHT weight) { return Kind<SUM>::of(weight); }

__device__ __forceinline__ Length smaller(Length a, Length b) { return a < b ? a : b; }

/* End of an interval from `from` that contains at least one length, even if the sum rounds to `from`. */
__device__ __forceinline__ Length beyond(Length from, Length width) {
    const Length end = plus(from, width);
    return end > from || from >= FAR ? end : from + 1;
}

/* The least of a warp's lengths, returned to every lane. Called by all lanes. */
__device__ __forceinline__ uint32_t least_of_warp(uint32_t length) { return __reduce_min_sync(FULL_WARP, length); }

__device__ __forceinline__ uint64_t least_of_warp(uint64_t length) {
    for (int apart = 16; apart > 0; apart >>= 1) {
        const uint64_t other = __shfl_xor_sync(FULL_WARP, length, apart);
        length = other < length ? other : length;
    }
    return length;
}
