/* What generated user functions call, and what kernels do about their failures. Stands in front of the generated text.

   Source of the checks: docs/abstractions.md. A failure is kept with the smallest (launch, row, stage, arc), so that the one that
   is reported does not depend on the order of threads. */
#pragma once
#include "gpu/device.cuh"

struct Failure {
    int site;              /* number of the failed check; 0: none; negative: given up, because a smaller row has failed */
    int64_t first, second; /* not set while nothing has failed, so that they take no register */
    volatile int64_t* record;
    int64_t launch, row;
};

/* Words of the record: a lock, then the failure that is kept, whose launch is 0 while there is none; then the address of a copy
   in memory of the host, which reads it without a copy of its own. */
enum { LOCK, LAUNCH, ROW_FAILED, STAGE, ARC_FAILED, SITE, FIRST, SECOND, ON_HOST };
static_assert(ON_HOST == RECORD_WORDS, "RECORD_WORDS is wrong");

__device__ __forceinline__ Failure no_failure(int64_t* record, int64_t launch, int64_t row) {
    Failure none;
    none.site = 0;
    none.record = record;
    none.launch = launch;
    none.row = row;
    return none;
}

__device__ __forceinline__ int failed(Failure& failure, int site, int64_t first, int64_t second) {
    failure.site = site;
    failure.first = first;
    failure.second = second;
    return 0;
}

/* Whether to leave a loop: after too many turns, or because a smaller row has failed in this launch. */
__device__ __forceinline__ bool too_many(int64_t steps, int64_t most, int site, Failure& failure) {
    if (steps > most) {
        failed(failure, site, 0, 0);
        return true;
    }
    if ((steps & 1023) == 0 && failure.record[LAUNCH] == failure.launch && failure.record[ROW_FAILED] < failure.row) {
        failure.site = -1;
        return true;
    }
    return false;
}

/* Inlined, because a call would cost registers where nothing fails. */
__device__ __forceinline__ void report(const Failure& failure, int64_t stage, int64_t arc) {
    uint32_t* lock = (uint32_t*)failure.record;
    volatile int64_t* kept = failure.record;
    const int64_t launch = failure.launch, row = failure.row;
    while (atomicCAS(lock, 0u, 1u) != 0u) {
        __nanosleep(100);
    }
    __threadfence();
    bool smaller = kept[LAUNCH] == 0 || launch < kept[LAUNCH];
    if (launch == kept[LAUNCH]) {
        smaller = row < kept[ROW_FAILED] || (row == kept[ROW_FAILED] && stage < kept[STAGE]) ||
                  (row == kept[ROW_FAILED] && stage == kept[STAGE] && arc < kept[ARC_FAILED]);
    }
    if (smaller) {
        kept[ROW_FAILED] = row;
        kept[STAGE] = stage;
        kept[ARC_FAILED] = arc;
        kept[SITE] = failure.site;
        kept[FIRST] = failure.first;
        kept[SECOND] = failure.second;
        kept[LAUNCH] = launch;
        volatile int64_t* copy = (volatile int64_t*)kept[ON_HOST];
        for (int word = LAUNCH; word < ON_HOST; ++word) {
            copy[word] = kept[word];
        }
    }
    __threadfence();
    atomicExch(lock, 0u);
}

/* failures[place] of a batch that stays in registers. */
template <int SIZE>
__device__ __forceinline__ Failure chosen(const Failure (&failures)[SIZE], int place) {
    Failure found = failures[0];
#pragma unroll
    for (int k = 1; k < SIZE; ++k) {
        found = k == place ? failures[k] : found;
    }
    return found;
}

/* Report what a call left in `failure`, if anything. */
__device__ __forceinline__ void settle(const Failure& failure, int64_t stage, int64_t arc) {
    if (failure.site > 0) {
        report(failure, stage, arc);
    }
}

__device__ __forceinline__ int64_t floor_divided(int64_t value, int64_t by) {
    if (by == -1) {
        return (int64_t)(0 - (uint64_t)value);
    }
    const int64_t quotient = value / by;
    return quotient - (value % by != 0 && (value < 0) != (by < 0));
}

__device__ __forceinline__ int64_t floor_remainder(int64_t value, int64_t by) {
    const int64_t rest = by == -1 ? 0 : value % by;
    return rest + (rest != 0 && (rest < 0) != (by < 0) ? by : 0);
}

/* Atomic changes; what is there is read first, because most calls change nothing. */
__device__ __forceinline__ int bits_of(float value) { return (int)__float_as_uint(value); }

__device__ __forceinline__ int64_t bits_of(double value) { return __double_as_longlong(value); }

__device__ __forceinline__ float float_of(int bits) { return __uint_as_float((uint32_t)bits); }

__device__ __forceinline__ double float_of(int64_t bits) { return __longlong_as_double(bits); }

__device__ __forceinline__ uint32_t without_sign(int bits) { return (uint32_t)bits; }

__device__ __forceinline__ uint64_t without_sign(int64_t bits) { return (uint64_t)bits; }

/* The least or the greatest of floats in one atomic operation: patterns of floats ascend as signed integers above zero, and
   descend as unsigned ones below. Zero has two patterns, and takes a loop. */
template <bool LEAST, typename Float>
__device__ __forceinline__ bool improve(Float* place, Float value) {
    typedef decltype(bits_of(value)) Bits;
    typedef decltype(without_sign(bits_of(value))) Unsigned;
    const auto better = [](Float one, Float other) { return LEAST ? one < other : one > other; };
    if (!better(value, *(volatile Float*)place)) {
        return false;
    }
    const Bits bits = bits_of(value);
    if (value > 0) {
        return better(value, float_of(LEAST ? atomicMin((Bits*)place, bits) : atomicMax((Bits*)place, bits)));
    }
    if (value < 0) {
        Unsigned* const word = (Unsigned*)place;
        const Unsigned mine = without_sign(bits);
        return better(value, float_of((Bits)(LEAST ? atomicMax(word, mine) : atomicMin(word, mine))));
    }
    for (;;) {
        const Float old = *(volatile Float*)place;
        if (!better(value, old)) {
            return false;
        }
        if (atomicCAS((Unsigned*)place, without_sign(bits_of(old)), without_sign(bits)) == without_sign(bits_of(old))) {
            return true;
        }
    }
}

template <typename Integer>
__device__ __forceinline__ bool atomic_min(Integer* place, Integer value) {
    return value < *place && value < atomicMin(place, value);
}

template <typename Integer>
__device__ __forceinline__ bool atomic_max(Integer* place, Integer value) {
    return value > *place && value > atomicMax(place, value);
}

__device__ __forceinline__ bool atomic_min(float* place, float value) {
    return improve<true>(place, value);
}

__device__ __forceinline__ bool atomic_min(double* place, double value) {
    return improve<true>(place, value);
}

__device__ __forceinline__ bool atomic_max(float* place, float value) {
    return improve<false>(place, value);
}

__device__ __forceinline__ bool atomic_max(double* place, double value) {
    return improve<false>(place, value);
}

__device__ __forceinline__ bool atomic_or(int* place, int value) {
    return (value & ~*place) != 0 && (value & ~(int)atomicOr((unsigned*)place, (unsigned)value)) != 0;
}

__device__ __forceinline__ bool atomic_or(int64_t* place, int64_t value) {
    typedef unsigned long long Bits;
    return (value & ~*place) != 0 && (value & ~(int64_t)atomicOr((Bits*)place, (Bits)value)) != 0;
}

__device__ __forceinline__ int64_t atomic_add(int* place, int value) { return atomicAdd(place, value); }

__device__ __forceinline__ int64_t atomic_add(int64_t* place, int64_t value) {
    return (int64_t)atomicAdd((unsigned long long*)place, (unsigned long long)value);
}
