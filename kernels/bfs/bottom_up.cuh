/* One level bottom-up, for direction_optimising.cu and for shards: every unvisited row searches its in-arcs for the first one
   from the frontier. A lane tries the row's first arcs, then a warp the next ones, then a block the rest, so that no thread is
   left with a long row. */
#pragma once

#include "gpu/device.cuh"

#define BATCH 2       /* arcs that a lane tries at once */
#define STEPS 4       /* arcs that each lane of a warp or block tries at once */
#define WORDS 8       /* words of a bitmap that a warp reads together ... */
#define MANY_WORDS 32 /* ... if there are more than this many per warp */

/* Counters of a level, for all blocks. */
struct Level {
    uint64_t found;      /* rows */
    uint64_t arcs;       /* their out-arcs */
    uint64_t for_warps;  /* rows that wait for a warp */
    uint64_t for_blocks; /* rows that wait for a block */
};

struct Control {
    uint32_t barrier;
    uint32_t deep;   /* the search was given up, after too many thin levels */
    uint64_t queued; /* rows queued from a bitmap */
    Level levels[3]; /* of this level, of the next one, and one that is zero */
};
static_assert(sizeof(Control) == CONTROL_WORDS * 8, "CONTROL_WORDS is wrong");

struct Search {
    const int64_t* __restrict__ out_offsets;
    const ROW* __restrict__ out_indices;
    const int64_t* __restrict__ in_offsets;
    const ROW* __restrict__ in_indices;
    const ROW* __restrict__ positions;
    int64_t num_rows;
    uint32_t* visited;
    int64_t* distance;
    ROW* predecessor;
    ROW* queue;
    ROW* for_warps;
    ROW* for_blocks;
    uint32_t* barrier;
};

/* Add the sum of a warp's values to a counter. Called by all lanes. */
__device__ __forceinline__ void add_of_warp(uint64_t* sum, uint64_t value) {
    value = sum_of_warp(value);
    if ((threadIdx.x & 31) == 0 && value) {
        atomicAdd(sum, value);
    }
}

/* The first of `in_indices[arc:end]` in the frontier, or -1. */
__device__ __forceinline__ ROW first_in(const Search& search, const uint32_t* frontier, int64_t arc, int64_t end) {
    for (; arc < end; arc += BATCH) {
        ROW near[BATCH];
        uint32_t words[BATCH];
        for (int k = 0; k < BATCH; ++k) {
            near[k] = search.in_indices[arc + k < end ? arc + k : end - 1];
        }
        for (int k = 0; k < BATCH; ++k) {
            words[k] = frontier[near[k] >> 5];
        }
        for (int k = 0; k < BATCH; ++k) {
            if (words[k] >> (near[k] & 31) & 1) {
                return near[k];
            }
        }
    }
    return -1;
}

/* The first arc with its tail in the frontier among those that this thread tries of `width * STEPS` arcs from `arc` on, or
   `end`. */
__device__ __forceinline__ int64_t try_arcs(
    const Search& search, const uint32_t* frontier, int64_t arc, int64_t end, int thread, int width) {
    int64_t first = end;
    for (int k = STEPS - 1; k >= 0; --k) {
        const int64_t at = arc + k * width + thread;
        const ROW near = search.in_indices[at < end ? at : end - 1];
        first = at < end && (frontier[near >> 5] >> (near & 31) & 1) ? at : first;
    }
    return first;
}

__device__ __forceinline__ int64_t least_of_warp(int64_t value) {
    for (int step = 16; step > 0; step >>= 1) {
        const int64_t other = __shfl_xor_sync(FULL_WARP, value, step);
        value = other < value ? other : value;
    }
    return value;
}

/* Search the unvisited rows of one word; returns the bits of the rows that were found. */
__device__ __forceinline__ uint32_t search_word(
    const Search& search, const uint32_t* frontier, int64_t word, uint32_t seen, int64_t level, uint64_t& arcs_found,
    Level* counts) {
    const int lane = threadIdx.x & 31;
    const int64_t row = word * 32 + lane;
    ROW nearest = -1;
    if (!(seen >> lane & 1)) {
        const int64_t arc = search.in_offsets[row], end = search.in_offsets[row + 1];
        nearest = first_in(search, frontier, arc, end - arc > LANE_ARCS ? arc + LANE_ARCS : end);
        if (nearest >= 0) {
            search.distance[row] = level;
            search.predecessor[row] = nearest;
            arcs_found += (uint64_t)(search.out_offsets[row + 1] - search.out_offsets[row]);
        } else if (end - arc > LANE_ARCS) {
            search.for_warps[append(&counts->for_warps)] = (ROW)row;
        }
    }
    return __ballot_sync(FULL_WARP, nearest >= 0);
}

/* Record that `row` was found over its in-arc `arc`; returns its out-degree. */
__device__ __forceinline__ uint64_t settle(const Search& search, ROW row, int64_t arc, uint32_t* next, int64_t level) {
    search.distance[row] = level;
    search.predecessor[row] = search.in_indices[arc];
    atomicOr(next + (row >> 5), 1u << (row & 31));
    atomicOr(search.visited + (row >> 5), 1u << (row & 31));
    return (uint64_t)(search.out_offsets[row + 1] - search.out_offsets[row]);
}

/* Search the rows that wait for warps. */
__device__ void search_with_warps(
    const Search& search, const uint32_t* frontier, uint32_t* next, int64_t level, int64_t waiting, Level* counts) {
    const int lane = threadIdx.x & 31;
    uint64_t rows_found = 0, arcs_found = 0;
    for (int64_t place = global_thread() >> 5; place < waiting; place += num_threads() >> 5) {
        const ROW row = __ldcg(search.for_warps + place);
        const int64_t begin = search.in_offsets[row] + LANE_ARCS, end = search.in_offsets[row + 1];
        const int64_t stop = end - begin > WARP_ARCS ? begin + WARP_ARCS : end;
        int64_t first = stop;
        for (int64_t arc = begin; arc < stop && first == stop; arc += STEPS * 32) {
            first = least_of_warp(try_arcs(search, frontier, arc, stop, lane, 32));
        }
        if (lane == 0 && first < stop) {
            arcs_found += settle(search, row, first, next, level);
            rows_found += 1;
        } else if (lane == 0 && stop < end) {
            search.for_blocks[atomicAdd(&counts->for_blocks, (uint64_t)1)] = row;
        }
    }
    add_of_warp(&counts->found, rows_found);
    add_of_warp(&counts->arcs, arcs_found);
}

/* Search the rows that wait for blocks. */
__device__ void search_with_blocks(
    const Search& search, const uint32_t* frontier, uint32_t* next, int64_t level, int64_t waiting, int64_t* best,
    Level* counts) {
    uint64_t rows_found = 0, arcs_found = 0;
    for (int64_t place = blockIdx.x; place < waiting; place += gridDim.x) {
        const ROW row = __ldcg(search.for_blocks + place);
        const int64_t end = search.in_offsets[row + 1];
        bool hit = false;
        __syncthreads();
        *best = end;
        for (int64_t arc = search.in_offsets[row] + LANE_ARCS + WARP_ARCS; arc < end && !hit; arc += STEPS * THREADS) {
            const int64_t mine = try_arcs(search, frontier, arc, end, threadIdx.x, THREADS);
            hit = __syncthreads_or(mine < end);
            if (mine < end) {
                atomicMin((uint64_t*)best, (uint64_t)mine);
            }
        }
        __syncthreads();
        if (hit && threadIdx.x == 0) {
            arcs_found += settle(search, row, *best, next, level);
            rows_found += 1;
        }
    }
    add_of_warp(&counts->found, rows_found);
    add_of_warp(&counts->arcs, arcs_found);
}

/* A warp searches the rows of a word. If there are many words, it reads several at once, because most may be visited
   completely. */
__device__ void search_words(const Search& search, const uint32_t* frontier, uint32_t* next, int64_t level, Level* counts) {
    const int lane = threadIdx.x & 31;
    const int64_t words = (search.num_rows + 31) / 32, warps = num_threads() >> 5;
    const int width = words > MANY_WORDS * warps ? WORDS : 1;
    uint64_t rows_found = 0, arcs_found = 0;
    for (int64_t first = (global_thread() >> 5) * width; first < words; first += warps * width) {
        const bool mine = lane < width && first + lane < words;
        const uint32_t seen = mine ? search.visited[first + lane] : FULL_WARP;
        uint32_t bits = 0;
        for (uint32_t open = __ballot_sync(FULL_WARP, seen != FULL_WARP); open; open &= open - 1) {
            const int at = __ffs(open) - 1;
            const uint32_t seen_there = __shfl_sync(FULL_WARP, seen, at);
            const uint32_t found = search_word(search, frontier, first + at, seen_there, level, arcs_found, counts);
            bits = lane == at ? found : bits;
        }
        if (mine) {
            next[first + lane] = bits;
            if (bits) {
                search.visited[first + lane] = seen | bits;
                rows_found += __popc(bits);
            }
        }
    }
    add_of_warp(&counts->found, rows_found);
    add_of_warp(&counts->arcs, arcs_found);
}

/* Search one level, with barriers of the grid between its parts; returns whether one has to follow. */
__device__ __forceinline__ bool search_level(
    const Search& search, const uint32_t* frontier, uint32_t* next, int64_t level, int64_t* best, Level* counts) {
    search_words(search, frontier, next, level, counts);
    grid_barrier(search.barrier);
    const int64_t for_warps = (int64_t)__ldcg(&counts->for_warps);
    if (for_warps == 0) {
        return false;
    }
    search_with_warps(search, frontier, next, level, for_warps, counts);
    grid_barrier(search.barrier);
    const int64_t for_blocks = (int64_t)__ldcg(&counts->for_blocks);
    if (for_blocks > 0) {
        search_with_blocks(search, frontier, next, level, for_blocks, best, counts);
    }
    return for_blocks > 0;
}
