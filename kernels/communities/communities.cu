/* Communities by label propagation: all rounds in one cooperative launch, by the rules of __init__.py.

   Method: each round has two passes. In the first, a row that is active and whose turn it is counts the votes of its neighbours.
   A row of at most SMALL_ROW arcs is counted by a warp, each lane with one vote, by comparing labels (match). Other rows have a
   table of labels and votes in global memory (open addressing, twice as many slots as arcs), which a warp fills, or a block for
   more than LARGE_ROW arcs; lanes with one label add their votes together. Votes are integers, so their order does not matter.
   In the second pass rows move, and make their neighbours active.
   Source: Sahu, nu-LPA: Fast GPU-based Label Propagation Algorithm for Community Detection, arXiv 2411.11468.

   Encodings: a label is the position of a row. An empty slot has the label -1. */
#include "gpu/device.cuh"

#define NO_LABEL 0x7fffffffffffffffll // greater than all labels

struct Control {
    uint32_t barrier;
    uint32_t moving[2]; // rows that prefer another label, in this and in the next round
    uint32_t rounds;
};

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

/* As _key of cpu.py. */
__device__ __forceinline__ uint64_t key_of(uint64_t position, uint64_t round) {
    uint64_t key = position + round * 0x9E3779B97F4A7C15ull;
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9ull;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBull;
    return key ^ (key >> 31);
}

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

/* Add votes for a label to a table of `size` slots. */
__device__ void vote(ROW* labels, uint32_t* votes, int64_t size, ROW label, uint32_t number) {
    int64_t slot = (int64_t)(key_of((uint64_t)label, 0) % (uint64_t)size);
    for (;;) {
        const ROW found = swap_if(&labels[slot], (ROW)-1, label);
        if (found == (ROW)-1 || found == label) {
            atomicAdd(&votes[slot], number);
            return;
        }
        slot = slot + 1 < size ? slot + 1 : 0;
    }
}

/* The best label of a row by a table that `threads` threads fill, and the votes for its own; `member` is a thread's number among
   them, and `sync` waits for all. Each thread has the best of the slots it read, and the votes for `own` if it read them. */
template <typename Sync>
__device__ Choice count_in_table(const Arcs& arcs, int64_t row, const ROW* labels, ROW* table, uint32_t* votes, int64_t own,
    int64_t& own_votes, int member, int threads, Sync sync) {
    const int64_t size = 2 * arcs.number;
    for (int64_t slot = member; slot < size; slot += threads) {
        table[slot] = (ROW)-1;
        votes[slot] = 0;
    }
    sync();
    const int lane = threadIdx.x & 31;
    for (int64_t base = member - lane; base < arcs.number; base += threads) {
        const int64_t other = base + lane < arcs.number ? arcs.neighbour(base + lane) : row;
        const ROW label = labels[other];
        const uint32_t voting = __ballot_sync(FULL_WARP, other != row);
        if (other != row) {
            const uint32_t same = __match_any_sync(voting, label);
            if (__ffs(same) - 1 == lane) {
                vote(table, votes, size, label, __popc(same));
            }
        }
        __syncwarp();
    }
    sync();
    Choice best = {0, NO_LABEL};
    for (int64_t slot = member; slot < size; slot += threads) {
        if (table[slot] != (ROW)-1) {
            const int64_t number = *(volatile uint32_t*)&votes[slot];
            best.improve(number, table[slot]);
            own_votes = table[slot] == (ROW)own ? number : own_votes;
        }
    }
    return best;
}

extern "C" __global__ void propagate(const int64_t* out_offsets, const ROW* out_indices, const int64_t* into_offsets,
    const ROW* into_indices, int64_t num_rows, const ROW* tabled, const int64_t* slots, int64_t num_large, int64_t num_tabled,
    const ROW* positions, ROW* labels, ROW* preferred, uint8_t* active, uint8_t* moves, ROW* tables, uint32_t* votes,
    Control* control) {
    const Side out = {out_offsets, out_indices}, into = {into_offsets, into_indices};
    const int lane = threadIdx.x & 31;
    const int64_t warp = global_thread() >> 5, warps = num_threads() >> 5;
    __shared__ Choice of_warps[THREADS / 32];
    __shared__ int64_t own_of_warps[THREADS / 32];
    uint32_t quiet = 0, round = 0;
    while (quiet < 2) { // in both classes, or in a round of all rows
        round++;
        const auto in_turn = [&](int64_t row) {
            return active[row] && (round > FREE_ROUNDS || (key_of(positions[row], 0) >> 63) == (round & 1));
        };
        // what the row decides, by one thread
        const auto decide = [&](int64_t row, Choice best, int64_t own_votes) {
            const bool moving = best.votes > own_votes;
            active[row] = 0;
            moves[row] = moving;
            if (moving) {
                preferred[row] = (ROW)best.label;
                control->moving[round & 1] = 1;
            }
        };
        if (global_thread() == 0) {
            control->moving[(round + 1) & 1] = 0;
        }
        for (int64_t item = blockIdx.x; item < num_large; item += gridDim.x) { // the rows of most arcs come first in `tabled`
            const int64_t row = tabled[item];
            if (!in_turn(row)) {
                continue;
            }
            int64_t own_votes = 0;
            const Arcs arcs(out, into, row);
            const Choice found = best_of_warp(count_in_table(arcs, row, labels, tables + slots[item], votes + slots[item],
                labels[row], own_votes, threadIdx.x, THREADS, [] { __syncthreads(); }));
            own_votes = sum_of_warp(own_votes);
            if (lane == 0) {
                of_warps[threadIdx.x >> 5] = found;
                own_of_warps[threadIdx.x >> 5] = own_votes;
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                Choice best = found;
                for (int other = 1; other < THREADS / 32; other++) {
                    best.improve(of_warps[other].votes, of_warps[other].label);
                    own_votes += own_of_warps[other];
                }
                decide(row, best, own_votes);
            }
            __syncthreads();
        }
        for (int64_t item = num_large + warp; item < num_tabled; item += warps) {
            const int64_t row = tabled[item];
            if (!in_turn(row)) {
                continue;
            }
            int64_t own_votes = 0;
            const Arcs arcs(out, into, row);
            const Choice best = best_of_warp(count_in_table(arcs, row, labels, tables + slots[item], votes + slots[item],
                labels[row], own_votes, lane, 32, [] { __syncwarp(); }));
            own_votes = sum_of_warp(own_votes);
            if (lane == 0) {
                decide(row, best, own_votes);
            }
        }
        for (int64_t row = warp; row < num_rows; row += warps) {
            const Arcs arcs(out, into, row);
            if (arcs.number > SMALL_ROW || !in_turn(row)) {
                continue;
            }
            const int64_t other = lane < arcs.number ? arcs.neighbour(lane) : row;
            const uint32_t voting = __ballot_sync(FULL_WARP, other != row);
            Choice best = {0, NO_LABEL};
            const ROW label = labels[other], own = labels[row];
            if (other != row) {
                best = {__popc(__match_any_sync(voting, label)), label};
            }
            __syncwarp();
            const int64_t own_votes = __popc(__ballot_sync(FULL_WARP, other != row && label == own));
            best = best_of_warp(best);
            if (lane == 0) {
                decide(row, best, own_votes);
            }
        }
        grid_barrier(&control->barrier);
        const bool moving = *(volatile uint32_t*)&control->moving[round & 1];
        quiet = moving ? 0 : round > FREE_ROUNDS ? 2 : quiet + 1;
        for (int64_t row = warp; moving && row < num_rows; row += warps) {
            if (!moves[row]) {
                continue;
            }
            const Arcs arcs(out, into, row);
            bool yields = false;
            if (round > FREE_ROUNDS) {
                const uint64_t own = key_of(positions[row], round);
                for (int64_t arc = lane; arc < arcs.number; arc += 32) {
                    const int64_t other = arcs.neighbour(arc);
                    yields |= other != row && moves[other] && key_of(positions[other], round) < own;
                }
            }
            if (__any_sync(FULL_WARP, yields)) {
                if (lane == 0) {
                    active[row] = 1;
                }
                continue;
            }
            for (int64_t arc = lane; arc < arcs.number; arc += 32) {
                active[arcs.neighbour(arc)] = 1;
            }
            if (lane == 0) {
                labels[row] = preferred[row];
            }
        }
        grid_barrier(&control->barrier);
        for (int64_t row = global_thread(); moving && row < num_rows; row += num_threads()) {
            moves[row] = 0;
        }
        grid_barrier(&control->barrier);
    }
    if (global_thread() == 0) {
        control->rounds = round;
    }
}
