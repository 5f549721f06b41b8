/* The arcs of rows, and the queue of chunks of large rows' arcs. */
#pragma once

#include "gpu/union_find.cuh"

#define CHUNK 1024

/* Rows and their out- or in-arcs. `slot` is the index of a row in the union-find's `parent`, `head` that of an arc's other row.
   Arcs that are `left_out` are not read. */
struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;

    __device__ __forceinline__ ROW slot(int64_t row) const { return (ROW)row; }
    __device__ __forceinline__ ROW head(int64_t arc) const { return indices[arc]; }
    __device__ __forceinline__ bool left_out(int64_t) const { return false; }
};

/* `queued`: numbers of entries in the queue, when it holds roots and when it holds other rows. `giant` is the root of most rows
   after the sample, and `last` the root of its tree in the end. `queued` is zero before and after. */
struct Control {
    uint32_t barrier;
    uint32_t queued[2];
    int64_t giant, last;
};
static_assert(sizeof(Control) == CONTROL_WORDS * 8, "CONTROL_WORDS is wrong");

/* Leave `control` as the next launch needs it, behind the last barrier. */
__device__ __forceinline__ void forget(Control* control) {
    if (global_thread() == 0) {
        control->queued[0] = control->queued[1] = 0;
    }
}

struct Chunk {
    int64_t row, first;
};

__device__ void enqueue(Chunk* queue, uint32_t* queued, int64_t row, int64_t first, int64_t end) {
    uint32_t entry = atomicAdd(queued, (uint32_t)((end - first + CHUNK - 1) / CHUNK));
    for (; first < end; first += CHUNK) {
        queue[entry++] = {row, first};
    }
}

/* Unite the queued rows, or only those that are still roots, with the heads of their arcs, at most `most` arcs of each entry. */
template <typename Order, bool roots = false, typename Side>
__device__ void unite_queued(Side out, Side into, int most, ROW* parent, const Chunk* queue, uint32_t queued) {
    const uint32_t warps = num_threads() / 32;
    for (uint32_t entry = global_thread() / 32; entry < queued; entry += warps) {
        const Chunk chunk = queue[entry];
        const Side arcs = chunk.row < 0 ? into : out;
        const ROW row = (ROW)(chunk.row < 0 ? ~chunk.row : chunk.row);
        const int64_t end = min(chunk.first + most, arcs.offsets[row + 1]);
        ROW root = arcs.slot(row);
        if (roots && parent[root] != root) {
            continue;
        }
        for (int64_t arc = chunk.first + (threadIdx.x & 31); arc < end; arc += 32) {
            root = arcs.left_out(arc) ? root : unite<Order>(parent, root, arcs.head(arc));
        }
    }
}
