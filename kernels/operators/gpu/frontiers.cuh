/* Frontiers on a GPU: a bit for each row, a list of rows, or all rows; and what operators find. INPUT is the form. */
#pragma once
#include "gpu/device.cuh"

__device__ __forceinline__ bool has_bit(const uint32_t* bits, int64_t row) { return (bits[row >> 5] >> (row & 31)) & 1; }

/* Rows that enter a frontier: their bits, their number, and a list of the first `capacity` of them. */
struct Found {
    uint32_t* bits;
    ROW* queue;
    int64_t capacity;
    uint64_t* size;
};

/* Add a row, once however often it is found. */
__device__ __forceinline__ void enter(const Found& found, int64_t row) {
    const uint32_t bit = 1u << (row & 31);
    uint32_t* word = &found.bits[row >> 5];
    if ((*word & bit) == 0 && (atomicOr(word, bit) & bit) == 0) {
        const uint64_t place = append(found.size);
        if ((int64_t)place < found.capacity) {
            found.queue[place] = (ROW)row;
        }
    }
}
