/* Which rank has a number, of those that the ranks have one after the other. */
#pragma once

#include "gpu/device.cuh"

/* Rank r has `bounds[r]` to `bounds[r + 1]`. */
__device__ __forceinline__ int owner_of(const int64_t* bounds, int size, int64_t number) {
    int rank = 0;
    while (rank < size - 1 && number >= bounds[rank + 1]) {
        ++rank;
    }
    return rank;
}
