/* Stable radix sort of 64-bit keys, with values, by a range of the keys' bits: least significant digit first, 8 bits per pass,
   each pass reading and writing every key once.

   `count_digits` counts the digits of all passes at once. `sort_by_digit` is one pass: a tile ranks its keys by digit in shared
   memory, first within and then across warps; it finds by look-back how many keys of each digit are in the tiles before it, and
   writes its keys in order of their digits, so that the keys of one digit are written to consecutive places.

   Status words have 30 bits for a sum, so a launch takes a part of fewer than 2^30 keys; the part's last tile stores in
   `next_places` where the next part's keys begin. RADIX_*: constants.py.

   Adinets, Merrill: Onesweep, a faster least significant digit radix sort for GPUs, arXiv 2206.01784 (2022). */
#include "gpu/look_back.cuh"

#define WARPS (RADIX_THREADS / 32)
#define TILE (RADIX_THREADS * RADIX_ITEMS)
#define MOST_PASSES 8

struct Digit {
    int shift;
    uint32_t mask;
    __device__ uint32_t of(uint64_t key) const { return (uint32_t)(key >> shift) & mask; }
};

__device__ __forceinline__ Digit digit_of_pass(int first_bit, int end_bit, int pass) {
    const int shift = first_bit + 8 * pass;
    return {shift, (1u << min(8, end_bit - shift)) - 1};
}

/* Lanes of the warp with the same digit. */
__device__ __forceinline__ uint32_t same_digit(uint32_t digit) {
    uint32_t same = FULL_WARP;
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
        const bool set = digit >> bit & 1;
        const uint32_t votes = __ballot_sync(FULL_WARP, set);
        same &= set ? votes : ~votes;
    }
    return same;
}

extern "C" __global__ void __launch_bounds__(RADIX_THREADS, 4)
count_digits(const uint64_t* keys, int64_t length, int first_bit, int end_bit, unsigned long long* counts) {
    __shared__ uint32_t local[MOST_PASSES * RADIX_DIGITS];
    const int passes = (end_bit - first_bit + 7) / 8;
    for (int i = threadIdx.x; i < passes * RADIX_DIGITS; i += RADIX_THREADS) {
        local[i] = 0;
    }
    __syncthreads();
    for (int64_t i = global_thread(); i < length; i += num_threads()) {
        const uint64_t key = keys[i];
        for (int pass = 0; pass < passes; ++pass) {
            atomicAdd(&local[pass * RADIX_DIGITS + digit_of_pass(first_bit, end_bit, pass).of(key)], 1u);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < passes * RADIX_DIGITS; i += RADIX_THREADS) {
        if (local[i]) {
            atomicAdd(counts + i, (unsigned long long)local[i]);
        }
    }
}

/* From counts to the place of the first key of each digit; a block has a pass. */
extern "C" __global__ void __launch_bounds__(RADIX_DIGITS) sum_digits(int64_t* counts) {
    __shared__ int64_t sums[RADIX_DIGITS / 32];
    int64_t* const mine = counts + blockIdx.x * RADIX_DIGITS + threadIdx.x;
    const int64_t count = *mine, up_to = sum_up_to_lane(count);
    if ((threadIdx.x & 31) == 31) {
        sums[threadIdx.x / 32] = up_to;
    }
    __syncthreads();
    int64_t earlier = up_to - count;
    for (int warp = 0; warp < threadIdx.x / 32; ++warp) {
        earlier += sums[warp];
    }
    *mine = earlier;
}

/* The tile's count of each digit, and where its keys are written. */
struct Shared {
    uint32_t before[WARPS][RADIX_DIGITS]; /* keys of the digit in this warp so far; then in the tile's warps before this one */
    uint32_t starts[RADIX_DIGITS];        /* keys of smaller digits in the tile */
    int64_t shifts[RADIX_DIGITS];         /* from a key's place in the sorted tile to its place in the output */
    uint32_t sums[RADIX_DIGITS / 32];
    uint32_t tile;
};

/* Exclusive sum over the threads below RADIX_DIGITS; all threads call it. */
__device__ __forceinline__ uint32_t sum_of_smaller_digits(uint32_t count, uint32_t* sums) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const uint32_t up_to = sum_up_to_lane(count);
    if (lane == 31 && warp < RADIX_DIGITS / 32) {
        sums[warp] = up_to;
    }
    __syncthreads();
    uint32_t before = 0;
    for (int other = 0; other < min(warp, RADIX_DIGITS / 32); ++other) {
        before += sums[other];
    }
    return before + up_to - count;
}

__device__ __forceinline__ uint32_t halfword(const uint32_t (&words)[RADIX_ITEMS / 2], int item) {
    return words[item / 2] >> 16 * (item % 2) & 0xffff;
}

// spills: one register, on sm_80 only; fewer keys a thread cost more
extern "C" __global__ void __launch_bounds__(RADIX_THREADS, 2) sort_by_digit(
    const uint64_t* keys, const void* values, int value_bytes, int64_t first, int64_t end, int first_bit, int end_bit, int pass,
    const int64_t* places, int64_t* next_places, uint32_t* status, uint32_t* ticket, uint64_t* out_keys, void* out_values) {
    extern __shared__ uint64_t staged[];
    unsigned short* const sources = (unsigned short*)(staged + TILE); /* where in the tile a key came from; for values only */
    __shared__ Shared shared;
    const Digit digit = digit_of_pass(first_bit, end_bit, pass);
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, thread = threadIdx.x;
    for (int d = lane; d < RADIX_DIGITS; d += 32) {
        shared.before[warp][d] = 0;
    }
    if (thread == 0) {
        shared.tile = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const int64_t tile = shared.tile, base = first + tile * TILE;
    const int valid = (int)min((int64_t)TILE, end - base);
    const int in_tile = warp * 32 * RADIX_ITEMS + lane;
    uint64_t key[RADIX_ITEMS];
#pragma unroll
    for (int item = 0; item < RADIX_ITEMS; ++item) { /* what is missing in the last tile sorts behind all keys */
        key[item] = in_tile + 32 * item < valid ? keys[base + in_tile + 32 * item] : ~0ull;
    }
    uint32_t places_in_tile[RADIX_ITEMS / 2] = {}; /* 16 bits each */
#pragma unroll
    for (int item = 0; item < RADIX_ITEMS; ++item) {
        const uint32_t d = digit.of(key[item]), same = same_digit(d), lower = __popc(same & ((1u << lane) - 1));
        const uint32_t before = shared.before[warp][d];
        __syncwarp();
        if (lower == 0) {
            shared.before[warp][d] = before + __popc(same);
        }
        __syncwarp();
        places_in_tile[item / 2] |= (before + lower) << 16 * (item % 2);
    }
    __syncthreads();
    uint32_t count = 0;
    if (thread < RADIX_DIGITS) {
        for (int other = 0; other < WARPS; ++other) {
            const uint32_t here = shared.before[other][thread];
            shared.before[other][thread] = count;
            count += here;
        }
    }
    const uint32_t in_output = count - (thread == digit.mask ? TILE - valid : 0);
    uint32_t* const word = status + tile * RADIX_DIGITS + thread;
    if (thread < RADIX_DIGITS) {
        store_relaxed(word, (tile ? Status<uint32_t>::OWN : Status<uint32_t>::UP_TO) | in_output);
    }
    const uint32_t start = sum_of_smaller_digits(count, shared.sums);
    if (thread < RADIX_DIGITS) {
        shared.starts[thread] = start;
    }
    __syncthreads();
#pragma unroll
    for (int item = 0; item < RADIX_ITEMS; ++item) {
        const uint32_t d = digit.of(key[item]);
        places_in_tile[item / 2] += (shared.starts[d] + shared.before[warp][d]) << 16 * (item % 2);
        const uint32_t place = halfword(places_in_tile, item);
        staged[place] = key[item];
        if (value_bytes) {
            sources[place] = (unsigned short)(in_tile + 32 * item);
        }
    }
    if (thread < RADIX_DIGITS) {
        const uint32_t before = sum_before(word, tile, (int64_t)RADIX_DIGITS);
        if (tile) {
            store_relaxed(word, Status<uint32_t>::UP_TO | (before + in_output));
        }
        shared.shifts[thread] = places[thread] + before - start;
        if (base + valid == end) {
            next_places[thread] = places[thread] + before + in_output;
        }
    }
    __syncthreads();
#pragma unroll 4
    for (int item = 0; item < RADIX_ITEMS; ++item) {
        const int from = thread + RADIX_THREADS * item;
        if (from < valid) {
            const uint64_t sorted = staged[from];
            const int64_t to = shared.shifts[digit.of(sorted)] + from;
            out_keys[to] = sorted;
            if (value_bytes == 4) {
                ((uint32_t*)out_values)[to] = ((const uint32_t*)values)[base + sources[from]];
            } else if (value_bytes == 8) {
                ((uint64_t*)out_values)[to] = ((const uint64_t*)values)[base + sources[from]];
            }
        }
    }
}
