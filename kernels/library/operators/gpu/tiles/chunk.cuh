/* What a warp of a sweep in the order of tiles (sweep.cuh) knows of a chunk: its arcs and weights, the segments that belong
   to the frontier, and the results of segments. */
#pragma once
#include "gpu/tiles/stream.cuh"
#include "library/operators/gpu/sweep.cuh"

#define TILE (1 << TILE_BITS) /* heads */
#define LANE_ARCS (TILE_ROUND / 32)
#define READS_WEIGHTS (WEIGHTED && HAS_WEIGHTS)
#define WEIGHT_WORDS (READS_WEIGHTS ? LANE_ARCS * (int)sizeof(WEIGHT) / 4 : 4) /* 32 bits each */
#define AHEAD (READS_WEIGHTS && sizeof(WEIGHT) == 4) /* read weights a round before their use */
#define NEEDS_SEGMENTS (HOW || TAKES_ROW || CAN_FAIL || INPUT == DENSE)
#define ACTIVITY_WORDS (TILE_CHUNK_ARCS / 32 + 2)
#define ROWS_AHEAD 2 /* rows of segments that a lane reads a round before */
#define FIND_BATCH 4 /* segments of a lane that are looked up at a time */

struct Tiles {
    const Task* tasks;   /* in the order of tiles */
    const int64_t* jobs; /* first tasks, each of one tile, and the number of tasks */
    int64_t num_jobs;
    const uint16_t* arcs;
    const WEIGHT* weights;
    const ROW* rows; /* of the segments, and one entry more */
    uint64_t* jobs_taken;
    int64_t num_rows;
};

/* What a lane has of a round: arcs, of which `size` exist and `marks` are the last of a segment; the number of marks in the lanes
   before, and in all; the first segment of the round; a bit for each segment of the lane; rows of the first segments. */
struct Lane {
    uint32_t words[4];
    uint32_t weights[WEIGHT_WORDS];
    int size, marks, before, ends, segment;
    uint32_t active;
    ROW rows[ROWS_AHEAD];
};

__device__ __forceinline__ int weight_of(const uint32_t* words, int k, int) { return (int)words[k]; }

__device__ __forceinline__ float weight_of(const uint32_t* words, int k, float) { return __uint_as_float(words[k]); }

__device__ __forceinline__ int64_t weight_of(const uint32_t* words, int k, int64_t) {
    return (int64_t)((uint64_t)words[2 * k + 1] << 32 | words[2 * k]);
}

__device__ __forceinline__ double weight_of(const uint32_t* words, int k, double) {
    return __longlong_as_double(weight_of(words, k, (int64_t)0));
}

__device__ __forceinline__ void load_weights(const WEIGHT* from, uint32_t (&words)[WEIGHT_WORDS]) {
#pragma unroll
    for (int k = 0; k < WEIGHT_WORDS; k += 4) {
        uint32_t part[4];
        load_once((const uint32_t*)from + k, part);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            words[k + j] = part[j];
        }
    }
}

/* Combine a segment's result into the total of its row. */
template <typename Total>
__device__ __forceinline__ void fold_in(Total* total, Total value) {
#if HOW == LEAST_OF
    improve<true>(total, value);
#else
    improve<false>(total, value);
#endif
}

__device__ __forceinline__ void fold_in(int64_t* total, int64_t value) {
#if HOW == LEAST_OF
    atomicMin(total, value);
#elif HOW == MOST_OF
    atomicMax(total, value);
#else
    atomicAdd((uint64_t*)total, (uint64_t)value);
#endif
}

/* Combine the lanes' unfinished results from the last marked lane up to this one. */
__device__ __forceinline__ TOTAL combine_open(TOTAL total, uint32_t marked_up_to) {
    const int lane = threadIdx.x & 31, since = max(31 - __clz((int)marked_up_to), 0);
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const TOTAL other = __shfl_up_sync(FULL_WARP, total, step);
        total = lane - step >= since ? combine(other, total) : total;
    }
    return total;
}

/* Which segments of a chunk belong to rows of the frontier, a bit for each; whether any does. */
__device__ __forceinline__ bool find_active(const Sweep& sweep, const ROW* rows, int count, uint32_t* activity) {
    const int lane = threadIdx.x & 31;
    bool any = false;
    for (int first = 0; first < count; first += 32 * FIND_BATCH) {
        ROW batch[FIND_BATCH]; /* all of them are read before the first is used */
        bool active[FIND_BATCH];
#pragma unroll
        for (int k = 0; k < FIND_BATCH; ++k) {
            const int place = first + 32 * k + lane;
            batch[k] = place < count ? __ldg(rows + place) : -1;
        }
#pragma unroll
        for (int k = 0; k < FIND_BATCH; ++k) {
            active[k] = batch[k] >= 0 && (__ldg(sweep.active + (batch[k] >> 5)) >> (batch[k] & 31) & 1) != 0;
        }
#pragma unroll
        for (int k = 0; k < FIND_BATCH; ++k) {
            const uint32_t lanes = __ballot_sync(FULL_WARP, active[k]);
            any |= lanes != 0;
            if (lane == k && first + 32 * k < count) {
                activity[(first >> 5) + k] = lanes;
            }
        }
    }
    __syncwarp();
    return any;
}
