/* The arcs of rows, and the queue of large rows' arcs. */
#pragma once

#include "gpu/union_find.cuh"

#define WARP_ROW 32
#define CHUNK 1024

/* A row's place is that of its parent in union-find; `far` is the place at an arc's other end; others are left out. */
struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;

    __device__ __forceinline__ ROW place(int64_t row) const { return (ROW)row; }
    __device__ __forceinline__ ROW far(int64_t arc) const { return indices[arc]; }
    __device__ __forceinline__ bool left_out(int64_t) const { return false; }
};

/* `queued`: entries of the queue, first of roots, then of all others. */
struct Control {
    uint32_t barrier;
    uint32_t queued[2];
    int64_t giant;
};

struct Chunk {
    int64_t row, first;
};

__device__ void enqueue(Chunk* queue, uint32_t* queued, int64_t row, int64_t first, int64_t end) {
    uint32_t place = atomicAdd(queued, (uint32_t)((end - first + CHUNK - 1) / CHUNK));
    for (; first < end; first += CHUNK) {
        queue[place++] = {row, first};
    }
}

/* Unite the queued rows with the ends of their arcs, `most` of an entry. */
template <typename Order, typename Side>
__device__ void unite_queued(Side out, Side into, int most, ROW* parent, const Chunk* queue, uint32_t queued) {
    const uint32_t warps = num_threads() / 32;
    for (uint32_t place = global_thread() / 32; place < queued; place += warps) {
        const Chunk chunk = queue[place];
        const Side arcs = chunk.row < 0 ? into : out;
        const ROW row = (ROW)(chunk.row < 0 ? ~chunk.row : chunk.row);
        const int64_t end = min(chunk.first + most, arcs.offsets[row + 1]);
        ROW root = arcs.place(row);
        for (int64_t arc = chunk.first + (threadIdx.x & 31); arc < end; arc += 32) {
            root = arcs.left_out(arc) ? root : unite<Order>(parent, root, arcs.far(arc));
        }
    }
}
