/* What the certificates share: a walk over arcs that gives every warp as many, and the first of the places that break a rule. */
#pragma once

#include "device.cuh"

#define ABREAST 4

/* The least place of those that are noted, counted back from `total`, so that zeroed memory says that there is none. */
__device__ __forceinline__ void note_first(unsigned long long* first, int64_t total, int64_t place) {
    const unsigned long long back = (unsigned long long)(total - place);
    if (back > *(volatile unsigned long long*)first) {
        atomicMax(first, back);
    }
}

/* The row that holds an arc. */
__device__ __forceinline__ int64_t row_of(const int64_t* __restrict__ offsets, int64_t num_rows, int64_t arc) {
    int64_t low = 0, high = num_rows;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (offsets[middle] <= arc) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Let every warp of the launch visit as many consecutive arcs, ascending. Its lanes stand at consecutive arcs, of rows that a window of
   32 rows holds; rows of a window that `visit.skips` are not read. `visit.load(row, arc)` reads what an arc needs, a few arcs
   ahead of `visit.take(row, arc, loaded, active)`, to which all lanes come together. */
template <typename Visit>
__device__ void walk_arcs(const int64_t* __restrict__ offsets, int64_t num_rows, Visit& visit) {
    const int lane = threadIdx.x & 31;
    const int64_t num_arcs = num_rows > 0 ? offsets[num_rows] : 0;
    const int64_t warps = num_threads() / 32;
    const int64_t share = ((num_arcs + warps - 1) / warps + 31) / 32 * 32;
    int64_t arc = global_thread() / 32 * share;
    const int64_t end = min(num_arcs, arc + share);
    if (arc >= end) {
        return;
    }
    int64_t first_row = row_of(offsets, num_rows, arc);
    while (arc < end) {
        const int64_t own_row = first_row + lane;
        const int64_t own_end = offsets[min(own_row + 1, num_rows)];
        const int64_t window_end = __shfl_sync(FULL_WARP, own_end, 31);
        if (window_end <= arc) {
            first_row = row_of(offsets, num_rows, arc);
            continue;
        }
        const int64_t until = min(end, window_end);
        const bool wanted = own_row < num_rows && !visit.skips(own_row);
        const uint32_t wanted_rows = __ballot_sync(FULL_WARP, wanted);
        for (; wanted_rows != 0 && arc < until; arc += 32 * ABREAST) {
            typename Visit::Loaded loaded[ABREAST];
            int places[ABREAST];
            uint32_t active = 0;
#pragma unroll
            for (int j = 0; j < ABREAST; ++j) {
                const int64_t own = arc + 32 * j + lane;
                int place = 0;
#pragma unroll
                for (int step = 16; step > 0; step /= 2) {
                    place += __shfl_sync(FULL_WARP, own_end, place + step - 1) <= own ? step : 0;
                }
                places[j] = place;
                if (own < until && (wanted_rows >> place & 1) != 0) {
                    active |= 1u << j;
                    loaded[j] = visit.load(first_row + place, own);
                }
            }
#pragma unroll
            for (int j = 0; j < ABREAST; ++j) {
                if (arc + 32 * j < until) {
                    visit.take(first_row + places[j], arc + 32 * j + lane, loaded[j], (active >> j & 1) != 0);
                }
            }
        }
        arc = until;
        first_row += 32;
    }
}
