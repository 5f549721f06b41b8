/* What the kernels for batches share: the sorted arcs of a batch, and the changes within a page.

   The arcs are keys `source << bits | head` in ascending order, and a page's arcs are `firsts[page]..firsts[page + 1] - 1`; those
   of a large list belong to its first page. Each arc has a state: NEW, APPLIED, DUPLICATE or MISSING.

   counters: SMALL, LARGE: entries of the lists of touched pages; ABSENT: arcs without a vertex; CHANGED: arcs that change the
   graph; PAGES: pages more or less; FULL: pages that are laid out again; AGAIN: arcs to be searched once more; RELAID: pages of
   small lists that were laid out again. */
#pragma once

#include "library/dynamic/pages/pages.cuh"

struct Arcs {
    const uint64_t* keys;
    int64_t number;
    int bits; /* of a head */
    __device__ int32_t source(int64_t arc) const { return (int32_t)(keys[arc] >> bits); }
    __device__ int32_t head(int64_t arc) const { return (int32_t)(keys[arc] & ((1ull << bits) - 1)); }
    __device__ uint64_t key(int32_t source, int32_t head) const { return (uint64_t)source << bits | (uint64_t)head; }
    __device__ int64_t first(uint64_t key) const {
        return first_not(0, number, [&](int64_t i) { return keys[i] < key; });
    }
    /* Behind the last arc of the same source, at most `end`. */
    __device__ int64_t end_of_source(int64_t arc, int64_t end) const {
        const uint64_t behind = ((keys[arc] >> bits) + 1) << bits;
        return first_not(arc, end, [&](int64_t i) { return keys[i] < behind; });
    }
    /* The first arc with this key among `begin..end-1`, or -1. */
    __device__ int64_t find_key(int64_t begin, int64_t end, uint64_t key) const {
        const int64_t place = end - begin == 1 ? begin : first_not(begin, end, [&](int64_t i) { return keys[i] < key; });
        return place < end && keys[place] == key ? place : -1;
    }
};

/* Sum of counts up to before an arc, and over the arcs of a page; `sums` are inclusive. */
__device__ __forceinline__ int64_t sum_before(const int64_t* sums, int64_t arc) { return arc > 0 ? sums[arc - 1] : 0; }

__device__ __forceinline__ int64_t sum_of_page(const int64_t* sums, const int64_t* firsts, int64_t page) {
    return sum_before(sums, firsts[page + 1]) - sum_before(sums, firsts[page]);
}
