/* The rows that a round of `repeat_advance` found, from their bits.

   Where most threads find rows, a list that grows by atomic operations on its length keeps them waiting. So such a round sets
   bits alone, and all rows are listed behind it, in ascending order for each warp, so that the next round reads its rows' offsets
   side by side. */
#pragma once
#include "library/operators/gpu/frontiers.cuh"

/* List the rows whose bits are set by their degrees, and count them, with an atomic addition for each warp, LIST_WORDS words and
   group. All threads of the grid call it. */
__device__ __forceinline__ void list_found(const Found& found, const uint32_t* bits, int64_t words) {
    const int lane = threadIdx.x & 31;
    for (int64_t first = (global_thread() >> 5) * LIST_WORDS; first < words; first += (num_threads() >> 5) * LIST_WORDS) {
        const uint32_t mine = lane < LIST_WORDS && first + lane < words ? __ldcg(bits + first + lane) : 0;
        if (!__any_sync(FULL_WARP, mine)) {
            continue;
        }
        uint32_t groups = 0; /* two bits for the row of each word */
        int sizes[GROUPS] = {};
        int64_t work = 0;
        for (int k = 0; k < LIST_WORDS; ++k) {
            const uint32_t word = __shfl_sync(FULL_WARP, mine, k);
            const int64_t row = 32 * (first + k) + lane;
            int group = -1;
            if (word >> lane & 1) {
                const int64_t degree = found.offsets[row + 1] - found.offsets[row];
                group = group_of(degree);
                groups |= (uint32_t)group << 2 * k;
                work += degree + 1;
            }
#pragma unroll
            for (int each = 0; each < GROUPS; ++each) {
                sizes[each] += __popc(__ballot_sync(FULL_WARP, group == each));
            }
        }
        int64_t places[GROUPS];
#pragma unroll
        for (int each = 0; each < GROUPS; ++each) {
            int64_t place = 0;
            if (lane == 0 && sizes[each]) {
                place = found.starts[each] + (int64_t)atomicAdd(found.counts + each, (uint64_t)sizes[each]);
            }
            places[each] = __shfl_sync(FULL_WARP, place, 0);
        }
        if (LIMITED) {
            work = sum_of_warp(work);
            if (lane == 0) {
                atomicAdd(found.counts + GROUPS, (uint64_t)work);
            }
        }
        for (int k = 0; k < LIST_WORDS; ++k) {
            const uint32_t word = __shfl_sync(FULL_WARP, mine, k);
            const int group = word >> lane & 1 ? (int)(groups >> 2 * k & 3) : -1;
#pragma unroll
            for (int each = 0; each < GROUPS; ++each) {
                const uint32_t lanes = __ballot_sync(FULL_WARP, group == each);
                if (group == each) {
                    found.listed[places[each] + __popc(lanes & ((1u << lane) - 1))] = (ROW)(32 * (first + k) + lane);
                }
                places[each] += __popc(lanes);
            }
        }
    }
}
