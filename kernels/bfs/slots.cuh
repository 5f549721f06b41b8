/* How top_down.cu finds the unvisited heads of a row's arcs.

   Encodings. Slots (`Quad`) of row r, in the order of the CSR row:
     up to 4 arcs     their heads, padded with r itself;
     up to 10 arcs    three heads and ~q: the rest is in Quad q, in the same encoding;
     more             HUB in slot 0: the arcs are only in the CSR.
   Row r is found if bit r % 32 of word r / 32 of the bitmap is set. */
#pragma once

#include "gpu/cluster.cuh"

#define SLOTS 4
#define HUB ((ROW)-1)
#define NO_ROW ((ROW)-1)

struct alignas(16) Quad {
    ROW slot[SLOTS];
};

/* Zero before `prepare`. */
struct Control {
    uint32_t barrier;
    uint32_t deep;         /* the search was given up, after too many thin levels */
    uint64_t spilled;      /* rows that did not fit the team's shared memory */
    uint64_t found[3];     /* rows that the grid found in this level, in the next one, and one that is zero */
    int64_t head, size, level; /* the frontier that the team passes to the grid */
    uint64_t quads;        /* Quads beyond one per row */
};
static_assert(sizeof(Control) <= CONTROL_WORDS * 8, "CONTROL_WORDS is too small");

struct Search {
    const Quad* rows;
    const int64_t* offsets;
    const ROW* indices;
    uint32_t* visited;
    ROW* levels;
    ROW* queue;
    Control* control;
    int64_t words;       /* of the bitmap */
    uint32_t team_words; /* of the bitmap in each block of the team; 0 if they do not fit */
};

/* Predicated instructions: a level is a chain of a few hundred instructions, and branches would double it. */

/* Mark `row` as found if `wanted`; returns whether it is new. */
__device__ __forceinline__ bool claim(uint32_t* visited, ROW row, bool wanted) {
    uint32_t before;
    const uint32_t bit = 1u << (row & 31);
    asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; mov.b32 %0, 0xffffffff; @p atom.relaxed.gpu.global.or.b32 %0, [%1], %2;}"
                 : "=&r"(before)
                 : "l"(visited + (row >> 5)), "r"(bit), "r"((uint32_t)wanted)
                 : "memory");
    return !(before & bit);
}

/* The same if the bitmap is in the team's shared memory, from the address `visited` on: 32 words per block, block after block. */
__device__ __forceinline__ bool claim_in_team(uint32_t visited, ROW row, bool wanted) {
    const uint32_t word = (uint32_t)(row >> 5), bit = 1u << (row & 31);
    const uint32_t here = visited + (word / (32 * TEAM_BLOCKS) * 32 + word % 32) * 4;
    return !(team_or(team_address_of(here, word / 32 % TEAM_BLOCKS), bit, wanted) & bit);
}

__device__ __forceinline__ void prefetch(const Quad* quad, bool wanted) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p prefetch.global.L2 [%0];}" ::"l"(quad), "r"((uint32_t)wanted));
}

/* Keep the heads that were just found: one atomic per warp. Called by all lanes. */
template <int HEADS, typename Keep>
__device__ __forceinline__ void keep_found(const Search& search, const ROW (&heads)[HEADS], const bool (&found)[HEADS],
    Keep& keep) {
    const uint32_t before = (1u << (threadIdx.x & 31)) - 1;
    uint32_t lanes[HEADS];
    uint32_t total = 0;
#pragma unroll
    for (int k = 0; k < HEADS; ++k) {
        prefetch(search.rows + heads[k], found[k]);
        lanes[k] = __ballot_sync(FULL_WARP, found[k]);
        total += __popc(lanes[k]);
    }
    if (total == 0) {
        return;
    }
    typename Keep::Index first = 0;
    if ((threadIdx.x & 31) == 0) {
        first = keep.reserve(total);
    }
    first = __shfl_sync(FULL_WARP, first, 0);
#pragma unroll
    for (int k = 0; k < HEADS; ++k) {
        keep.put(first + __popc(lanes[k] & before), heads[k], found[k]);
        first += __popc(lanes[k]);
    }
}

/* Find the unvisited heads of `row`'s arcs. Called by all lanes; `row` is -1 for lanes without one. */
template <typename Keep>
__device__ __forceinline__ void expand(const Search& search, ROW row, Keep& keep) {
    Quad quad{{row, row, row, row}};
    if (row >= 0) {
        quad = search.rows[row];
    }
    uint32_t hubs = 0;
    for (bool more = true; more;) {
        const ROW last = quad.slot[SLOTS - 1];
        const bool is_hub = row >= 0 && quad.slot[0] == HUB, continued = row >= 0 && last < 0;
        Quad rest{{row, row, row, row}};
        more = __any_sync(FULL_WARP, is_hub || continued);
        if (more) {
            hubs |= __ballot_sync(FULL_WARP, is_hub);
            quad.slot[0] = is_hub ? row : quad.slot[0];
            if (continued) {
                rest = search.rows[~last];
                quad.slot[SLOTS - 1] = row;
            }
        }
        bool found[SLOTS];
#pragma unroll
        for (int k = 0; k < SLOTS; ++k) {
            found[k] = keep.claim(search, quad.slot[k], quad.slot[k] != row);
        }
        keep_found(search, quad.slot, found, keep);
        quad = rest;
        more = more && __any_sync(FULL_WARP, continued);
    }
#pragma unroll 1
    for (; hubs; hubs &= hubs - 1) {
        const ROW hub = __shfl_sync(FULL_WARP, row, __ffs(hubs) - 1);
        const int64_t end = search.offsets[hub + 1];
#pragma unroll 1
        for (int64_t first = search.offsets[hub]; first < end; first += 32) {
            const int64_t arc = first + (threadIdx.x & 31);
            const ROW heads[1] = {arc < end ? search.indices[arc] : hub};
            const bool found[1] = {keep.claim(search, heads[0], arc < end)};
            keep_found(search, heads, found, keep);
        }
    }
}
