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

/* The best label of a row, by `threads` threads, of which this one is number `member`; `any` tells all of them whether one of
   them has a condition. Each thread has the best of the slots it read, and the votes for the row's own label if it read them;
   if the table is too small, all have less than 0 votes. If all labels are `distinct`, and no arc is parallel, the smallest is
   best. */
template <typename Any>
__device__ __forceinline__ Choice count_votes(const Arcs& arcs, int64_t row, const ROW* labels, bool distinct, const Table& table,
    int64_t& own_votes, int member, int threads, Any any) {
    Choice best = {0, NO_LABEL};
    bool fails = false; // there are parallel arcs, or no slots
    for (int64_t arc = member; distinct && arc < arcs.number; arc += threads) {
        const int64_t other = arcs.neighbour(arc);
        if (other != row) {
            best.improve(1, labels[other]);
            fails |= arc > 0 && arcs.neighbour(arc - 1) == other;
        }
    }
    if (distinct && !any(fails)) {
        return best;
    }
    for (int64_t slot = member; slot < table.size; slot += threads) {
        table.labels[slot] = (ROW)-1;
        table.votes[slot] = 0;
    }
    any(false);
    const int lane = threadIdx.x & 31;
    fails = false;
    for (int64_t base = member - lane; base < arcs.number && !__any_sync(FULL_WARP, fails); base += LABELS_AT_ONCE * threads) {
        ROW others[LABELS_AT_ONCE], found[LABELS_AT_ONCE];
#pragma unroll
        for (int i = 0; i < LABELS_AT_ONCE; i++) {
            const int64_t arc = base + i * threads + lane;
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
    if (any(fails)) {
        return {-1, NO_LABEL};
    }
    best = {0, NO_LABEL};
    for (int64_t slot = member; slot < table.size; slot += threads) {
        const ROW label = table.labels[slot];
        if (label != (ROW)-1) {
            const int64_t number = *(volatile uint32_t*)&table.votes[slot];
            best.improve(number, label);
            own_votes = label == labels[row] ? number : own_votes;
        }
    }
    return best;
}
