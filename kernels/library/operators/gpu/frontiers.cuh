/* Frontiers on a GPU: a bit for each row, a list of rows, or all rows; and what operators find. INPUT is the form. */
#pragma once
#include "gpu/device.cuh"

__device__ __forceinline__ bool has_bit(const uint32_t* bits, int64_t row) { return (bits[row >> 5] >> (row & 31)) & 1; }

/* Number of the group of rows of this degree. */
__device__ __forceinline__ int group_of(int64_t degree) {
    return (degree < HUB_DEGREE) + (degree < BLOCK_DEGREE) + (degree < WARP_DEGREE);
}

#if REPEATS
/* Rows that enter the next round's frontier: their bits, and a list for each group of degrees, which `offsets` give: its rows are
   in `listed` from starts[g] on, and counts[g] is their number. LIMITED: counts[GROUPS] is the number of these rows and of their
   arcs. `marked`: only the bits are set. */
struct Found {
    uint32_t* bits;
    ROW* listed;
    const int64_t *starts, *offsets;
    uint64_t* counts;
    bool marked;
};

__device__ __forceinline__ void add_work(uint64_t* sum, int64_t work) {
    if (work > HUB_DEGREE) { /* a sum of 32 of them may exceed 32 bits */
        atomicAdd(sum, (uint64_t)work);
        return;
    }
    const uint32_t lanes = __activemask();
    const uint32_t of_lanes = __reduce_add_sync(lanes, (uint32_t)work);
    if ((threadIdx.x & 31) == __ffs((int)lanes) - 1) {
        atomicAdd(sum, (uint64_t)of_lanes);
    }
}

/* A branch for each list, because `append` joins the lanes that reach it, and these must have one list. */
__device__ __forceinline__ void put(const Found& found, int64_t row) {
    const int64_t degree = found.offsets[row + 1] - found.offsets[row];
    if (degree < WARP_DEGREE) {
        found.listed[found.starts[SHORT_ROWS] + append(found.counts + SHORT_ROWS)] = (ROW)row;
    } else if (degree < BLOCK_DEGREE) {
        found.listed[found.starts[WARP_ROWS] + append(found.counts + WARP_ROWS)] = (ROW)row;
    } else if (degree < HUB_DEGREE) {
        found.listed[found.starts[BLOCK_ROWS] + append(found.counts + BLOCK_ROWS)] = (ROW)row;
    } else {
        found.listed[found.starts[HUBS] + append(found.counts + HUBS)] = (ROW)row;
    }
    if (LIMITED) {
        add_work(found.counts + GROUPS, degree + 1);
    }
}
#else
/* Rows that enter a frontier: their bits, their number, and a list of the first `capacity` of them. `marked`: only the bits. */
struct Found {
    uint32_t* bits;
    ROW* queue;
    int64_t capacity;
    uint64_t* size;
    bool marked;
};

__device__ __forceinline__ void put(const Found& found, int64_t row) {
    const uint64_t place = append(found.size);
    if ((int64_t)place < found.capacity) {
        found.queue[place] = (ROW)row;
    }
}
#endif

/* Add a row, once however often it is found. */
__device__ __forceinline__ void enter(const Found& found, int64_t row) {
    const uint32_t bit = 1u << (row & 31);
    uint32_t* word = &found.bits[row >> 5];
    if (*word & bit) {
        return;
    }
    if (found.marked) {
        atomicOr(word, bit);
    } else if ((atomicOr(word, bit) & bit) == 0) {
        put(found, row);
    }
}
