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
#define CALL(row, record, launch, result)                                                                    \
    if (row >= 0) {                                                                                          \
        Failure failure = no_failure(record, launch, row);                                                   \
        result = vertex::call(row, NEEDS_DEGREE ? offsets[row + 1] - offsets[row] : 0, functions.vertex_, failure); \
        settle(failure, 0, -1);                                                                              \
    }

#if defined(COMPUTES)
extern "C" __global__ void __launch_bounds__(THREADS) compute(
    FRONTIER, const int64_t* offsets, int64_t* record, int64_t launch CAPTURED_PARAMETERS) {
    CAPTURED_VALUES
    for (int64_t item = global_thread(); item < items; item += num_threads()) {
        const int64_t row = row_of(rows, active, item);
        TOTAL ignored;
        CALL(row, record, launch, ignored)
    }
}

#elif defined(FILTERS)
/* For all rows, or for flags: every warp writes whole words. */
extern "C" __global__ void __launch_bounds__(THREADS) filter_words(
    FRONTIER, const int64_t* offsets, int64_t* record, int64_t launch, uint32_t* bits, uint64_t* size CAPTURED_PARAMETERS) {
    CAPTURED_VALUES
    __shared__ uint32_t of_warps[THREADS / 32];
    uint32_t holding = 0;
    for (int64_t item = global_thread(); item - (threadIdx.x & 31) < items; item += num_threads()) {
        const int64_t row = item < items ? row_of(rows, active, item) : -1;
        TOTAL holds = 0;
        CALL(row, record, launch, holds)
        const uint32_t word = __ballot_sync(FULL_WARP, holds != 0);
        if ((threadIdx.x & 31) == 0) {
            bits[item >> 5] = word;
            holding += __popc(word);
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
        CALL(row, record, launch, holds)
        if (holds) {
            enter(found, row);
        }
    }
}

#else
/* Combine the values of chunks of CHUNK items, then the chunks' results in the same way until one is left, which the block that
   ends last does. `parts` has an entry for each chunk, for each chunk of chunks, and so on; the result is the last one.
   `ended` is zero, and is zero again afterwards. */
extern "C" __global__ void __launch_bounds__(THREADS) reduce(
    FRONTIER, const int64_t* offsets, int64_t* record, int64_t launch, TOTAL start, TOTAL* parts,
    uint32_t* ended CAPTURED_PARAMETERS) {
    CAPTURED_VALUES
    __shared__ bool last;
    const int lane = threadIdx.x & 31;
    for (int64_t chunk = global_thread() >> 5; chunk * CHUNK < items; chunk += num_threads() >> 5) {
        TOTAL total = start;
        const int64_t end = (chunk + 1) * CHUNK < items ? (chunk + 1) * CHUNK : items;
#pragma unroll 4
        for (int64_t item = chunk * CHUNK + lane; item < end; item += 32) {
            const int64_t row = row_of(rows, active, item);
            TOTAL value = start;
            CALL(row, record, launch, value)
            if (row >= 0) {
                total = combine(total, value);
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
        last = atomicAdd(ended, 1u) == gridDim.x - 1;
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
        *ended = 0;
    }
}
#endif
