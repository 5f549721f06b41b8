/* The steps of long_paths.cu: a team of blocks relaxes the rows in its lists (lists.cuh) until no row of the range is left. */
#pragma once

#include "paths/lists.cuh"

#define HOPS 3 /* arcs that a lane follows in a step */

/* Relax the arcs of `entry` unless it is stale, and follow the best of them. Called by all lanes of a warp. */
template <typename Range>
__device__ __forceinline__ void relax(
    const Search<Range>& search, int parity, bool open, Entry entry, Length limit, Length& nearest) {
    ROW from = entry.row; /* an arc back to there cannot improve it */
    for (int hop = 0; hop < HOPS && __any_sync(FULL_WARP, open); ++hop) {
        Entry best{FAR, 0};
        int64_t at = entry.row;
        const Length length = open ? __ldcg(search.lengths + entry.row) : 0;
        Quad quad;
        if (open) {
            quad = search.quads[at];
        }
        open = open && length == entry.length;
        while (__any_sync(FULL_WARP, open)) {
            Length total[SLOTS], before[SLOTS];
            for (int k = 0; k < SLOTS; ++k) {
                total[k] = FAR;
                before[k] = 0;
                if (open && quad.end[k] >= 0 && quad.end[k] != entry.row && quad.end[k] != from) {
                    total[k] = plus(entry.length, length_of(quad.weight[k]));
                    before[k] = atomicMin(search.lengths + quad.end[k], total[k]);
                    prefetch(search.quads + quad.end[k]);
                }
            }
            Entry others[SLOTS];
            bool better[SLOTS];
            for (int k = 0; k < SLOTS; ++k) {
                others[k] = Entry{total[k], quad.end[k]};
                better[k] = total[k] < before[k];
                /* follow it, and keep the previous best */
                if (hop + 1 < HOPS && better[k] && total[k] < smaller(best.length, limit)) {
                    const Entry last = best;
                    best = others[k];
                    others[k] = last;
                    better[k] = last.length != FAR;
                }
            }
            keep(search, parity, better, others, limit, nearest);
            at = ~(int64_t)quad.end[SLOTS - 1];
            open = open && at >= 0;
            if (open) {
                quad = search.quads[at];
            }
        }
        from = entry.row;
        entry = best;
        open = best.length != FAR;
    }
}

/* Send a summary of this block's lists to every block of the team. */
template <typename Range>
__device__ __forceinline__ void exchange(const Search<Range>& search, int parity, Length& nearest) {
    Shared& shared = *search.shared;
    const Length least = least_of_warp(nearest);
    if ((threadIdx.x & 31) == 0 && least != FAR) {
        atomicMin(&shared.nearest, least);
    }
    nearest = FAR;
    __syncthreads();
    if (threadIdx.x < TEAM_BLOCKS) {
        const uint32_t active = shared.active[parity], held = shared.held[parity];
        const Summary mine{
            shared.nearest, active < CAPACITY ? active : CAPACITY, held < CAPACITY ? held : CAPACITY, shared.spilled};
        *in_block(&shared.team[parity][team_rank()], threadIdx.x) = mine;
    }
    if (threadIdx.x < 32) {
        __syncwarp();
        if (threadIdx.x == 0) {
            shared.active[parity ^ 1] = shared.held[parity ^ 1] = shared.spilled = 0;
            shared.nearest = FAR;
        }
    }
    team_barrier();
}

/* Take rows back from the pile of `size` rows; a lane takes at most one. */
template <typename Range>
__device__ __forceinline__ void refill(const Search<Range>& search, int parity, int64_t size, Length limit, Length& nearest) {
    const int64_t taken = (int64_t)team_rank() * THREADS + threadIdx.x;
    Entry entry{FAR, 0};
    if (taken < size) {
        entry.row = __ldcg(search.pile + size - 1 - taken);
        atomicAnd(search.piled + (entry.row >> 5), ~(1u << (entry.row & 31)));
        __threadfence();
        entry.length = __ldcg(search.lengths + entry.row);
    }
    team_barrier();
    if (taken == 0) {
        search.control->piled = size > TEAM_BLOCKS * THREADS ? size - TEAM_BLOCKS * THREADS : 0;
    }
    team_barrier();
    keep(search, parity, taken < size, entry, limit, nearest);
}

/* Write the least length of the rows in the lists, which is `least`, and on the pile. */
template <typename Range>
__device__ __forceinline__ void write_nearest(const Search<Range>& search, Length least, int64_t in_pile) {
    for (int64_t place = (int64_t)team_rank() * THREADS + threadIdx.x; place < in_pile; place += TEAM_BLOCKS * THREADS) {
        least = smaller(least, __ldcg(search.lengths + __ldcg(search.pile + place)));
    }
    least = least_of_warp(least);
    if ((threadIdx.x & 31) == 0) {
        atomicMin(&search.control->nearest, (uint64_t)least);
    }
}

/* Take steps until no row of the range is left, more than `most` are active, held or piled, or more than `most_thin` steps had
   few active rows: then the team gives up. */
template <typename Range>
__device__ __forceinline__ void take_steps(
    const Quad* quads, Length* lengths, ROW* pile, uint32_t* piled, Length least_window, Length most_window, int64_t few,
    int64_t many, int64_t most, int64_t most_thin, Control* control, Range range) {
    extern __shared__ uint4 memory[];
    __shared__ Shared shared;
    const Search<Range> search{quads, lengths, pile, piled, range, control, &shared, (Entry*)memory};
    const int lane = threadIdx.x & 31;
    const uint32_t warp = threadIdx.x >> 5;
    const uint32_t owner = warp % TEAM_BLOCKS; /* the block whose list this warp reads, together with other warps of the team */
    const uint32_t first = team_rank() * (WARPS / TEAM_BLOCKS) + warp / TEAM_BLOCKS;
    Length nearest = FAR, window = most_window;
    int64_t in_pile = (int64_t)__ldcg(&control->piled), thin = 0;
    if (threadIdx.x == 0) {
        shared.active[0] = shared.active[1] = shared.held[0] = shared.held[1] = shared.spilled = 0;
        shared.nearest = FAR;
    }
    for (int parity = 0;; parity ^= 1) {
        __syncthreads();
        exchange(search, parity, nearest);
        const Summary of_lane = lane < TEAM_BLOCKS ? shared.team[parity][lane] : Summary{FAR, 0, 0, 0};
        const uint32_t active = __reduce_add_sync(FULL_WARP, of_lane.active), held = __reduce_add_sync(FULL_WARP, of_lane.held);
        const int length = (int)__shfl_sync(FULL_WARP, of_lane.active, owner);
        in_pile += __reduce_add_sync(FULL_WARP, of_lane.spilled);
        const Length least = least_of_warp(of_lane.nearest);
        const int64_t rows = active + held + in_pile;
        if (rows == 0) {
            break;
        }
        if (rows > most) {
            write_nearest(search, least, in_pile);
            break;
        }
        thin += active < THIN_ROUND;
        if (thin > most_thin) {
            control->deep = 1;
            break;
        }
        if (active < few) {
            window = smaller(Kind<SUM>::part(window, 9), most_window);
        } else if (active > many) {
            window = Kind<SUM>::part(window, 7);
            window = window < least_window ? least_window : window;
        }
        const Length limit = search.range.cut(beyond(least, window));
        if (in_pile > 0 && active + held < REFILL) {
            refill(search, parity ^ 1, in_pile, limit, nearest);
            in_pile -= in_pile < TEAM_BLOCKS * THREADS ? in_pile : TEAM_BLOCKS * THREADS;
        }
        const Entry* mine = list(search, 1, parity);
        const int waiting = shared.team[parity][team_rank()].held;
        for (int place = threadIdx.x; place - lane < waiting; place += THREADS) {
            const bool there = place < waiting;
            keep(search, parity ^ 1, there, there ? mine[spread(place)] : Entry{FAR, 0}, limit, nearest);
        }
        const Entry* part = in_block(list(search, 0, parity), owner);
        for (int place = first + lane * WARPS; place - lane * WARPS < length; place += 32 * WARPS) {
            const bool open = place < length;
            relax(search, parity ^ 1, open, open ? part[spread(place)] : Entry{FAR, 0}, limit, nearest);
        }
    }
}
