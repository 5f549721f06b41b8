/* Visit arcs evenly, whatever the degrees of their rows: a warp takes WARP_ARCS consecutive arcs and finds their rows. */
#pragma once

#include "gpu/device.cuh"

/* The row of an arc: the last row whose first arc is not greater. All lanes call it and probe 32 rows at a time. */
__device__ __forceinline__ int64_t row_of(const int64_t* offsets, int64_t num_rows, int64_t arc) {
    const int lane = threadIdx.x & 31;
    int64_t low = 0, high = num_rows; /* offsets[low] <= arc < offsets[high] */
    while (high - low > 1) {
        const int64_t step = (high - low + 31) / 32, probe = low + step * (lane + 1);
        const int reached = __popc(__ballot_sync(FULL_WARP, probe < high && offsets[probe] <= arc));
        low += step * reached;
        high = min(high, low + step);
    }
    return low;
}

/* Call `visit(row, arc)` for this warp's share of all arcs. */
template <typename Visit>
__device__ __forceinline__ void visit_arcs(const int64_t* offsets, int64_t num_rows, Visit visit) {
    const int lane = threadIdx.x & 31;
    int64_t arc = global_thread() / 32 * WARP_ARCS;
    const int64_t end = min(arc + WARP_ARCS, offsets[num_rows]);
    if (arc >= end) {
        return;
    }
    int64_t row = row_of(offsets, num_rows, arc);
    while (arc < end) {
        /* Lane i holds the end of row `row + i`, relative to `arc`. */
        const int stop = (int)min(offsets[min(row + 1 + lane, num_rows)] - arc, (int64_t)(end - arc));
        const int window = __shfl_sync(FULL_WARP, stop, 31);
        if (window <= 0) { /* 32 rows without arcs */
            row = row_of(offsets, num_rows, arc);
            continue;
        }
        for (int first = 0; first < window; first += 32) {
            const int mine = first + lane;
            int before = 0; /* rows that end at or before this lane's arc */
            for (int step = 16; step > 0; step /= 2) {
                before += __shfl_sync(FULL_WARP, stop, before + step - 1) <= mine ? step : 0;
            }
            if (mine < window) {
                visit(row + before, arc + mine);
            }
        }
        arc += window;
        row += 32;
    }
}
