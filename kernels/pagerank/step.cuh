/* A step of PageRank's power iteration by propagation blocking without atomics.

   Shares, that is scores over out-degrees rounded to float, are divided into tiles of 32768 rows. First, a block holds a tile
   in shared memory, or where that is too small (TILE_IN_SHARED is 0) reads it through the cache, and its warps stream the
   tile's arcs, two bytes each (gpu/tiles/tiles.cu), in the order of their heads: a segmented sum gives a partial, the
   contribution of a tile to a row. Then the rows add their partials in double, one row per lane: rows are in slices of 32
   with about equally many partials, whose indices are stored transposed. Neither pass gathers at random outside shared
   memory, because a tile's partials of neighbouring rows are neighbours. The order of every sum depends on the arcs only.
   Partials of many rows take more memory than the arcs may leave: both passes are made for one group of bands of rows after the
   other, which use the same partials, and the next shares are held back until the last group has read the old ones.
   Rows without any arc have the base score and are in no slice. Sources: Beamer, Asanovic, Patterson, Reducing
   Pagerank Communication via Propagation Blocking, IPDPS 2017. Kreutzer, Hager, Wellein, Fehske, Bishop, A Unified Sparse
   Matrix Data Format for Efficient General Sparse Matrix-Vector Multiplication, SISC 2014. */
#pragma once
#include "gpu/tiles/stream.cuh"
#include "pagerank/sums.cuh"

#define TILE (1 << TILE_BITS) /* rows */
#define STAGED (TILE_IN_SHARED ? TILE : 0) /* where in a block's floats the warps' staged sums begin */
#define BATCH 4               /* loads in flight per lane */

struct Slice {
    int64_t first_item, width, first_partial;
};

/* Where a group of bands begins, and the one before ends. */
struct Group {
    int64_t job, slice;
};

/* The arcs in the order of tiles, and the rows in slices (tiles.py). */
struct TilePlan {
    const Task* tasks;
    const int64_t* jobs; /* first tasks, and the number of tasks */
    const uint32_t* arcs; /* two per word */
    const Slice* slices;
    const uint32_t* items;
    const ROW* rows; /* of the slices' lanes; negative for a lane without a row */
    const float* degrees;
    int64_t run; /* how many times a block's warps take the next slices, before they leave those to other blocks */
    const Group* groups; /* and one behind the last */
    int32_t num_groups;
};

/* The sums of `count` rows without arcs, whose score is the base. */
__device__ __forceinline__ Sums sums_without_arcs(double before, double base, int64_t count, double settled) {
    return Sums{in_units(fabs(base - before)) * (uint64_t)count, in_units(base) * (uint64_t)count,
        is_unsettled(before, base, settled) ? (uint64_t)count : 0};
}

/* The sum of `value` over the lanes up to this one. */
__device__ __forceinline__ int sum_up_to(int value) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const int other = __shfl_up_sync(FULL_WARP, value, step);
        value += lane >= step ? other : 0;
    }
    return value;
}

/* Write the sums of the segments that end in a lane's 8 arcs; return the sum of the arcs behind the last end. */
__device__ __forceinline__ float sum_lane(const float* tile, const uint32_t (&words)[4], float* sums) {
    float shares[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        shares[k] = tile[words[k >> 1] >> (k & 1 ? 16 : 0) & 0x7fff];
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const bool ends = words[k >> 1] >> (k & 1 ? 31 : 15) & 1;
        sum += shares[k];
        if (ends) {
            *sums = sum;
        }
        sums += ends;
        sum = ends ? 0.0f : sum;
    }
    return sum;
}

/* Add the lanes' unfinished sums from the last marked lane up to this one. */
__device__ __forceinline__ float sum_open(float sum, uint32_t marked_up_to) {
    const int lane = threadIdx.x & 31, since = max(31 - __clz(marked_up_to), 0);
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const float other = __shfl_up_sync(FULL_WARP, sum, step);
        sum += lane - step >= since ? other : 0.0f;
    }
    return sum;
}

/* Sum the segments of a warp's arcs into `partials`, through `staged`, ROUND floats. Arcs behind the last mark are ignored. */
__device__ void sum_segments(const float* tile, const uint32_t* arcs, int count, float* staged, float* partials) {
    const int lane = threadIdx.x & 31;
    const uint32_t lanes_before = (1u << lane) - 1;
    float carry = 0;
    uint32_t coming[4];
    load_round(arcs, lane * 8, count, coming);
    for (int round = 0; round < count; round += ROUND) {
        const uint32_t words[4] = {coming[0], coming[1], coming[2], coming[3]};
        load_round(arcs, round + ROUND + lane * 8, count, coming);
        const int marks = marks_of(words);
        const int up_to = sum_up_to(marks), total = __shfl_sync(FULL_WARP, up_to, 31);
        const uint32_t marked = __ballot_sync(FULL_WARP, marks > 0);
        float* const first = staged + up_to - marks;
        const float sum = sum_open(sum_lane(tile, words, first), marked & (lanes_before << 1 | 1));
        const float before = __shfl_up_sync(FULL_WARP, sum, 1);
        if (marks > 0) {
            *first += (lane ? before : 0.0f) + (marked & lanes_before ? 0.0f : carry);
        }
        carry = __shfl_sync(FULL_WARP, sum, 31) + (marked ? 0.0f : carry);
        __syncwarp();
        for (int k = lane; k < total; k += 32) {
            partials[k] = staged[k];
        }
        __syncwarp();
        partials += total;
    }
}

/* Blocks take a group's jobs one after the other: the tasks of one tile, which the block's warps take one after the other. Each
   block takes one job too many from `jobs_taken` in each group. */
__device__ void sum_tiles(
    const TilePlan& plan, int group, int64_t num_shares, const float* shares, float* memory, float* staged, float* partials,
    uint64_t* jobs_taken) {
    __shared__ int64_t job;
    __shared__ unsigned taken;
    for (int64_t held = -1;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            const int64_t next = (int64_t)atomicAdd(jobs_taken, (uint64_t)1) - (int64_t)group * gridDim.x;
            job = next < plan.groups[group + 1].job ? next : -1;
            taken = 0;
        }
        __syncthreads();
        if (job < 0) {
            return;
        }
        const int64_t first = plan.jobs[job], end = plan.jobs[job + 1], number = plan.tasks[first].tile;
        if (TILE_IN_SHARED && number != held) {
            const int size = (int)min((int64_t)TILE, num_shares - number * TILE);
#pragma unroll 16
            for (int row = threadIdx.x; row < size; row += THREADS) {
                memory[row] = shares[number * TILE + row];
            }
            held = number;
            __syncthreads();
        }
        const float* const tile = TILE_IN_SHARED ? memory : shares + number * TILE;
        for (;;) {
            const int64_t place = next_task(first, &taken);
            if (place >= end) {
                break;
            }
            const Task task = plan.tasks[place];
            sum_segments(tile, plan.arcs + task.first_arc / 2, task.count, staged, partials + task.first_segment);
        }
    }
}

/* Load BATCH items of a lane's row from `item` on; 0 is none. */
__device__ __forceinline__ void load_items(const uint32_t* items, int64_t item, int64_t width, uint32_t (&indices)[BATCH]) {
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        indices[k] = item + k < width ? __ldcs(items + (item + k) * 32) : 0;
    }
}

/* Add the partials of a lane's row; the next items are on their way meanwhile. */
__device__ __forceinline__ double sum_row(const uint32_t* items, int64_t width, const float* partials) {
    double sum = 0;
    uint32_t coming[BATCH];
    load_items(items, 0, width, coming);
    for (int64_t item = 0; item < width; item += BATCH) {
        uint32_t indices[BATCH];
        float values[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            indices[k] = coming[k];
        }
        load_items(items, item + BATCH, width, coming);
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            values[k] = indices[k] ? partials[indices[k]] : 0.0f;
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            sum += values[k];
        }
    }
    return sum;
}

/* One slice of rows per warp: add the partials, and set the share and score of each row. */
template <bool compares>
__device__ void sum_rows(const TilePlan& plan, int group, const float* partials, const Scoring& scoring, Sums& sums) {
    const int lane = threadIdx.x & 31, warps = THREADS / 32;
    const int64_t end = plan.groups[group + 1].slice;
    int64_t place = plan.groups[group].slice + blockIdx.x * plan.run * warps + (threadIdx.x >> 5);
    for (int64_t turn = 1; place < end; ++turn) {
        const Slice slice = plan.slices[place];
        const ROW row = plan.rows[place * 32 + lane];
        const float degree = plan.degrees[place * 32 + lane];
        const double before = compares && row >= 0 ? scoring.scores[row] : 0.0;
        const double sum = sum_row(plan.items + slice.first_item + lane, slice.width, partials + slice.first_partial);
        if (row >= 0) {
            scoring.set<compares>(row, degree, before, sum, sums);
        }
        place += turn % plan.run ? warps : ((gridDim.x - 1) * plan.run + 1) * warps;
    }
}

/* Behind a barrier, let the next shares, which were held back, be the shares. */
__device__ void put_next(const float* next, int64_t num_rows, float* shares, uint32_t* barrier) {
    if (next != shares) {
        grid_barrier(barrier);
#pragma unroll 1 // more loads at a time need more registers than there are
        for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
            shares[row] = next[row];
        }
    }
}

/* Set the scores of rows without any arc. */
__device__ void finish(const int64_t* out_offsets, const int64_t* in_offsets, int64_t num_rows, double base, double* scores) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        if (out_offsets[row + 1] == out_offsets[row] && in_offsets[row + 1] == in_offsets[row]) {
            scores[row] = base;
        }
    }
}
