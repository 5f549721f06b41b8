/* Prefix sum over the tiles of one launch, in one pass: each tile publishes a status word, which holds its own sum or, as soon
   as it is known, the sum up to and including the tile, and later tiles look back over the words.

   Tiles take their numbers from a counter, so that all tiles before a running one have started and waiting for them terminates.
   The STATUS_FLAG_BITS (constants.py) highest bits of a word state what it holds; all words are zero before the launch.

   Merrill, Garland: Single-pass Parallel Prefix Scan with Decoupled Look-back, NVIDIA NVR-2016-002. */
#pragma once

#include "gpu/device.cuh"

template <typename Word>
struct Status {
    static constexpr int VALUE_BITS = 8 * sizeof(Word) - STATUS_FLAG_BITS;
    static constexpr Word VALUE = ((Word)1 << VALUE_BITS) - 1;
    static constexpr Word OWN = (Word)1 << VALUE_BITS;    /* the tile's own sum */
    static constexpr Word UP_TO = (Word)2 << VALUE_BITS;  /* the sum of all tiles up to it */
};

__device__ __forceinline__ uint32_t load_relaxed(const uint32_t* address) {
    uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

__device__ __forceinline__ uint64_t load_relaxed(const uint64_t* address) {
    uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed(uint32_t* address, uint32_t value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void store_relaxed(uint64_t* address, uint64_t value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

/* Sum of the tiles before this one, by one thread; their words are `stride` apart, the last of them before `word`. */
template <typename Word>
__device__ Word sum_before(const Word* word, int64_t tile, int64_t stride) {
    Word sum = 0;
    while (tile-- > 0) {
        word -= stride;
        Word found;
        do {
            found = load_relaxed(word);
        } while (found < Status<Word>::OWN);
        sum += found & Status<Word>::VALUE;
        if (found >= Status<Word>::UP_TO) {
            break;
        }
    }
    return sum;
}

/* The same by one warp, 32 tiles at a time; `words[t]` is tile t's. All lanes return the sum. */
__device__ __forceinline__ uint64_t warp_sum_before(const uint64_t* words, int64_t tile) {
    using Word = Status<uint64_t>;
    const int lane = threadIdx.x & 31;
    uint64_t sum = 0;
    for (int64_t last = tile - 1; last >= 0; last -= 32) {
        uint64_t found = Word::UP_TO;
        if (last >= lane) {
            do {
                found = load_relaxed(words + last - lane);
            } while (found < Word::OWN);
        }
        const uint32_t whole = __ballot_sync(FULL_WARP, found >= Word::UP_TO);
        const int until = whole ? __ffs(whole) - 1 : 31;
        sum += sum_of_warp(lane <= until ? found & Word::VALUE : 0);
        if (whole) {
            break;
        }
    }
    return sum;
}
