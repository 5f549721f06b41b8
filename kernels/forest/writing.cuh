/* The forest's edges, out of their bitmap and in its order. */
#pragma once

#include "forest/edges.cuh"

#define MARKS_OF_TILE 1024

typedef unsigned short uint16_t;

/* Marks in each warp's part of the bitmap. */
__device__ void count_marks(const uint32_t* marks, int64_t num_words, uint32_t* counts) {
    const int lane = threadIdx.x & 31;
    const int64_t warp = global_thread() / 32, warps = num_threads() / 32;
    int count = 0;
    for (int64_t word = num_words * warp / warps + lane; word < num_words * (warp + 1) / warps; word += 32) {
        count += __popc(marks[word]);
    }
    count = __reduce_add_sync(FULL_WARP, count);
    if (lane == 0) {
        counts[warp] = count;
    }
}

/* The last rank of `low..high-1` whose edges begin at or before `edge`. */
__device__ __forceinline__ int64_t rank_of_edge(const EDGE* __restrict__ first_edge, int64_t low, int64_t high, Bits edge) {
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if ((Bits)first_edge[middle] <= edge) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Write the marked edges in their order. `sums` is the block's, and `slots` the warp's, in shared memory. */
__device__ void write_edges(const Edges& g, const uint32_t* marks, int64_t num_words, const uint32_t* counts,
                            unsigned long long* sums, uint16_t* slots, ROW* src, ROW* dst, WEIGHT* weights, Control* control) {
    const int lane = threadIdx.x & 31, own = threadIdx.x / 32;
    const int64_t warp = global_thread() / 32, warps = num_threads() / 32;
    if (threadIdx.x == 0) {
        *sums = 0;
    }
    __syncthreads();
    unsigned long long before_block = 0;
    for (int64_t other = threadIdx.x; other < warp - own; other += blockDim.x) {
        before_block += counts[other];
    }
    atomicAdd(sums, before_block);
    __syncthreads();
    int64_t place = (int64_t)*sums;
    for (int other = 0; other < own; ++other) {
        place += counts[warp - own + other];
    }
    if (warp == warps - 1 && lane == 0) {
        control->total = place + counts[warp];
    }
    const int64_t first_word = num_words * warp / warps, end_word = num_words * (warp + 1) / warps;
    if (counts[warp] == 0) {
        return;
    }
    int64_t low = rank_of_edge(g.first_edge, 0, g.num_rows, (Bits)first_word * 32);
    const int64_t last = min(end_word * 32, g.num_edges) - 1;
    const int64_t high = rank_of_edge(g.first_edge, low, g.num_rows, (Bits)last) + 1;
    for (int64_t tile = first_word; tile < end_word; tile += 32) {
        uint32_t word = tile + lane < end_word ? marks[tile + lane] : 0;
        int slot = __popc(word), marked = slot;
        for (int step = 1; step < 32; step *= 2) {
            const int lower = __shfl_up_sync(FULL_WARP, marked, step);
            marked += lane >= step ? lower : 0;
        }
        slot = marked - slot;
        marked = __shfl_sync(FULL_WARP, marked, 31);
        for (; word != 0; word &= word - 1) {
            slots[slot++] = (uint16_t)(lane * 32 + __ffs(word) - 1);
        }
        __syncwarp();
        int64_t rank = low;
        for (int i = lane; i < marked; i += 32) {
            const Bits edge = (Bits)tile * 32 + slots[i];
            rank = rank_of_edge(g.first_edge, low, high, edge);
            const ROW row = g.rows_by_id[rank];
            const int64_t arc = g.offsets[row] + g.tails[row] + (int64_t)(edge - (Bits)g.first_edge[rank]);
            src[place + i] = row;
            dst[place + i] = g.indices[arc];
            if (g.weights != nullptr) {
                weights[place + i] = g.weights[arc];
            }
        }
        low = __shfl_sync(FULL_WARP, rank, (marked - 1) & 31);
        place += marked;
    }
}
