/* PageRank. Returns every row's rank after power iteration, how many iterations there were, and the last one's change.

   Method: a row pulls what its in-arcs bring, without atomics: shares, that is ranks over out-degrees, are rounded to float,
   gathered, and summed in double in an order that depends on the row alone; rows of 8192 arcs or more by a block, of 512 or more
   by a warp, the others some at a time: a warp fetches what all their arcs bring, then 1 to 32 lanes sum a row. Every block
   holds the shares of the first rows, the popular ones where rows come by degree, in shared memory. All iterations are one
   cooperative launch. The sums over all rows, of changes and of the ranks without out-arcs, are added as integers of 2^-60: any
   order gives the same bits, so warps take rows as they come.
   Source: Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999. */
#include "device.cuh"

#define THREADS 1024
#define STAGED 512   /* arcs that a warp fetches before it sums them */
#define WARP_ROW 512 /* arcs, from which a row is in one of the launcher's lists */
#define TILES 4      /* of 32 rows, dealt at a time */
#define BATCH 8      /* loads in flight of a lane */
#define UNIT 1152921504606846976.0 /* 2^60 */

struct Turn {
    uint64_t change, dangling;  /* in 2^-60 */
    uint64_t dealt, unused;     /* tiles */
};

struct Control {
    uint64_t barrier;
    uint64_t iterations;
    double change;
    uint64_t unused;
    Turn turns[3];
};

struct Iteration {
    const int64_t *out_offsets, *in_offsets;
    const ROW* in_indices;
    int64_t num_rows;
    float *shares, *next_shares, *hot_shares; /* `hot_shares` are those of the rows before `num_hot` */
    ROW num_hot;
    double* ranks;
    double base, damping;
};

__device__ __forceinline__ double sum_of_group(double value, int lanes) {
    for (int step = lanes >> 1; step > 0; step >>= 1) {
        value += __shfl_xor_sync(FULL_WARP, value, step);
    }
    return value;
}

/* The share of a row. Both loads are unconditional, so that a batch of them is in flight. */
__device__ __forceinline__ float share_of(const Iteration& now, ROW row) {
    const bool is_hot = row < now.num_hot;
    const float cold = now.shares[is_hot ? 0 : row], hot = now.hot_shares[is_hot ? row : 0];
    return is_hot ? hot : cold;
}

/* What the arcs `first + step * k` before `end` bring. */
__device__ __forceinline__ double gather(const Iteration& now, int64_t first, int64_t end, int step) {
    double sums[BATCH] = {};
    for (int64_t arc = first; arc < end; arc += BATCH * step) {
        ROW rows[BATCH];
        float shares[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            rows[k] = __ldcs(now.in_indices + min(arc + k * step, end - 1));
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            shares[k] = share_of(now, rows[k]);
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            sums[k] += arc + k * step < end ? shares[k] : 0.0f;
        }
    }
    double sum = 0;
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        sum += sums[k];
    }
    return sum;
}

/* What a thread adds to the sums over all rows. */
struct Sums {
    uint64_t change, dangling;
};

/* Give a row its rank and its share. */
__device__ __forceinline__ void settle(const Iteration& now, int64_t row, double sum, Sums& sums) {
    const double before = now.ranks[row], rank = now.base + now.damping * sum;
    const int64_t degree = now.out_offsets[row + 1] - now.out_offsets[row];
    now.ranks[row] = rank;
    now.next_shares[row] = degree ? (float)(rank / (double)degree) : 0.0f;
    sums.change += (uint64_t)(fabs(rank - before) * UNIT);
    sums.dangling += degree ? 0 : (uint64_t)(rank * UNIT);
}

/* A block a row. */
__device__ void pull_block_rows(const Iteration& now, const ROW* rows, int64_t num_rows, Sums& sums) {
    __shared__ double parts[THREADS / 32];
    const int lane = threadIdx.x & 31;
    for (int64_t place = blockIdx.x; place < num_rows; place += gridDim.x) {
        const ROW row = rows[place];
        const double part = sum_of_group(gather(now, now.in_offsets[row] + threadIdx.x, now.in_offsets[row + 1], THREADS), 32);
        __syncthreads();
        if (lane == 0) {
            parts[threadIdx.x >> 5] = part;
        }
        __syncthreads();
        if (threadIdx.x < 32) {
            const double sum = sum_of_group(lane < THREADS / 32 ? parts[lane] : 0.0, 32);
            if (lane == 0) {
                settle(now, row, sum, sums);
            }
        }
    }
}

/* A warp a row. */
__device__ void pull_warp_rows(const Iteration& now, const ROW* rows, int64_t num_rows, Sums& sums) {
    const int lane = threadIdx.x & 31;
    for (int64_t place = global_thread() >> 5; place < num_rows; place += num_threads() >> 5) {
        const ROW row = rows[place];
        const double sum = sum_of_group(gather(now, now.in_offsets[row] + lane, now.in_offsets[row + 1], 32), 32);
        if (lane == 0) {
            settle(now, row, sum, sums);
        }
    }
}

/* Fetch what `count` arcs bring, from `first` on, into `staged`. */
__device__ __forceinline__ void stage(const Iteration& now, int64_t first, int count, float* staged) {
    const int lane = threadIdx.x & 31;
    for (int base = lane; base < count; base += 32 * BATCH) {
        ROW rows[BATCH];
        float shares[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            rows[k] = __ldcs(now.in_indices + first + min(base + k * 32, count - 1));
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            shares[k] = share_of(now, rows[k]);
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            if (base + k * 32 < count) {
                staged[base + k * 32] = shares[k];
            }
        }
    }
    __syncwarp();
}

/* The narrow rows of 32 neighbours: as many in a row as the stage holds, then a power of two of lanes for each of them. */
__device__ __forceinline__ void pull_tile(const Iteration& now, int64_t tile, float* staged, Sums& sums) {
    const int lane = threadIdx.x & 31;
    const int64_t row = min(tile * 32 + lane, now.num_rows);
    const int64_t first = now.in_offsets[row], end = now.in_offsets[min(row + 1, now.num_rows)];
    const uint32_t wide = __ballot_sync(FULL_WARP, end - first >= WARP_ROW);
    const int num_rows = (int)min((int64_t)32, now.num_rows - tile * 32);
    for (int at = 0; at < num_rows;) {
        if (wide >> at & 1) {
            ++at;
            continue;
        }
        const int64_t base = __shfl_sync(FULL_WARP, first, at);
        const bool stops = lane > at && (lane >= num_rows || (wide >> lane & 1) || end - base > STAGED);
        const uint32_t stopping = __ballot_sync(FULL_WARP, stops);
        const int stop = stopping ? __ffs(stopping) - 1 : num_rows;
        stage(now, base, (int)(__shfl_sync(FULL_WARP, end, stop - 1) - base), staged);
        int lanes = 32;
        while (lanes * (stop - at) > 32) {
            lanes >>= 1;
        }
        const int owner = at + lane / lanes;
        const int from = (int)(__shfl_sync(FULL_WARP, first, owner & 31) - base);
        const int end_of_row = (int)(__shfl_sync(FULL_WARP, end, owner & 31) - base);
        const int to = owner < stop ? end_of_row : from;
        double sum = 0;
        for (int k = from + lane % lanes; k < to; k += lanes) {
            sum += staged[k];
        }
        sum = sum_of_group(sum, lanes);
        if (owner < stop && lane % lanes == 0) {
            settle(now, tile * 32 + owner, sum, sums);
        }
        __syncwarp();
        at = stop;
    }
}

/* Tiles of narrow rows, as warps come for them. */
__device__ void pull_tiles(const Iteration& now, uint64_t* dealt, float* staged, Sums& sums) {
    const int64_t tiles = (now.num_rows + 31) / 32;
    for (;;) {
        int64_t tile = 0;
        if ((threadIdx.x & 31) == 0) {
            tile = (int64_t)atomicAdd(dealt, (uint64_t)TILES);
        }
        tile = __shfl_sync(FULL_WARP, tile, 0);
        if (tile >= tiles) {
            return;
        }
        for (const int64_t end = min(tile + TILES, tiles); tile < end; ++tile) {
            pull_tile(now, tile, staged, sums);
        }
    }
}

/* Add the sums of all lanes. */
__device__ void publish(const Sums& sums, Turn* turn) {
    uint64_t change = sums.change, dangling = sums.dangling;
    for (int step = 16; step > 0; step >>= 1) {
        change += __shfl_xor_sync(FULL_WARP, change, step);
        dangling += __shfl_xor_sync(FULL_WARP, dangling, step);
    }
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&turn->change, change);
        atomicAdd(&turn->dangling, dangling);
    }
}

/* Equal ranks, and their shares. */
__device__ void start(const Iteration& now, Turn* turn) {
    const double rank = 1.0 / (double)now.num_rows;
    Sums sums{};
    for (int64_t row = global_thread(); row < now.num_rows; row += num_threads()) {
        const int64_t degree = now.out_offsets[row + 1] - now.out_offsets[row];
        now.ranks[row] = rank;
        now.shares[row] = degree ? (float)(rank / (double)degree) : 0.0f;
        sums.dangling += degree ? 0 : (uint64_t)(rank * UNIT);
    }
    publish(sums, turn);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) iterate(
    const int64_t* out_offsets, const int64_t* in_offsets, const ROW* in_indices, const ROW* block_rows, int64_t num_block_rows,
    const ROW* warp_rows, int64_t num_warp_rows, int64_t num_rows, int64_t num_hot, double damping, double tolerance,
    int64_t most_iterations, float* shares, float* next_shares, double* ranks, Control* control) {
    extern __shared__ float staged[];
    float* hot_shares = staged + THREADS / 32 * STAGED;
    Iteration now{out_offsets, in_offsets, in_indices, num_rows, shares, next_shares, hot_shares, (ROW)num_hot, ranks, 0,
                  damping};
    start(now, control->turns);
    grid_barrier((uint32_t*)&control->barrier);
    int64_t iteration = 0;
    for (double change = 1e300; change >= tolerance && iteration < most_iterations; ++iteration) {
        Turn* turn = control->turns + (iteration + 1) % 3;
        if (global_thread() == 0) {
            control->turns[(iteration + 2) % 3] = Turn{};
        }
        const double lost = (double)__ldcg(&control->turns[iteration % 3].dangling) / UNIT;
        now.base = (1.0 - damping + damping * lost) / (double)num_rows;
        for (int64_t row = threadIdx.x; row < num_hot; row += THREADS) {
            hot_shares[row] = now.shares[row];
        }
        __syncthreads();
        Sums sums{};
        pull_block_rows(now, block_rows, num_block_rows, sums);
        pull_warp_rows(now, warp_rows, num_warp_rows, sums);
        pull_tiles(now, &turn->dealt, staged + (threadIdx.x >> 5) * STAGED, sums);
        publish(sums, turn);
        grid_barrier((uint32_t*)&control->barrier);
        change = (double)__ldcg(&turn->change) / UNIT;
        if (global_thread() == 0) {
            control->change = change;
            control->iterations = (uint64_t)iteration + 1;
        }
        float* other = now.next_shares;
        now.next_shares = now.shares;
        now.shares = other;
    }
}
