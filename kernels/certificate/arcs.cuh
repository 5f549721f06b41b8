/* Shared by the certificates: a walk over all arcs that gives every warp equally many. */
#pragma once

#include "gpu/device.cuh"

#define ABREAST 4   /* arcs that a lane reads at a time */
#define SHARE 2048  /* arcs that a warp reads in a row, at most */

/* The row that holds an arc. */
__device__ __forceinline__ int64_t row_of(const int64_t* __restrict__ offsets, int64_t num_rows, int64_t arc) {
    return first_not(1, num_rows, [=](int64_t row) { return offsets[row] <= arc; }) - 1;
}

/* Visitors that leave no row out. */
struct EveryRow {
    __device__ __forceinline__ bool skips(int64_t) const { return false; }
};

/* Visit all arcs; each warp takes shares of consecutive ones. Its lanes read consecutive arcs of the rows in a window of 32 rows;
   windows are not read if `visit.skips` all their rows. `visit.load(row, arc, head)` loads what the arc needs, for several arcs
   without a branch, so that loads overlap. All lanes call `visit.take(row, arc, head, loaded, active)` together. */
template <typename Visit>
__device__ void walk_arcs(const int64_t* __restrict__ offsets, const ROW* __restrict__ indices, int64_t num_rows, Visit& visit) {
    const int lane = threadIdx.x & 31;
    const int64_t num_arcs = num_rows > 0 ? offsets[num_rows] : 0;
    const int64_t warps = num_threads() / 32;
    const int64_t share = max((int64_t)32, min((int64_t)SHARE, ((num_arcs + warps - 1) / warps + 31) / 32 * 32));
    for (int64_t begin = global_thread() / 32 * share; begin < num_arcs; begin += warps * share) {
        const int64_t end = min(num_arcs, begin + share);
        int64_t first_row = row_of(offsets, num_rows, begin);
        for (int64_t arc = begin; arc < end; first_row += 32) {
            const int64_t own_row = first_row + lane;
            const int64_t own_end = offsets[min(own_row + 1, num_rows)];
            const int64_t until = min(end, (int64_t)__shfl_sync(FULL_WARP, own_end, 31));
            if (until <= arc) {
                first_row = row_of(offsets, num_rows, arc) - 32;
                continue;
            }
            const bool wanted = own_row < num_rows && !visit.skips(own_row);
            if (__ballot_sync(FULL_WARP, wanted) == 0) {
                arc = until;
            }
            for (; arc < until; arc += 32 * ABREAST) {
                const int left = (int)min(until - arc, (int64_t)(32 * ABREAST));
                const int own_left = (int)min(own_end - arc, (int64_t)(32 * ABREAST));
                typename Visit::Loaded loaded[ABREAST];
                ROW heads[ABREAST];
                int places[ABREAST];
#pragma unroll
                for (int j = 0; j < ABREAST; ++j) {
                    heads[j] = indices[arc + min(32 * j + lane, left - 1)];
                }
#pragma unroll
                for (int j = 0; j < ABREAST; ++j) {
                    const int at = min(32 * j + lane, left - 1);
                    places[j] = 0;
#pragma unroll
                    for (int step = 16; step > 0; step /= 2) {
                        places[j] += __shfl_sync(FULL_WARP, own_left, places[j] + step - 1) <= at ? step : 0;
                    }
                    loaded[j] = visit.load(first_row + places[j], arc + at, heads[j]);
                }
#pragma unroll
                for (int j = 0; j < ABREAST; ++j) {
                    if (32 * j < left) {
                        visit.take(first_row + places[j], arc + 32 * j + lane, heads[j], loaded[j], 32 * j + lane < left);
                    }
                }
            }
            arc = until;
        }
    }
}
