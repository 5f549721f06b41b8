/* Shared by all kernels: integer types, the barrier of a cooperative grid, sums over warps, appending to queues, binary search.

   No CUDA header is included, so that NVRTC compiles every source without a CUDA toolkit. */
#pragma once

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

#define FULL_WARP 0xffffffffu

__device__ __forceinline__ uint32_t load_acquire(const uint32_t* address) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

/* All threads of a cooperative launch wait for each other; writes before it are visible after it.
   `barrier` is one word, zero before the first launch that uses it; every completed barrier flips its top bit and leaves the
   rest zero, so it needs no reset. This is the method of grid.sync of cooperative groups. */
__device__ __forceinline__ void grid_barrier(uint32_t* barrier) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t arrive = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
        __threadfence();
        const uint32_t before = atomicAdd(barrier, arrive);
        while (((load_acquire(barrier) ^ before) & 0x80000000u) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

__device__ __forceinline__ int64_t global_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ int64_t num_threads() { return (int64_t)gridDim.x * blockDim.x; }

#define ROWS_AT_ONCE 4

/* Call `visit(row, loaded)` for the rows below `count`, with what `load(row)` returned. A thread loads several rows before it
   visits the first of them, so that it waits for all of these together. */
template <typename Load, typename Visit>
__device__ __forceinline__ void for_rows(int64_t count, Load load, Visit visit) {
    const int64_t step = num_threads();
    for (int64_t row = global_thread(); row < count; row += ROWS_AT_ONCE * step) {
        decltype(load(row)) loaded[ROWS_AT_ONCE];
#pragma unroll
        for (int k = 0; k < ROWS_AT_ONCE; ++k) {
            loaded[k] = load(row + k * step < count ? row + k * step : row);
        }
#pragma unroll
        for (int k = 0; k < ROWS_AT_ONCE; ++k) {
            if (row + k * step < count) {
                visit(row + k * step, loaded[k]);
            }
        }
    }
}

/* Reserve an element at the end of a queue for each calling lane, with one atomic per group of converged lanes; all of these pass
   the same queue. Lanes in other iterations of a loop may be among them: if iterations have their own queues, use
   `append_of_warp`. */
template <typename Count>
__device__ __forceinline__ Count append(Count* length) {
    const uint32_t lanes = __activemask();
    const int lane = threadIdx.x & 31;
    const int leader = __ffs(lanes) - 1;
    Count first = 0;
    if (lane == leader) {
        first = atomicAdd(length, (Count)__popc(lanes));
    }
    first = __shfl_sync(lanes, first, leader);
    return first + __popc(lanes & ((1u << lane) - 1));
}

/* Reserve an element for each lane with `adds`; all lanes of the warp call it, with the same queue. */
__device__ __forceinline__ uint64_t append_of_warp(uint64_t* length, bool adds) {
    const uint32_t lanes = __ballot_sync(FULL_WARP, adds);
    const int lane = threadIdx.x & 31;
    uint64_t first = 0;
    if (lane == 0 && lanes) {
        first = atomicAdd(length, (uint64_t)__popc(lanes));
    }
    return __shfl_sync(FULL_WARP, first, 0) + __popc(lanes & ((1u << lane) - 1));
}

/* Copy an element of 4 or 8 bytes; 0 bytes mean that there are no arrays. */
__device__ __forceinline__ void copy_element(const void* values, int bytes, int64_t from, void* out, int64_t to) {
    if (bytes == 4) {
        ((uint32_t*)out)[to] = ((const uint32_t*)values)[from];
    } else if (bytes == 8) {
        ((uint64_t*)out)[to] = ((const uint64_t*)values)[from];
    }
}

/* Atomically replace what is at `place` if it is `expected`; return what was there. */
__device__ __forceinline__ int32_t swap_if(int32_t* place, int32_t expected, int32_t value) {
    return atomicCAS(place, expected, value);
}

__device__ __forceinline__ int64_t swap_if(int64_t* place, int64_t expected, int64_t value) {
    return (int64_t)atomicCAS((unsigned long long*)place, (unsigned long long)expected, (unsigned long long)value);
}

__device__ __forceinline__ unsigned short swap_if(unsigned short* place, unsigned short expected, unsigned short value) {
    return atomicCAS(place, expected, value);
}

/* Sum of the values of this lane and lower ones; all lanes of the warp call it. */
template <typename Value>
__device__ __forceinline__ Value sum_up_to_lane(Value value) {
    for (int step = 1; step < 32; step <<= 1) {
        const Value lower = __shfl_up_sync(FULL_WARP, value, step);
        value += (threadIdx.x & 31) >= step ? lower : 0;
    }
    return value;
}

/* How many lower threads of the block `keep`, and in `total` how many of all. All threads call it, with the same
   shared memory; it may be used again behind a barrier. */
template <int Warps>
__device__ __forceinline__ int kept_before(bool keep, int (&of_warps)[Warps], int& total) {
    const uint32_t lanes = __ballot_sync(FULL_WARP, keep);
    if ((threadIdx.x & 31) == 0) {
        of_warps[threadIdx.x / 32] = __popc(lanes);
    }
    __syncthreads();
    int before = __popc(lanes & ((1u << (threadIdx.x & 31)) - 1));
    total = 0;
    for (int warp = 0; warp < Warps; ++warp) {
        before += warp < threadIdx.x / 32 ? of_warps[warp] : 0;
        total += of_warps[warp];
    }
    return before;
}

/* Sum of the values of all lanes, in all lanes. */
template <typename Value>
__device__ __forceinline__ Value sum_of_warp(Value value) {
    for (int step = 16; step > 0; step >>= 1) {
        value += __shfl_xor_sync(FULL_WARP, value, step);
    }
    return value;
}

/* The first of `begin..end-1` that does not come `before`, or the end; those before come first. */
template <typename Before>
__device__ __forceinline__ int64_t first_not(int64_t begin, int64_t end, Before before) {
    while (begin < end) {
        const int64_t middle = (begin + end) >> 1;
        if (before(middle)) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

/* Index of `value` in an ascending range, or the end. */
template <typename Value>
__device__ __forceinline__ int64_t find(const Value* values, int64_t begin, int64_t end, Value value) {
    const int64_t place = first_not(begin, end, [=](int64_t i) { return values[i] < value; });
    return place < end && values[place] == value ? place : end;
}
