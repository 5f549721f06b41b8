/* How values are combined: `kernels/library/operators/cpu/orders.py` for threads. HOW is the operation, TOTAL the type. */
#pragma once
#include "gpu/device.cuh"

__device__ __forceinline__ TOTAL positive_zero(TOTAL value) { return value == 0 ? (TOTAL)0 : value; }

__device__ __forceinline__ TOTAL combine(TOTAL one, TOTAL other) {
#if HOW == PRODUCT_OF
    return one * other;
#elif HOW == LEAST_OF
    return other < one ? positive_zero(other) : one;
#elif HOW == MOST_OF
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
