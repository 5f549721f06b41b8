/* `compute`, `filter` and `reduce`: a user function for every row of a frontier. The generated text in front of this file defines
   `vertex::call`, CAPTURED_PARAMETERS and CAPTURED_VALUES. */
#include "operators/gpu/frontiers.cuh"
#include "operators/gpu/orders.cuh"

#define FRONTIER const ROW *rows, const uint32_t *active, int64_t items

/* The row of an item, or -1 if it is not in the frontier. */
__device__ __forceinline__ int64_t row_of(const ROW* rows, const uint32_t* active, int64_t item) {
#if INPUT == SPARSE
    return rows[item];
#elif INPUT == DENSE
    return has_bit(active, item) ? item : -1;
#else
    return item;
#endif
}

/* Call the function for a row; without a row nothing happens. */
#define CALL(row, result)                                                                                            \
    if (row >= 0) {                                                                                                  \
        Failure failure = no_failure(record, launch, row);                                                           \
        result = vertex::call(row, NEEDS_DEGREE ? offsets[row + 1] - offsets[row] : 0, functions.vertex_, failure);  \
        settle(failure, 0, -1);                                                                                      \
    }

/* Call it for BATCH items, `step` apart, and report afterwards, so that what the calls read is on its way at the same time. */
#define CALL_BATCH(first, end, step, results)                                                                        \
    Failure failures[BATCH];                                                                                         \
    int64_t batch[BATCH];                                                                                            \
    int failed_at = -1;                                                                                              \
    _Pragma("unroll") for (int k = 0; k < BATCH; ++k) {                                                              \
        const int64_t at = first + k * (step);                                                                       \
        batch[k] = at < end ? row_of(rows, active, at) : -1;                                                         \
    }                                                                                                                \
    _Pragma("unroll") for (int k = 0; k < BATCH; ++k) {                                                              \
        failures[k] = no_failure(record, launch, batch[k]);                                                          \
        if (batch[k] >= 0) {                                                                                         \
            const int64_t degree = NEEDS_DEGREE ? offsets[batch[k] + 1] - offsets[batch[k]] : 0;                     \
            results[k] = vertex::call(batch[k], degree, functions.vertex_, failures[k]);                             \
        }                                                                                                            \
        failed_at = failed_at < 0 && failures[k].site > 0 ? k : failed_at;                                           \
    }                                                                                                                \
    if (failed_at >= 0) {                                                                                            \
        report(chosen(failures, failed_at), 0, -1);                                                                  \
    }

#if defined(COMPUTES)
extern "C" __global__ void __launch_bounds__(THREADS) compute(
    FRONTIER, const int64_t* offsets, int64_t* record, int64_t launch CAPTURED_PARAMETERS) {
    CAPTURED_VALUES
    for (int64_t item = global_thread(); item < items; item += BATCH * num_threads()) {
        TOTAL ignored[BATCH];
        CALL_BATCH(item, items, num_threads(), ignored)
    }
}

#elif defined(FILTERS)
/* For all rows, or for flags: every warp writes whole words. */
extern "C" __global__ void __launch_bounds__(THREADS) filter_words(
    FRONTIER, const int64_t* offsets, int64_t* record, int64_t launch, uint32_t* bits, uint64_t* size CAPTURED_PARAMETERS) {
    CAPTURED_VALUES
    __shared__ uint32_t of_warps[THREADS / 32];
    uint32_t holding = 0;
    for (int64_t item = global_thread(); item - (threadIdx.x & 31) < items; item += BATCH * num_threads()) {
        TOTAL holds[BATCH] = {};
        CALL_BATCH(item, items, num_threads(), holds)
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const int64_t at = item + k * num_threads();
            const uint32_t word = __ballot_sync(FULL_WARP, holds[k] != 0);
            if ((threadIdx.x & 31) == 0 && at < items) {
                bits[at >> 5] = word;
                holding += __popc(word);
            }
        }
    }
    if ((threadIdx.x & 31) == 0) {
        of_warps[threadIdx.x >> 5] = holding;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        uint64_t all = 0;
        for (int warp = 0; warp < THREADS / 32; ++warp) {
            all += of_warps[warp];
        }
        atomicAdd(size, all);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) filter_list(
    FRONTIER, const int64_t* offsets, int64_t* record, int64_t launch, uint32_t* bits, uint64_t* size, ROW* queue,
    int64_t capacity CAPTURED_PARAMETERS) {
    CAPTURED_VALUES
    const Found found{bits, queue, capacity, size};
    for (int64_t item = global_thread(); item < items; item += num_threads()) {
        const int64_t row = row_of(rows, active, item);
        TOTAL holds = 0;
        CALL(row, holds)
        if (holds) {
            enter(found, row);
        }
    }
}

#else
/* Combine the values of chunks of CHUNK items, then the chunks' results in the same way until one is left, which the block that
   ends last does. `parts` has an entry for each chunk, for each chunk of chunks, and so on. The result is written to words[0];
   words[1] is zero, and is zero again afterwards. */
extern "C" __global__ void __launch_bounds__(THREADS) reduce(
    FRONTIER, const int64_t* offsets, int64_t* record, int64_t launch, TOTAL start, TOTAL* parts,
    int64_t* words CAPTURED_PARAMETERS) {
    CAPTURED_VALUES
    __shared__ bool last;
    const int lane = threadIdx.x & 31;
    for (int64_t chunk = global_thread() >> 5; chunk * CHUNK < items; chunk += num_threads() >> 5) {
        TOTAL total = start;
        const int64_t end = (chunk + 1) * CHUNK < items ? (chunk + 1) * CHUNK : items;
        for (int64_t item = chunk * CHUNK + lane; item < end; item += 32 * BATCH) {
            TOTAL values[BATCH];
            CALL_BATCH(item, end, 32, values)
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                total = batch[k] >= 0 ? combine(total, values[k]) : total;
            }
        }
        __syncwarp();
        total = combine_lanes(total);
        if (lane == 0) {
            parts[chunk] = total;
        }
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd((uint32_t*)&words[1], 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) {
        return;
    }
    __threadfence();
    TOTAL* from = parts;
    for (int64_t left = (items + CHUNK - 1) / CHUNK; left > 1;) {
        const int64_t chunks = (left + CHUNK - 1) / CHUNK;
        for (int64_t chunk = threadIdx.x >> 5; chunk < chunks; chunk += THREADS / 32) {
            TOTAL total = start;
            for (int64_t item = chunk * CHUNK + lane; item < left && item < (chunk + 1) * CHUNK; item += 32) {
                total = combine(total, __ldcg(from + item));
            }
            __syncwarp();
            total = combine_lanes(total);
            if (lane == 0) {
                from[left + chunk] = total;
            }
        }
        __syncthreads();
        from += left;
        left = chunks;
    }
    if (threadIdx.x == 0) {
        words[1] = 0;
        *(TOTAL*)words = __ldcg(from);
    }
}
#endif
