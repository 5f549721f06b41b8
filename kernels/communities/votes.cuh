/* Votes of a row's neighbours, counted by a warp or a block in a table. An empty slot has the label -1. */
#pragma once

#include "gpu/device.cuh"

#define NO_LABEL 0x7fffffffffffffffll // greater than all labels
#define LABELS_AT_ONCE 4 // labels for which a thread waits at the same time

struct Side {
    const int64_t* offsets;
    const ROW* indices;
};

/* Where a row's arcs are: out-arcs, then in-arcs; `into` has no offsets if the graph is symmetric. */
struct Arcs {
    const ROW* out;
    const ROW* into;
    int64_t num_out;
    int64_t number;

    __device__ __forceinline__ Arcs(const Side& out_side, const Side& into_side, int64_t row) {
        out = out_side.indices + out_side.offsets[row];
        num_out = out_side.offsets[row + 1] - out_side.offsets[row];
        into = into_side.offsets ? into_side.indices + into_side.offsets[row] : out;
        number = num_out + (into_side.offsets ? into_side.offsets[row + 1] - into_side.offsets[row] : 0);
    }

    __device__ __forceinline__ int64_t neighbour(int64_t arc) const { return arc < num_out ? out[arc] : into[arc - num_out]; }
};

/* A label and its votes. More votes are better, then the smaller label. */
struct Choice {
    int64_t votes;
    int64_t label;

    __device__ __forceinline__ void improve(int64_t other_votes, int64_t other) {
        if (other_votes > votes || (other_votes == votes && other < label)) {
            votes = other_votes;
            label = other;
        }
    }
};

__device__ __forceinline__ Choice best_of_warp(Choice choice) {
    for (int step = 16; step > 0; step >>= 1) {
        const int64_t votes = __shfl_xor_sync(FULL_WARP, choice.votes, step);
        const int64_t label = __shfl_xor_sync(FULL_WARP, choice.label, step);
        choice.improve(votes, label);
    }
    return choice;
}

/* Labels and votes: open addressing in `size` slots, at most 2^32, of which a label tries `tries`. */
struct Table {
    ROW* labels;
    uint32_t* votes;
    int64_t size;
    int64_t tries;

    /* Add votes for a label; return whether a slot took them. */
    __device__ __forceinline__ bool vote(ROW label, uint32_t number) const {
        int64_t slot = (int64_t)((uint64_t)((uint32_t)label * 0x9E3779B1u) * (uint64_t)size >> 32);
        for (int64_t tried = 0; tried < tries; tried++) {
            ROW found = *(volatile ROW*)&labels[slot];
            if (found == (ROW)-1) {
                found = swap_if(&labels[slot], (ROW)-1, label);
            }
            if (found == (ROW)-1 || found == label) {
                atomicAdd(&votes[slot], number);
                return true;
            }
            slot = slot + 1 < size ? slot + 1 : 0;
        }
        return false;
    }
};

/* The threads that count a row: those of a warp, or of a block with `shared`, which has a place for each of its warps. */
struct Warp {
    static constexpr int threads = 32;
    int member;

    __device__ __forceinline__ bool any(bool one) const { return __any_sync(FULL_WARP, one) != 0; }
    __device__ __forceinline__ uint64_t sum(uint64_t value) const { return sum_of_warp(value); }
};

struct Block {
    static constexpr int threads = THREADS;
    int member;
    uint64_t* shared;

    __device__ __forceinline__ bool any(bool one) const { return __syncthreads_or(one) != 0; }
    __device__ __forceinline__ uint64_t sum(uint64_t value) const {
        value = sum_of_warp(value);
        if ((member & 31) == 0) {
            shared[member >> 5] = value;
        }
        __syncthreads();
        value = 0;
        for (int warp = 0; warp < THREADS / 32; warp++) {
            value += shared[warp];
        }
        __syncthreads();
        return value;
    }
};

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

/* The best label of a row other than its own. Each thread has the best of the slots it read, and the votes for the row's own
   label if it read them; if the table is too small, all have less than 0 votes. */
template <typename Team>
__device__ __forceinline__ Choice count_votes(
    const Arcs& arcs, int64_t row, const ROW* labels, const Table& table, const Team& team, int64_t& own_votes) {
    for (int64_t slot = team.member; slot < table.size; slot += Team::threads) {
        table.labels[slot] = (ROW)-1;
        table.votes[slot] = 0;
    }
    team.any(false);
    const int lane = threadIdx.x & 31;
    bool fails = false; // no slot is free
    for (int64_t base = team.member - lane; base < arcs.number && !__any_sync(FULL_WARP, fails);
         base += LABELS_AT_ONCE * Team::threads) {
        ROW others[LABELS_AT_ONCE], found[LABELS_AT_ONCE];
#pragma unroll
        for (int i = 0; i < LABELS_AT_ONCE; i++) {
            const int64_t arc = base + i * Team::threads + lane;
            others[i] = arc < arcs.number ? (ROW)arcs.neighbour(arc) : (ROW)row;
        }
#pragma unroll
        for (int i = 0; i < LABELS_AT_ONCE; i++) {
            found[i] = labels[others[i]];
        }
#pragma unroll
        for (int i = 0; i < LABELS_AT_ONCE; i++) {
            const bool votes = others[i] != (ROW)row;
            const uint32_t voting = __ballot_sync(FULL_WARP, votes);
            if (votes) {
                const uint32_t same = __match_any_sync(voting, found[i]);
                fails |= __ffs(same) - 1 == lane && !table.vote(found[i], __popc(same));
            }
            __syncwarp();
        }
    }
    if (team.any(fails)) {
        return {-1, NO_LABEL};
    }
    Choice best = {0, NO_LABEL};
    const ROW own = labels[row];
    for (int64_t slot = team.member; slot < table.size; slot += Team::threads) {
        const ROW label = table.labels[slot];
        if (label != (ROW)-1) {
            const int64_t number = *(volatile uint32_t*)&table.votes[slot];
            if (label == own) {
                own_votes = number;
            } else {
                best.improve(number, label);
            }
        }
    }
    return best;
}
