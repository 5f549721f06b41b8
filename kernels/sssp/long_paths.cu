/* Shortest paths in graphs of few arcs a row and many arcs a path (roads, grids): the lengths from the rows on the pile, each from
   its own length on, up to `bound`.

   A step costs the chain of its dependent loads, and there are thousands, so the chain is short and few blocks take part: one
   launch of one team of blocks (a cluster), whose shared memory holds the rows to relax. A step relaxes at once all rows that are
   nearer than the nearest of them plus a window; the rest is held. The window follows the number of rows at hand: wide while
   lanes are idle, narrow while there is more work than lanes. Each lane follows a path for a few arcs before the team meets.
   Lengths only decrease and whatever improves is relaxed again, so every order ends at the same lengths.

   Encodings. Arcs of row r in fours (`Quad`), in the order of the CSR row: up to 4, padded with r itself; of a longer row three,
   and ~q in the last slot: the rest is in Quad q, built the same way. The lists are in lists.cuh. SUM, WEIGHT, ROW: lengths.cuh.

   Sources: Davidson, Baxter, Garland, Owens, Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths (IPDPS 2014), for
   near and far; Dong, Gu, Sun, Zhang, Efficient Stepping Algorithms and Implementations for Parallel Shortest Paths (SPAA 2021),
   for the window that moves with every step. */
#include "sssp/lists.cuh"

#define HOPS 3 /* arcs that a lane follows in a step */

/* The arcs of a row, in fours; they weigh 1 where there are no weights. */
__device__ __forceinline__ void fill_quads(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t row, int64_t num_rows, Quad* quads, uint64_t* used) {
    int64_t arc = offsets[row];
    int64_t left = offsets[row + 1] - arc;
    for (int64_t at = row; at >= 0;) {
        const bool last = left <= SLOTS;
        const int64_t next = last ? -1 : num_rows + (int64_t)atomicAdd(used, (uint64_t)1);
        Quad quad;
        for (int k = 0; k < SLOTS; ++k) {
            const bool filled = k < (last ? left : SLOTS - 1);
            quad.end[k] = filled ? indices[arc + k] : last ? (ROW)row : (ROW)~next;
            quad.weight[k] = !filled ? (QuadWeight)0 : weights ? (QuadWeight)weights[arc + k] : (QuadWeight)1;
        }
        quads[at] = quad;
        arc += SLOTS - 1;
        left -= SLOTS - 1;
        at = next;
    }
}

/* Everything a search expects before it starts; the source, if there is one, is on the pile. */
extern "C" __global__ void prepare(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, int64_t source, Quad* quads,
    Length* lengths, ROW* pile, uint32_t* piled, Control* control) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        lengths[row] = row == source ? (Length)0 : FAR;
        fill_quads(offsets, indices, weights, row, num_rows, quads, &control->quads);
    }
    for (int64_t word = global_thread(); word < (num_rows + 31) / 32; word += num_threads()) {
        piled[word] = word == source >> 5 ? 1u << (source & 31) : 0;
    }
    if (global_thread() == 0 && source >= 0) {
        pile[0] = (ROW)source;
        control->piled = 1;
    }
}

/* Put rows on an empty pile, each once. */
extern "C" __global__ void pile_up(const ROW* rows, int64_t count, ROW* pile, uint32_t* piled, Control* control) {
    for (int64_t place = global_thread(); place < count; place += num_threads()) {
        pile[place] = rows[place];
        atomicOr(piled + (rows[place] >> 5), 1u << (rows[place] & 31));
    }
    if (global_thread() == 0) {
        control->piled = (uint64_t)count;
    }
}

/* Relax the arcs of `entry` where it is not outdated, and follow the best of them. All lanes of a warp come here. */
__device__ __forceinline__ void relax(const Search& search, int parity, bool open, Entry entry, Length limit, Length& nearest) {
    ROW from = entry.row; /* back there no arc is shorter */
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
                if (hop + 1 < HOPS && better[k] && total[k] < smaller(best.length, limit)) { /* follow it, keep the last best */
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

/* Tell every block of the team what this one's lists hold. */
__device__ __forceinline__ void exchange(const Search& search, int parity, Length& nearest) {
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

/* Take rows back from the pile, which has `size`; a lane takes one at most. */
__device__ __forceinline__ void refill(const Search& search, int parity, int64_t size, Length limit, Length& nearest) {
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

extern "C" __global__ void TEAM __launch_bounds__(THREADS, 1) shorten(
    const Quad* quads, Length* lengths, ROW* pile, uint32_t* piled, ROW* aside, uint32_t* is_aside, Length bound, Length least_window,
    Length most_window, int64_t few, int64_t many, Control* control) {
    extern __shared__ uint4 memory[];
    __shared__ Shared shared;
    const Search search{quads, lengths, pile, piled, aside, is_aside, bound, control, &shared, (Entry*)memory};
    const int lane = threadIdx.x & 31;
    const uint32_t warp = threadIdx.x >> 5;
    const uint32_t owner = warp % TEAM_BLOCKS; /* this warp reads the list of this block, beside others of the team */
    const uint32_t first = team_rank() * (WARPS / TEAM_BLOCKS) + warp / TEAM_BLOCKS;
    Length nearest = FAR, window = most_window;
    int64_t in_pile = (int64_t)__ldcg(&control->piled);
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
        if (active + held + in_pile == 0) {
            break;
        }
        if (active < few) {
            window = smaller(Kind<SUM>::part(window, 9), most_window);
        } else if (active > many) {
            window = Kind<SUM>::part(window, 7);
            window = window < least_window ? least_window : window;
        }
        const Length limit = smaller(beyond(least, window), bound);
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
