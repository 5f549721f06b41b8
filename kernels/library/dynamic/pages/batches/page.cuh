/* A page in shared memory, of which a block has one: loading it, and writing the words that move.

   WEIGHT is the type of weights, PAGE_BLOCKS the number of blocks of a processor, which its registers must allow.
   HEADER_WORDS, MOST_WORDS, PAGE_THREADS: ../constants.py. */
#pragma once

#include "library/dynamic/pages/batches/batches.cuh"

#define WARPS (PAGE_THREADS / 32)
#define ROWS (MOST_WORDS / 32) /* of the words of the largest page */

/* A page in shared memory. */
struct Loaded {
    int32_t* page; /* in the pool */
    WEIGHT* weights;
    int* old; /* its words */
    WEIGHT* old_weights;
    int* shifts;
    int* sums; /* of rows of 32 shifts, then of all rows up to each */
    int size, count, end;
    __device__ int start(int slot) const { return old[size - 2 - 2 * slot]; }
    __device__ int behind(int slot) const { return slot + 1 < count ? start(slot + 1) : end; }
    /* Note that the words from `word` on move. The notes of a page have one sign. */
    __device__ void note(int word, int by) const {
        atomicAdd(&shifts[word], by);
        atomicAdd(&sums[word / 32], by);
    }
    __device__ int shift(int word) const { return shifts[word] + (word < 32 ? 0 : sums[word / 32 - 1]); }
};

__device__ Loaded load(const Pages& pages, int64_t number, uint64_t* memory, int* sums) {
    const int size = pages.size;
    int* const old = (int*)(pages.weights ? memory + size : memory);
    Loaded loaded{pages.words(number), pages.weights ? pages.weights_of(number) : nullptr, old, (WEIGHT*)memory, old + size, sums,
                  size, 0, 0};
    __syncthreads();
    const uint64_t* const pairs = (const uint64_t*)loaded.page; /* pages and their memory begin at multiples of 8 bytes */
#pragma unroll 4
    for (int i = threadIdx.x; i < size / 2; i += PAGE_THREADS) {
        ((uint64_t*)old)[i] = pairs[i];
        ((uint64_t*)loaded.shifts)[i] = 0;
    }
    for (int i = threadIdx.x; i < size && loaded.weights; i += PAGE_THREADS) {
        loaded.old_weights[i] = loaded.weights[i];
    }
    for (int row = threadIdx.x; row < ROWS; row += PAGE_THREADS) {
        sums[row] = 0;
    }
    __syncthreads();
    loaded.count = old[0];
    loaded.end = old[1] + 1;
    return loaded;
}

/* The arcs of a page: in shared memory if they are few. Their states are then written back by `write_states`. */
struct Staged {
    uint64_t keys[PAGE_THREADS];
    int32_t slots[PAGE_THREADS];
    signed char states[PAGE_THREADS];
};

struct OfPage {
    Arcs arcs;
    const int32_t* slots;
    signed char* states;
    signed char* all_states;
    bool staged;
    __device__ void write_state(int64_t arc) const {
        if (staged) {
            all_states[arc] = states[arc];
        }
    }
};

__device__ OfPage stage(
    Staged& staged, const Arcs& arcs, const int32_t* slots, signed char* states, int64_t first, int64_t last) {
    if (last - first > PAGE_THREADS) {
        return OfPage{arcs, slots, states, states, false};
    }
    const int64_t mine = first + threadIdx.x;
    __syncthreads();
    if (mine < last) {
        staged.keys[threadIdx.x] = arcs.keys[mine];
        staged.slots[threadIdx.x] = slots[mine];
        staged.states[threadIdx.x] = states[mine];
    }
    return OfPage{Arcs{staged.keys - first, arcs.number, arcs.bits}, staged.slots - first, staged.states - first, states, true};
}

/* From notes at words to their inclusive sums; only rows with notes are added up. */
__device__ void sum_shifts(const Loaded& loaded) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, rows = (loaded.size + 31) / 32;
    for (int row = warp; row < rows; row += WARPS) {
        if (loaded.sums[row] != 0) {
            const int word = row * 32 + lane;
            const int sum = sum_up_to_lane(word < loaded.size ? loaded.shifts[word] : 0);
            if (word < loaded.size) {
                loaded.shifts[word] = sum;
            }
        }
    }
    __syncthreads();
    if (warp == 0) {
        int earlier = 0;
        for (int first = 0; first < rows; first += 32) {
            const int sum = earlier + sum_up_to_lane(first + lane < rows ? loaded.sums[first + lane] : 0);
            if (first + lane < rows) {
                loaded.sums[first + lane] = sum;
            }
            earlier = __shfl_sync(FULL_WARP, sum, 31);
        }
    }
    __syncthreads();
}

/* Write words that move; deleted ones are negative. `old` has the new degrees. */
__device__ void write_moved(const Loaded& loaded) {
    const int new_end = loaded.end + loaded.shift(loaded.end);
    for (int row = threadIdx.x / 32; row * 32 < loaded.end; row += WARPS) {
        const int before = row == 0 ? 0 : loaded.sums[row - 1], i = row * 32 + (threadIdx.x & 31);
        const bool has_notes = loaded.sums[row] != before;
        if ((before == 0 && !has_notes) || i < HEADER_WORDS || i >= loaded.end) {
            continue;
        }
        const int word = loaded.old[i], shift = has_notes ? before + loaded.shifts[i] : before;
        if (word >= 0 && shift != 0) {
            loaded.page[i + shift] = word;
            if (loaded.weights) {
                loaded.weights[i + shift] = loaded.old_weights[i];
            }
        }
    }
    for (int i = new_end + threadIdx.x; i < loaded.end; i += PAGE_THREADS) {
        loaded.page[i] = 0;
        if (loaded.weights) {
            loaded.weights[i] = 0;
        }
    }
    for (int slot = threadIdx.x; slot < loaded.count; slot += PAGE_THREADS) {
        const int start = loaded.start(slot), moved = start + loaded.shift(start);
        loaded.page[loaded.size - 2 - 2 * slot] = moved;
        loaded.page[moved] = loaded.old[start];
    }
    if (threadIdx.x == 0) {
        loaded.page[1] = new_end - 1;
    }
}
