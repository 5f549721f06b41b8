/* The forests of a pass; the order in which a node visits the heads of its arcs, and the numbers that its children get. */
#pragma once

#include "reachability/nodes.cuh"
#include "reachability/order/sweeps.cuh"

struct Dimension {
    uint64_t salt;
    bool ascending; /* dimension 0 visits heads in ascending order */
    const ROW* parent;
    ROW *size, *first;
    ROW *low, *post;
};

struct Dimensions {
    int count;
    Dimension at[FUSED_DIMENSIONS];
};

struct Visit {
    int64_t begin, length, start;
    bool backwards;

    __device__ Visit(int64_t begin, int64_t end, const Dimension& dimension, int64_t node, int64_t num_nodes)
        : begin(begin), length(end - begin), start(0), backwards(false) {
        if (!dimension.ascending && length > 0) {
            const uint64_t hash = key_of(dimension.salt, node, num_nodes);
            start = (int64_t)((hash >> 1) % (uint64_t)length);
            backwards = hash & 1;
        }
    }
    /* The arc that visit number `turn`, less than the length, reads. */
    __device__ int64_t arc(int64_t turn) const {
        const int64_t place = backwards ? start - turn : start + turn;
        return begin + (place < 0 ? place + length : place >= length ? place - length : place);
    }
};

/* Assign the first numbers of the subtrees below a node, from `next` on, by one lane. */
__device__ __forceinline__ void number_children(const Visit& visit, const ROW* heads, const Dimension& dimension, ROW node,
    ROW next) {
    for (int64_t turn = 0; turn < visit.length; turn += BATCH) {
        ROW child[BATCH], size[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            child[k] = heads[visit.arc(turn + k < visit.length ? turn + k : visit.length - 1)];
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            size[k] = turn + k < visit.length && dimension.parent[child[k]] == node ? dimension.size[child[k]] : 0;
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            if (size[k]) {
                store_relaxed(dimension.first + child[k], next);
                next += size[k];
            }
        }
    }
}

/* The same with all lanes of a warp. */
__device__ __forceinline__ void number_children_by_warp(const Visit& visit, const ROW* heads, const Dimension& dimension,
    ROW node, ROW next) {
    const int lane = threadIdx.x & 31;
    for (int64_t turn = lane; turn - lane < visit.length; turn += 32 * LONG_BATCH) {
        ROW child[LONG_BATCH], size[LONG_BATCH];
#pragma unroll
        for (int k = 0; k < (int)LONG_BATCH; ++k) {
            child[k] = heads[visit.arc(turn + k * 32 < visit.length ? turn + k * 32 : visit.length - 1)];
        }
#pragma unroll
        for (int k = 0; k < (int)LONG_BATCH; ++k) {
            size[k] = turn + k * 32 < visit.length && dimension.parent[child[k]] == node ? dimension.size[child[k]] : 0;
        }
#pragma unroll
        for (int k = 0; k < (int)LONG_BATCH; ++k) {
            if (!__any_sync(FULL_WARP, size[k] != 0)) {
                continue;
            }
            ROW sum = size[k];
            for (int step = 1; step < 32; step <<= 1) {
                const ROW lower = __shfl_up_sync(FULL_WARP, sum, step);
                sum += lane >= step ? lower : 0;
            }
            if (size[k]) {
                store_relaxed(dimension.first + child[k], next + sum - size[k]);
            }
            next += __shfl_sync(FULL_WARP, sum, 31);
        }
    }
}
