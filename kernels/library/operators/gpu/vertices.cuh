/* `compute`, `filter` and `reduce`: a user function for every row of a frontier. The generated text in front of this file defines
   `vertex::call`, CAPTURED_PARAMETERS and CAPTURED_VALUES. */
#include "gpu/look_back.cuh"
#include "library/operators/gpu/frontiers.cuh"
#include "library/operators/gpu/headers/orders.cuh"

#define PARAMETERS \
    const ROW *rows, const uint32_t *active, int64_t count, const int64_t *offsets, int64_t *record, int64_t launch
#define VALUES      \
    CAPTURED_VALUES \
    const Items items{rows, active, count, offsets, record, launch, functions};

/* The items of a frontier: its list of rows, or all rows, which `active` may choose from. */
struct Items {
    const ROW* rows;
    const uint32_t* active;
    int64_t count;
    const int64_t* offsets;
    int64_t* record;
    int64_t launch;
    Functions functions;
};

/* The row of an item, or -1 if it is not in the frontier. */
__device__ __forceinline__ int64_t row_of(const Items& items, int64_t item) {
#if INPUT == SPARSE
    return items.rows[item];
#elif INPUT == DENSE
    return has_bit(items.active, item) ? item : -1;
#else
    return item;
#endif
}

/* Call the function for SIZE items, 32 apart, and report afterwards, so that what the calls read is on its way at the same time.
   WHOLE: no item is at the end or behind it. `called` tells for which items there is a result. */
template <int SIZE, bool WHOLE>
__device__ __forceinline__ void call_batch(const Items& items, int64_t first, int64_t end, TOTAL* results, bool* called) {
    Failure failures[SIZE];
    int64_t batch[SIZE];
#pragma unroll
    for (int k = 0; k < SIZE; ++k) {
        batch[k] = WHOLE || first + 32 * k < end ? row_of(items, first + 32 * k) : -1;
    }
    int failed_at = -1;
    int64_t row = 0;
#pragma unroll
    for (int k = 0; k < SIZE; ++k) {
        failures[k] = no_failure(items.record, items.launch, batch[k]);
        called[k] = (WHOLE && INPUT != DENSE) || batch[k] >= 0;
        if (called[k]) {
            const int64_t degree = NEEDS_DEGREE ? items.offsets[batch[k] + 1] - items.offsets[batch[k]] : 0;
            results[k] = vertex::call(batch[k], degree, items.functions.vertex_, failures[k]);
        }
        if (failures[k].site > 0 && (failed_at < 0 || (INPUT == SPARSE && batch[k] < row))) {
            failed_at = k;
            row = batch[k];
        }
    }
    if (failed_at >= 0) { /* the smallest row of the batch: a list is not sorted */
        report(chosen(failures, failed_at), 0, -1);
    }
}

__device__ __forceinline__ void call_warp(const Items& items, int64_t begin, int64_t end, TOTAL* results, bool* called) {
    const int64_t first = begin + (threadIdx.x & 31);
    if (begin + 32 * BATCH <= end) {
        call_batch<BATCH, true>(items, first, end, results, called);
    } else {
        call_batch<BATCH, false>(items, first, end, results, called);
    }
}

__device__ __forceinline__ int64_t global_warp() { return global_thread() >> 5; }

__device__ __forceinline__ int64_t num_warps() { return num_threads() >> 5; }

#if defined(COMPUTES)
extern "C" __global__ void __launch_bounds__(THREADS) compute(PARAMETERS CAPTURED_PARAMETERS) {
    VALUES
    for (int64_t begin = global_warp() * 32 * BATCH; begin < count; begin += num_warps() * 32 * BATCH) {
        TOTAL ignored[BATCH];
        bool called[BATCH];
        call_warp(items, begin, count, ignored, called);
    }
}

#elif defined(FILTERS)
/* List the rows of the words that a warp wrote, from `place` on. */
__device__ __forceinline__ void list_words(const uint32_t* bits, int64_t count, ROW* queue, int64_t place, int64_t capacity) {
    const int lane = threadIdx.x & 31;
    const int64_t stride = num_warps() * 32 * BATCH;
    for (int64_t begin = global_warp() * 32 * BATCH; begin < count; begin += stride * (32 / BATCH)) {
        const int64_t row = begin + lane / BATCH * stride + 32 * (lane % BATCH);
        uint32_t left = row < count ? bits[row >> 5] : 0;
        const int before = sum_up_to_lane(__popc(left));
        for (int64_t at = place + before - __popc(left); left && at < capacity; left &= left - 1) {
            queue[at++] = (ROW)(row + __ffs((int)left) - 1);
        }
        place += __shfl_sync(FULL_WARP, before, 31);
    }
}

/* For all rows, or for flags: every warp writes whole words. Afterwards a block lists its rows, unless it has more than its share
   of the list: size[1] is the number of rows that are listed. */
extern "C" __global__ void __launch_bounds__(THREADS) filter_words(
    PARAMETERS, uint32_t* bits, uint64_t* size, ROW* queue, int64_t capacity CAPTURED_PARAMETERS) {
    VALUES
    __shared__ uint32_t of_warps[THREADS / 32];
    __shared__ int64_t first;
    const int lane = threadIdx.x & 31;
    uint32_t holding = 0;
    for (int64_t begin = global_warp() * 32 * BATCH; begin < count; begin += num_warps() * 32 * BATCH) {
        TOTAL holds[BATCH] = {};
        bool called[BATCH];
        call_warp(items, begin, count, holds, called);
        __syncwarp();
        uint32_t word = 0; /* lane k's is that of rows begin + 32 k and on */
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const uint32_t found = __ballot_sync(FULL_WARP, holds[k] != 0);
            word = lane == k ? found : word;
        }
        if (lane < BATCH && begin + 32 * lane < count) {
            bits[(begin >> 5) + lane] = word;
            holding += __popc(word);
        }
    }
    holding = sum_of_warp(holding);
    if (lane == 0) {
        of_warps[threadIdx.x >> 5] = holding;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t all = 0;
        for (int warp = 0; warp < THREADS / 32; ++warp) {
            const uint32_t mine = of_warps[warp];
            of_warps[warp] = all;
            all += mine;
        }
        atomicAdd(size, (uint64_t)all);
        first = all && all <= 64 + 2 * capacity / gridDim.x ? (int64_t)atomicAdd(size + 1, (uint64_t)all) : capacity;
    }
    __syncthreads();
    if (first < capacity) {
        list_words(bits, count, queue, first + of_warps[threadIdx.x >> 5], capacity);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) filter_list(
    PARAMETERS, uint32_t* bits, uint64_t* size, ROW* queue, int64_t capacity CAPTURED_PARAMETERS) {
    VALUES
    const Found found{bits, queue, capacity, size, false};
    for (int64_t begin = global_warp() * 32 * BATCH; begin < count; begin += num_warps() * 32 * BATCH) {
        TOTAL holds[BATCH] = {};
        bool called[BATCH];
        call_warp(items, begin, count, holds, called);
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            if (holds[k]) {
                enter(found, rows[begin + 32 * k + (threadIdx.x & 31)]);
            }
        }
    }
}

#else
#define PART_WORDS ((int)sizeof(TOTAL) / 4)

/* A part of a result: its halves, each with the number of the launch, by which a thread that waits knows that it is there. */
struct Part {
    union {
        TOTAL value;
        uint32_t halves[PART_WORDS];
    };
};

__device__ __forceinline__ void publish(uint64_t* parts, int64_t place, TOTAL value, uint32_t number) {
    Part part;
    part.value = value;
    for (int half = 0; half < PART_WORDS; ++half) {
        store_relaxed(parts + PART_WORDS * place + half, ((uint64_t)number << 32) | part.halves[half]);
    }
}

/* Wait for the parts `begin..end - 1`, at most CHUNK, and combine them; by a warp. */
__device__ __forceinline__ TOTAL combine_parts(
    const uint64_t* parts, int64_t begin, int64_t end, TOTAL start, uint32_t number) {
    TOTAL total = start;
    for (int64_t first = begin + (threadIdx.x & 31); begin < end; begin += 32 * PART_BATCH, first += 32 * PART_BATCH) {
        Part batch[PART_BATCH];
        bool there;
        do {
            there = true;
#pragma unroll
            for (int k = 0; k < PART_BATCH; ++k) {
                for (int half = 0; half < PART_WORDS; ++half) {
                    const uint64_t* word = parts + PART_WORDS * (first + 32 * k) + half;
                    const uint64_t found = first + 32 * k < end ? load_relaxed(word) : (uint64_t)number << 32;
                    batch[k].halves[half] = (uint32_t)found;
                    there &= found >> 32 == number;
                }
            }
        } while (!__all_sync(FULL_WARP, there));
#pragma unroll
        for (int k = 0; k < PART_BATCH; ++k) {
            total = first + 32 * k < end ? combine(total, batch[k].value) : total;
        }
    }
    __syncwarp();
    return combine_lanes(total);
}

/* Combine the values of items `begin..end - 1`, at most CHUNK; each lane has its own. */
__device__ __forceinline__ TOTAL combine_items(const Items& items, int64_t begin, int64_t end, TOTAL total) {
    for (; begin + 32 * BATCH <= end; begin += 32 * BATCH) {
        TOTAL values[BATCH];
        bool called[BATCH];
        call_batch<BATCH, true>(items, begin + (threadIdx.x & 31), end, values, called);
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            total = called[k] ? combine(total, values[k]) : total;
        }
    }
    for (; begin < end; begin += 32) {
        TOTAL value[1];
        bool called[1];
        call_batch<1, false>(items, begin + (threadIdx.x & 31), end, value, called);
        total = called[0] ? combine(total, value[0]) : total;
    }
    __syncwarp();
    return total;
}

/* Combine the values of chunks of CHUNK items, then the chunks' results in the same way until one is left. The last block does
   that while the others combine items, and waits for their parts. FREE: the order does not matter, and the parts are those of
   blocks. `parts` has an entry for each chunk, for each chunk of chunks, and so on; no word has this launch's number before. */
extern "C" __global__ void __launch_bounds__(REDUCE_THREADS, sizeof(TOTAL) == 4 && INPUT != DENSE ? 2 : 1) reduce(
    PARAMETERS, TOTAL start, uint64_t* parts, TOTAL* result CAPTURED_PARAMETERS) {
    VALUES
    __shared__ TOTAL few[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = REDUCE_THREADS / 32;
    const int64_t others = gridDim.x > 1 ? gridDim.x - 1 : 1; /* blocks that combine items */
    const uint32_t number = (uint32_t)launch;
    if (blockIdx.x < others) {
        TOTAL total = start;
        for (int64_t chunk = global_warp(); chunk * CHUNK < count; chunk += others * warps) {
            const int64_t end = (chunk + 1) * CHUNK < count ? (chunk + 1) * CHUNK : count;
            total = combine_items(items, chunk * CHUNK, end, FREE ? total : start);
            if (!FREE) {
                total = combine_lanes(total);
                if (lane == 0) {
                    publish(parts, chunk, total, number);
                }
            }
        }
        if (FREE) {
            few[warp] = combine_lanes(total);
            __syncthreads();
            total = combine_lanes(lane < warps ? few[lane] : start);
            if (threadIdx.x == 0) {
                publish(parts, blockIdx.x, total, number);
            }
            __syncthreads();
        }
    }
    if (blockIdx.x < gridDim.x - 1) {
        return;
    }
    int64_t left = FREE ? others : (count + CHUNK - 1) / CHUNK, chunks;
    for (;; parts += PART_WORDS * left, left = chunks) {
        chunks = (left + CHUNK - 1) / CHUNK;
        for (int64_t chunk = warp; chunk < chunks; chunk += warps) {
            const int64_t end = (chunk + 1) * CHUNK < left ? (chunk + 1) * CHUNK : left;
            const TOTAL total = combine_parts(parts, chunk * CHUNK, end, start, number);
            if (lane == 0 && chunks <= 32) {
                few[chunk] = total;
            } else if (lane == 0) {
                publish(parts + PART_WORDS * left, chunk, total, number);
            }
        }
        if (chunks <= 32) {
            break;
        }
    }
    __syncthreads();
    const TOTAL total = combine_lanes(lane < chunks ? combine(start, few[lane]) : start);
    if (threadIdx.x == 0) {
        *result = total;
    }
}
#endif
