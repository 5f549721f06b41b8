/* Tiles of ROWS rows and 32 trees, whose lengths (parts.cuh) are compared with those along the arcs that enter the rows.

   A warp takes a tile. It first reads where all its lengths and in-arcs are, so that every later load waits for nothing but
   itself. Then a thread takes the in-arcs of a row for a part of a line. They ascend by the external ids of their tails, so the
   first tight one from a nearer row decides. If every arc has a length, a tight arc comes from a nearer row. */
#pragma once

#include "trees/parts.cuh"

#define ABREAST 4
#define GROUPS 8
#define ROWS (sizeof(SUM) == 4 && sizeof(ROW) == 4 ? 32 : 16) /* tiles of all warps fit into static shared memory */
#define WARPS (PROOF_THREADS / 32)
#define LARGEST (sizeof(Length) == 4 ? (Length)0x7fffffff : FAR - 1)

/* The arcs that enter all rows. */
struct Entering {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ tails;
    const ROW* __restrict__ places; /* the positions of the tails */
    const WEIGHT* __restrict__ weights;
    const ROW* __restrict__ positions; /* of the rows */
    const bool* __restrict__ joins;    /* kernels/trees/swept.py, or null */
    int64_t num_rows;
    bool positive; /* whether every arc has a length that a sum of integers keeps */

    __device__ __forceinline__ Length weight(int64_t arc) const {
        return length_of(weights == nullptr ? (WEIGHT)1 : weights[arc]);
    }
};

/* Mark the trees whose sources are not at distance 0. */
__device__ __forceinline__ void require_sources_at_zero(
    const Entering& graph, const ROW* sources, int64_t count, int64_t groups, const Length* lengths, uint32_t* loose) {
    for (int64_t tree = global_thread(); tree < count; tree += num_threads()) {
        if (lengths[((int64_t)graph.positions[sources[tree]] * groups + tree / 32) * 32 + tree % 32] != 0) {
            loose[tree] = 1;
        }
    }
}

/* The first HELD arcs of a warp's tile, in shared memory. */
struct Held {
    ROW places[HELD];
    Length weights[HELD];
};

/* What a thread found of its part of a row. */
struct Found {
    Part own;
    int decided[PART]; /* the arc that decides, from the tile's first one on, or one of them; -1 without a tight arc */
    bool broken[PART]; /* an arc shortens the path, or leads here from a reached row, or the value is no length */
};

/* Which tile and group of trees a warp takes: GROUPS groups at a time, so that lines of near rows stay in the cache. */
struct Work {
    int64_t group, begin;

    __device__ __forceinline__ Work(int64_t number, int64_t tiles, int64_t groups) {
        const int64_t before = number / (tiles * GROUPS) * GROUPS, place = number - before * tiles;
        const int64_t together = groups - before < GROUPS ? groups - before : GROUPS;
        group = before + place % together;
        begin = place / together * ROWS;
    }
};

struct Tile {
    const Entering& graph;
    const Held& held;
    int64_t begin, group, groups, first;
    int64_t line_of_lane;
    int from_of_lane, end_of_lane, join_of_lane;
    bool fast;

    __device__ __forceinline__ Tile(const Entering& graph, Held& held, int64_t begin, int64_t group, int64_t groups)
        : graph(graph), held(held), begin(begin), group(group), groups(groups) {
        const int lane = threadIdx.x & 31;
        const int64_t row = begin + lane % ROWS, of_lane = row < graph.num_rows ? row : graph.num_rows - 1;
        line_of_lane = (int64_t)graph.positions[of_lane] * groups + group;
        const int64_t from = graph.offsets[of_lane], end = graph.offsets[of_lane + 1];
        join_of_lane = graph.joins != nullptr && graph.joins[of_lane];
        first = __shfl_sync(FULL_WARP, from, 0);
        from_of_lane = (int)(from - first);
        end_of_lane = row < graph.num_rows ? (int)(end - first) : from_of_lane;
        const int64_t count = __shfl_sync(FULL_WARP, end, 31) - first;
        fast = graph.positive && count <= HELD;
        for (int arc = lane; arc < HELD && arc < count; arc += 32) {
            held.places[arc] = graph.places[first + arc];
            held.weights[arc] = graph.weight(first + arc);
        }
        __syncwarp();
    }

    /* One of a tile's rows. FAST: all arcs are held and have a length. STATED: `decided` is the first arc. */
    template <bool FAST, bool STATED>
    __device__ __forceinline__ Found row(const Length* lengths, int own_row, int number) const {
        const int from = __shfl_sync(FULL_WARP, from_of_lane, own_row), end = __shfl_sync(FULL_WARP, end_of_lane, own_row);
        const bool join = !FAST && __shfl_sync(FULL_WARP, join_of_lane, own_row);
        Found found = {load_part(lengths + __shfl_sync(FULL_WARP, line_of_lane, own_row) * 32, number), {}, {}};
        const Part& own = found.own;
        Part least = part_of(FAR), nearest = part_of(FAR);
#pragma unroll
        for (int i = 0; i < PART; ++i) {
            found.decided[i] = -1;
        }
        for (int arc = from; arc < end; arc += ABREAST) {
            Part near[ABREAST];
#pragma unroll
            for (int k = 0; k < ABREAST; ++k) {
                if (arc + k < end) {
                    const ROW place = FAST || arc + k < HELD ? held.places[arc + k] : graph.places[first + arc + k];
                    near[k] = load_part(lengths + ((int64_t)place * groups + group) * 32, number);
                }
            }
#pragma unroll
            for (int k = 0; k < ABREAST; ++k) {
                if (arc + k < end) {
                    const Length weight = FAST || arc + k < HELD ? held.weights[arc + k] : graph.weight(first + arc + k);
#pragma unroll
                    for (int i = 0; i < PART; ++i) {
                        const Length total = plus(near[k].of[i], weight);
                        least.of[i] = smaller(least.of[i], total);
                        nearest.of[i] = smaller(nearest.of[i], near[k].of[i]);
                        if (STATED) {
                            const bool nearer = FAST || near[k].of[i] < own.of[i] || (join && total != FAR);
                            found.decided[i] = total == own.of[i] && nearer && found.decided[i] < 0 ? arc + k : found.decided[i];
                        }
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < PART; ++i) {
            const bool reached = own.of[i] != FAR;
            found.broken[i] = least.of[i] < own.of[i] || (reached ? own.of[i] > LARGEST : nearest.of[i] != FAR);
            if (!STATED) {
                found.decided[i] = least.of[i] == own.of[i] && from < end ? from : -1;
            }
        }
        return found;
    }

    /* Whether a row is the source of a tree, where an arc of length 0 could be taken for one that leads to it. */
    __device__ __forceinline__ bool is_source(const ROW* sources, int64_t tree, int64_t count, int64_t row) const {
        return !fast && tree < count && sources[tree] == row;
    }

    /* Call `visit(own_row, found)` for a thread's part of each of the tile's rows. It writes no global memory, so that the
       lengths of the next row can be loaded before. */
    template <bool FAST, bool STATED, typename Visit>
    __device__ __forceinline__ void rows(const Length* lengths, Visit visit) const {
        const int lane = threadIdx.x & 31;
#pragma unroll 2
        for (int step = 0; step < ROWS; step += STRIPES) {
            const int own_row = step + lane / LINE;
            visit(own_row, row<FAST, STATED>(lengths, own_row, lane % LINE));
        }
    }
};
