/* Keys of rows, and rows that a warp takes one after the other. */
#pragma once

#include "neighbours/votes.cuh"

/* As _key of cpu.py. */
__device__ __forceinline__ uint64_t key_of(uint64_t position, uint64_t round) {
    uint64_t key = position + round * 0x9E3779B97F4A7C15ull;
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9ull;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBull;
    return key ^ (key >> 31);
}

/* Whether a row that would move lets a neighbour do so that would, too, and has a smaller key; for all lanes of its warp. */
__device__ __forceinline__ bool yields(const Arcs& arcs, int64_t row, int64_t round, const ROW* positions, const uint8_t* moves) {
    bool one = false;
    if (round > FREE_ROUNDS) {
        const uint64_t own = key_of(positions[row], round);
        for (int64_t arc = threadIdx.x & 31; arc < arcs.number; arc += 32) {
            const int64_t other = arcs.neighbour(arc);
            one |= other != row && moves[other] && key_of(positions[other], round) < own;
        }
    }
    return __any_sync(FULL_WARP, one) != 0;
}

/* Call `take(row)` by a warp for each row for which a lane finds `wanted(row)`; it looks at 32 rows at a time. `row_of(item)`
   is the row, for items `begin..end - 1`. */
template <typename RowOf, typename Wanted, typename Take>
__device__ __forceinline__ void for_rows(int64_t begin, int64_t end, RowOf row_of, Wanted wanted, Take take) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = begin + global_thread() - lane; base < end; base += num_threads()) {
        const int64_t row = base + lane < end ? row_of(base + lane) : -1;
        for (uint32_t left = __ballot_sync(FULL_WARP, row >= 0 && wanted(row)); left; left &= left - 1) {
            take(__shfl_sync(FULL_WARP, row, __ffs(left) - 1));
        }
    }
}
