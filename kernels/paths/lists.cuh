/* The lists of long_paths.cu: the rows that a team of blocks relaxes in this step or holds for a later one, in its shared memory.

   Each block has two lists for this step and two for the next; every block has the lengths of all lists and can read all. Rows
   that do not fit go to a pile in device memory, each once (`piled` is a bitmap of them), and return when there is space.
   LIST_BYTES is the size of one of the four lists. */
#pragma once

#include "gpu/cluster.cuh"
#include "paths/lengths.cuh"

#define WARPS (THREADS / 32)
#define SLOTS 4
#define ENTRIES ((int)(LIST_BYTES / sizeof(Entry)))
#define CAPACITY (ENTRIES / 33 * 32) /* one entry in 33 is left out, so that entries 32 apart are in different banks */
#define REFILL (CAPACITY / 2 * TEAM_BLOCKS)

/* Type of a weight in a Quad: weights whose sums are tried in 32 bits fit 32 bits. */
template <typename Sum>
struct Narrow {
    typedef WEIGHT Weight;
};
template <>
struct Narrow<int> {
    typedef int Weight;
};
typedef Narrow<SUM>::Weight QuadWeight;

struct alignas(16) Quad {
    ROW end[SLOTS];
    QuadWeight weight[SLOTS];
};

struct alignas(sizeof(Length) == 4 && sizeof(ROW) == 4 ? 8 : 16) Entry {
    Length length;
    ROW row;
};

/* Zero before `prepare`. */
struct Control {
    uint64_t piled; /* rows on the pile */
    uint64_t quads; /* Quads beyond one per row */
    uint64_t aside; /* rows put aside */
    uint64_t nearest; /* no row that is still to be relaxed is nearer; FAR if none is */
    uint64_t deep;    /* the team gave up, after too many thin steps */
};
static_assert(sizeof(Control) == TEAM_CONTROL_WORDS * 8, "TEAM_CONTROL_WORDS is wrong");

struct Summary {
    Length nearest;
    uint32_t active;
    uint32_t held;
    uint32_t spilled;
};

struct Shared {
    uint32_t active[2], held[2], spilled; /* lengths of this block's lists, and the rows that it piled in this step */
    Length nearest;                       /* of this block's lists */
    Summary team[2][TEAM_BLOCKS];
};

__device__ __noinline__ void put_aside(ROW row, uint32_t* is_aside, ROW* aside, uint64_t* length) {
    const uint32_t bit = 1u << (row & 31);
    if (!(atomicOr(is_aside + (row >> 5), bit) & bit)) {
        aside[atomicAdd(length, (uint64_t)1)] = row;
    }
}

/* Range of a launch without a bound. */
struct Everywhere {
    static __device__ __forceinline__ bool holds(Length) { return true; }
    static __device__ __forceinline__ Length cut(Length limit) { return limit; }
    static __device__ __forceinline__ void put_aside(ROW, Control*) {}
};

/* Range of a launch with a bound: rows at `bound` or beyond are put aside for another launch, each once. */
struct Below {
    Length bound;
    ROW* aside;
    uint32_t* is_aside; /* bitmap */

    __device__ __forceinline__ bool holds(Length length) const { return length < bound; }
    __device__ __forceinline__ Length cut(Length limit) const { return smaller(limit, bound); }
    __device__ __forceinline__ void put_aside(ROW row, Control* control) const {
        ::put_aside(row, is_aside, aside, &control->aside);
    }
};

/* `Range` is a type, so that a launch without a bound has no checks. */
template <typename Range>
struct Search {
    const Quad* quads;
    Length* lengths;
    ROW* pile;
    uint32_t* piled;
    Range range;
    Control* control;
    Shared* shared;
    Entry* lists; /* active twice, held twice */
};

template <typename Range>
__device__ __forceinline__ Entry* list(const Search<Range>& search, int which, int parity) {
    return search.lists + (2 * which + parity) * ENTRIES;
}

__device__ __forceinline__ int spread(int place) { return place + (place >> 5); }

/* Pointer to `here`, in this block's shared memory, in the shared memory of block `rank` of the team. */
template <typename T>
__device__ __forceinline__ T* in_block(T* here, uint32_t rank) {
#if TEAM_BLOCKS > 1
    T* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(here), "r"(rank));
    return there;
#else
    return here;
#endif
}

__device__ __forceinline__ void prefetch(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }

/* Put `row` on the pile unless it is there; it returns with the length that it has then. */
__device__ __noinline__ void spill(ROW row, uint32_t* piled, ROW* pile, uint64_t* length, uint32_t* spilled) {
    const uint32_t bit = 1u << (row & 31);
    __threadfence();
    if (!(atomicOr(piled + (row >> 5), bit) & bit)) {
        pile[atomicAdd(length, (uint64_t)1)] = row;
        atomicAdd(spilled, 1u);
    }
}

/* Keep the wanted entries of each lane: one reservation per list and warp. Called by all lanes. */
template <typename Range, int COUNT>
__device__ __forceinline__ void keep(
    const Search<Range>& search, int parity, const bool (&wanted)[COUNT], const Entry (&entries)[COUNT], Length limit,
    Length& nearest) {
    const int lane = threadIdx.x & 31;
    const uint32_t before = (1u << lane) - 1;
    uint32_t active[COUNT], held[COUNT];
    int all_active = 0, all_held = 0;
    for (int k = 0; k < COUNT; ++k) {
        const bool near = entries[k].length < limit;
        active[k] = __ballot_sync(FULL_WARP, wanted[k] && near);
        held[k] = __ballot_sync(FULL_WARP, wanted[k] && !near && search.range.holds(entries[k].length));
        if (wanted[k] && !search.range.holds(entries[k].length)) {
            search.range.put_aside(entries[k].row, search.control);
        }
        all_active += __popc(active[k]);
        all_held += __popc(held[k]);
    }
    if (all_active + all_held == 0) {
        return;
    }
    uint32_t first = 0;
    if (lane < 2 && (lane == 0 ? all_active : all_held) > 0) {
        uint32_t* length = lane == 0 ? &search.shared->active[parity] : &search.shared->held[parity];
        first = atomicAdd(length, lane == 0 ? all_active : all_held);
    }
    int place_active = __shfl_sync(FULL_WARP, first, 0);
    int place_held = __shfl_sync(FULL_WARP, first, 1);
    for (int k = 0; k < COUNT; ++k) {
        if (wanted[k] && search.range.holds(entries[k].length)) {
            const bool near = entries[k].length < limit;
            const int place = near ? place_active + __popc(active[k] & before) : place_held + __popc(held[k] & before);
            if (place < CAPACITY) {
                list(search, near ? 0 : 1, parity)[spread(place)] = entries[k];
                nearest = smaller(nearest, entries[k].length);
            } else {
                spill(entries[k].row, search.piled, search.pile, &search.control->piled, &search.shared->spilled);
            }
        }
        place_active += __popc(active[k]);
        place_held += __popc(held[k]);
    }
}

template <typename Range>
__device__ __forceinline__ void keep(
    const Search<Range>& search, int parity, bool wanted, Entry entry, Length limit, Length& nearest) {
    const bool one[1] = {wanted};
    const Entry of_one[1] = {entry};
    keep(search, parity, one, of_one, limit, nearest);
}
