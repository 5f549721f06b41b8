/* Choices of rows that need no table of labels. */
#pragma once

#include "neighbours/votes.cuh"

/* A row's choice if all labels differ: the label of its first arc to another row, the smallest, unless arcs are parallel. Thread
   0 or a lane of its warp has it. Return false if votes have to be counted. */
template <typename Team>
__device__ __forceinline__ bool choose_first(const Arcs& arcs, int64_t row, const ROW* labels, const Team& team, Choice& best) {
    bool parallel = false;
    for (int64_t arc = team.member; arc < arcs.number; arc += Team::threads) {
        const int64_t other = arcs.neighbour(arc);
        parallel |= arc > 0 && other != row && arcs.neighbour(arc - 1) == other;
    }
    bool none = false; // of the first arcs leads to another row
    if (team.member < 32) {
        const int64_t other = team.member < arcs.number ? arcs.neighbour(team.member) : row;
        const uint32_t leading = __ballot_sync(FULL_WARP, other != row);
        none = leading == 0;
        if (leading && __ffs(leading) - 1 == team.member) {
            best = {1, labels[other]};
        }
    }
    return !team.any(parallel || none);
}

/* The choice of a row of at least 32 arcs if half of its votes are for its own label, or more than half for another one, for
   which the first 32 votes are a sample. Thread 0 has it, and the votes for the row's own label; votes for other labels than the
   own one are then an upper bound. Return false if votes have to be counted by labels. */
template <typename Team>
__device__ __forceinline__ bool choose_majority(
    const Arcs& arcs, int64_t row, const ROW* labels, const Team& team, Choice& best, int64_t& own_votes) {
    const ROW own = labels[row], sampled = labels[arcs.neighbour(threadIdx.x & 31)];
    const int same = __popc(__match_any_sync(FULL_WARP, sampled));
    const int most = __reduce_max_sync(FULL_WARP, same);
    if (most < SAMPLED_MAJORITY) {
        return false;
    }
    const ROW likely = __shfl_sync(FULL_WARP, sampled, __ffs(__ballot_sync(FULL_WARP, same == most)) - 1);
    uint64_t counted = 0; // votes for `own`, and from bit 32 on for `likely`
    for (int64_t base = team.member; base < arcs.number; base += LABELS_AT_ONCE * Team::threads) {
        ROW others[LABELS_AT_ONCE];
#pragma unroll
        for (int i = 0; i < LABELS_AT_ONCE; i++) {
            const int64_t arc = base + i * Team::threads;
            others[i] = arc < arcs.number ? (ROW)arcs.neighbour(arc) : (ROW)row;
        }
#pragma unroll
        for (int i = 0; i < LABELS_AT_ONCE; i++) {
            const ROW label = labels[others[i]];
            counted += others[i] == (ROW)row ? 0 : (label == own) + ((uint64_t)(label == likely) << 32);
        }
    }
    counted = team.sum(counted);
    const int64_t for_own = (uint32_t)counted, for_likely = counted >> 32;
    const bool stays = 2 * for_own >= arcs.number;
    if (!stays && (likely == own || 2 * for_likely <= arcs.number)) {
        return false;
    }
    if (team.member == 0) {
        best = stays ? Choice{arcs.number - for_own, NO_LABEL} : Choice{for_likely, likely};
        own_votes = for_own;
    }
    return true;
}
