/* Sets of rows as bits: from lists, and back; lists divided by degree, and the lanes of short rows. ROW is the type of a row. */
#include "library/operators/gpu/frontiers.cuh"

extern "C" __global__ void set_bits(const ROW* rows, int64_t size, uint32_t* bits) {
    for (int64_t item = global_thread(); item < size; item += num_threads()) {
        const int64_t row = rows[item];
        atomicOr(&bits[row >> 5], 1u << (row & 31));
    }
}

/* Number of bits in each 32 words: a warp counts them. */
extern "C" __global__ void count_bits(const uint32_t* bits, int64_t words, int64_t* counts) {
    const int lane = threadIdx.x & 31;
    for (int64_t group = global_thread() >> 5; group * 32 < words; group += num_threads() >> 5) {
        const int64_t word = group * 32 + lane;
        const int count = sum_of_warp(word < words ? __popc(bits[word]) : 0);
        if (lane == 0) {
            counts[group] = count;
        }
    }
}

/* List the rows in ascending order; `ends[g]` is the number of bits up to the end of group g. */
extern "C" __global__ void list_bits(const uint32_t* bits, int64_t words, const int64_t* ends, ROW* rows) {
    const int lane = threadIdx.x & 31;
    for (int64_t group = global_thread() >> 5; group * 32 < words; group += num_threads() >> 5) {
        const int64_t word = group * 32 + lane;
        uint32_t left = word < words ? bits[word] : 0;
        int64_t place = (group ? ends[group - 1] : 0) + sum_up_to_lane(__popc(left)) - __popc(left);
        for (; left; left &= left - 1) {
            rows[place++] = (ROW)(32 * word + __ffs((int)left) - 1);
        }
    }
}

/* Count the bits that are set into `size`, and list the first `capacity` of them that blocks reserve space for. */
extern "C" __global__ void list_marked(const uint32_t* bits, int64_t words, uint64_t* size, ROW* queue, int64_t capacity) {
    __shared__ int of_warps[THREADS / 32];
    __shared__ int64_t first;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int64_t begin = (int64_t)blockIdx.x * MARKED_WORDS * THREADS + threadIdx.x;
    uint32_t left[MARKED_WORDS];
    int mine = 0;
#pragma unroll
    for (int k = 0; k < MARKED_WORDS; ++k) {
        left[k] = begin + k * THREADS < words ? bits[begin + k * THREADS] : 0;
        mine += __popc(left[k]);
    }
    const int up_to = sum_up_to_lane(mine);
    if (lane == 31) {
        of_warps[warp] = up_to;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int all = 0;
        for (int each = 0; each < THREADS / 32; ++each) {
            const int of_warp = of_warps[each];
            of_warps[each] = all;
            all += of_warp;
        }
        first = all ? (int64_t)atomicAdd(size, (uint64_t)all) : capacity;
    }
    __syncthreads();
    int64_t place = first + of_warps[warp] + up_to - mine;
#pragma unroll
    for (int k = 0; k < MARKED_WORDS; ++k) {
        for (; left[k] && place < capacity; left[k] &= left[k] - 1) {
            queue[place++] = (ROW)(32 * (begin + k * THREADS) + __ffs((int)left[k]) - 1);
        }
    }
}

/* Divide the rows of a list by their degrees: group g of GROUPS is written from `g * size` on; bounds[g] says so, and
   bounds[GROUPS + g], zero before, is its length. */
extern "C" __global__ void divide(const ROW* rows, int64_t size, const int64_t* offsets, ROW* listed, int64_t* bounds) {
    const int lane = threadIdx.x & 31;
    if (global_thread() < GROUPS) {
        bounds[global_thread()] = global_thread() * size;
    }
    for (int64_t item = global_thread(); item - lane < size; item += num_threads()) {
        const int64_t row = item < size ? rows[item] : 0;
        const int group = item < size ? group_of(offsets[row + 1] - offsets[row]) : -1;
        for (int each = 0; each < GROUPS; ++each) {
            if (__any_sync(FULL_WARP, group == each)) {
                const uint64_t place = append_of_warp((uint64_t*)&bounds[GROUPS + each], group == each);
                if (group == each) {
                    listed[each * size + place] = (ROW)row;
                }
            }
        }
    }
}

/* A warp fills a segment: rows of fewer than 32 arcs are lanes, arc k of lane i is at `segment + 32 k + i`. Lanes are padded with
   their own row, lanes beyond the last row with that; `lane_weights` holds zeros before, which remain in the padding. */
extern "C" __global__ void __launch_bounds__(THREADS, 4)
fill_lanes(const int64_t* offsets, int64_t num_rows, const ROW* indices, const void* weights, int weight_bytes,
           const int64_t* segments, int64_t num_segments, int64_t first_lane, ROW* lanes, void* lane_weights) {
    const int lane = threadIdx.x & 31;
    for (int64_t segment = global_thread() / 32; segment < num_segments; segment += num_threads() / 32) {
        const int64_t row = first_lane + 32 * segment + lane, last = num_rows - 1;
        const int64_t first = row <= last ? offsets[row] : 0, found = row <= last ? offsets[row + 1] - first : 0;
        const int64_t degree = found < WARP_DEGREE ? found : 0, start = segments[segment] + lane;
        const ROW padding = (ROW)min(row, last);
        const int64_t width = (segments[segment + 1] - segments[segment]) / 32;
        for (int64_t k = 0; k < width; ++k) {
            lanes[start + 32 * k] = k < degree ? indices[first + k] : padding;
            if (k < degree) {
                copy_element(weights, weight_bytes, first + k, lane_weights, start + 32 * k);
            }
        }
    }
}
