/* How values are combined: `kernels/operators/cpu/orders.py` for threads. HOW is the operation, TOTAL the type. */
#pragma once
#include "gpu/device.cuh"

enum { NOTHING, SUM_OF, PRODUCT_OF, LEAST_OF, MOST_OF, FIRST_OF };

__device__ __forceinline__ TOTAL positive_zero(TOTAL value) { return value == 0 ? (TOTAL)0 : value; }

__device__ __forceinline__ TOTAL combine(TOTAL one, TOTAL other) {
#if HOW == 2 /* PRODUCT_OF */
    return one * other;
#elif HOW == 3 /* LEAST_OF */
    return other < one ? positive_zero(other) : one;
#elif HOW == 4 /* MOST_OF */
    return other > one ? positive_zero(other) : one;
#else
    return one + other;
#endif
}

/* Combine the values of all lanes, halves of them at a time; in all lanes. */
__device__ __forceinline__ TOTAL combine_lanes(TOTAL value) {
    for (int step = 16; step > 0; step >>= 1) {
        value = combine(value, __shfl_xor_sync(FULL_WARP, value, step));
    }
    return value;
}
