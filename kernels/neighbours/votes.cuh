/* Votes of a row's neighbours, counted by a warp or a block in a table. An empty slot has the label -1. */
#pragma once

#include "gpu/device.cuh"

#define NO_LABEL 0x7fffffffffffffffll // greater than all labels
#define LABELS_AT_ONCE 4 // labels for which a thread waits at the same time
#define LABEL_BITS 57
#define LARGEST_LABEL ((1ull << LABEL_BITS) - 1)

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

/* The table of a block in shared memory, of `size` slots, or of 2 LARGE_ROW for a `large` row: most have few labels. */
__device__ __forceinline__ Table table_of_block(ROW* labels, uint32_t* votes, int64_t size, bool large) {
    Table table = {labels, votes, size, size};
    if (large) {
        table.size = 2 * LARGE_ROW;
        table.tries = MOST_TRIED;
    }
    return table;
}

/* The best of what the threads of a block have found, for thread 0, and the sum of the votes for the row's own label, for all.
   `of_warps` has a place for each warp, in shared memory. */
__device__ __forceinline__ Choice best_of_block(Choice best, Choice* of_warps, const Block& team, int64_t& own_votes) {
    best = best_of_warp(best);
    if ((threadIdx.x & 31) == 0) {
        of_warps[threadIdx.x >> 5] = best;
    }
    own_votes = (int64_t)team.sum(own_votes); // with a barrier
    if (threadIdx.x == 0) {
        for (int other = 1; other < THREADS / 32; other++) {
            best.improve(of_warps[other].votes, of_warps[other].label);
        }
    }
    return best;
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

/* Count the votes of the rows of a warp's lanes, of `number` arcs, at most 32; 0: not this one. All rows have as many
   lanes as the longest one needs. `listed` has a place for each lane. */
template <typename Decide>
__device__ __forceinline__ void count_small(
    const Side& out, const Side& into, const ROW* labels, int64_t mine, int number, ROW* listed, Decide decide) {
    const int lane = threadIdx.x & 31;
    const uint32_t wanted = __ballot_sync(FULL_WARP, number > 0);
    if (wanted == 0) {
        return;
    }
    if (number > 0) {
        listed[__popc(wanted & ((1u << lane) - 1))] = (ROW)mine;
    }
    const int longest = __reduce_max_sync(FULL_WARP, number), count = __popc(wanted);
    const int width = longest <= 4 ? 4 : longest <= 8 ? 8 : longest <= 16 ? 16 : 32;
    const int member = lane & (width - 1);
    const uint32_t team = (uint32_t)((1ull << width) - 1) << (lane - member);
    __syncwarp();
    for (int item = lane / width; item - lane / width < count; item += 32 / width) {
        const int64_t row = listed[item < count ? item : 0];
        const Arcs arcs(out, into, row);
        const int64_t other = item < count && member < arcs.number ? arcs.neighbour(member) : row;
        const ROW label = labels[other], own = labels[row];
        const uint32_t same = __match_any_sync(FULL_WARP, other != row ? label : (ROW)-1) & team;
        const uint32_t own_votes = __ballot_sync(FULL_WARP, other != row && label == own) & team;
        // more votes are better, then the smaller label
        uint64_t best = other != row && label != own ? ((uint64_t)__popc(same) << LABEL_BITS) + LARGEST_LABEL - label : 0;
        for (int step = width >> 1; step > 0; step >>= 1) {
            const uint64_t next = __shfl_xor_sync(FULL_WARP, best, step);
            best = next > best ? next : best;
        }
        if (item < count && member == 0) {
            const Choice choice = {(int64_t)(best >> LABEL_BITS), (int64_t)(LARGEST_LABEL - (best & LARGEST_LABEL))};
            decide(row, choice, (int64_t)__popc(own_votes), arcs.number);
        }
    }
    __syncwarp();
}
