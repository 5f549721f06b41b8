/* The owner of a number: the ranks own contiguous ranges, in rank order. */
#pragma once

#include "gpu/device.cuh"

/* Rank r owns `bounds[r]` to `bounds[r + 1]`. */
__device__ __forceinline__ int owner_of(const int64_t* bounds, int size, int64_t number) {
    int rank = 0;
    while (rank < size - 1 && number >= bounds[rank + 1]) {
        ++rank;
    }
    return rank;
}
