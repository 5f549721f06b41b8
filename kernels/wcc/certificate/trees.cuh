/* A union-find over arcs, for the certificate only: it shares no code with the kernels that it checks.

   `parent[v]` is v itself at a root. Path halving (Tarjan, van Leeuwen, JACM 31(2), 1984); links by compare-and-swap from the
   greater root to the smaller one. */
#pragma once

#include "certificate/arcs.cuh"

#define FIRST_ARCS 2

__device__ __forceinline__ ROW top(ROW* parent, ROW v) {
    while (true) {
        const ROW up = parent[v], above = parent[up];
        if (up == above) {
            return up;
        }
        parent[v] = above;
        v = above;
    }
}

__device__ __forceinline__ void join(ROW* parent, ROW one, ROW other) {
    while (true) {
        one = top(parent, one);
        other = top(parent, other);
        if (one == other) {
            return;
        }
        const ROW low = min(one, other), high = max(one, other);
        if (swap_if(&parent[high], high, low) == high) {
            return;
        }
    }
}

__device__ void join_first_arcs(const int64_t* __restrict__ offsets, const ROW* __restrict__ indices, int64_t num_rows,
                                ROW* parent) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const int64_t first = offsets[v], end = min(offsets[v + 1], first + FIRST_ARCS);
        for (int64_t arc = first; arc < end; ++arc) {
            join(parent, (ROW)v, indices[arc]);
        }
    }
}
