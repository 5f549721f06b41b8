/* How kernels find a vertex's list in slotted pages (layout.py has the words of a page, store.py the index).

   Martinho: Marrow-Graph (2021), Listings 5 and 6, with the tests of bounds that they lack: they return a place for vertices that
   do not exist. */
#pragma once

#include "gpu/device.cuh"

struct Pages {
    const uint64_t* addresses; /* of the words of each page */
    const uint64_t* weights;   /* null without weights */
    const int32_t* index;      /* three words for each page */
    int64_t number;
    int size; /* words of a page */
    __device__ int32_t* words(int64_t page) const { return (int32_t*)addresses[page]; }
    __device__ WEIGHT* weights_of(int64_t page) const { return (WEIGHT*)weights[page]; }
};

/* The page where the list of `vertex` would begin; -1 if that is before the first page. O(log P). */
__device__ __forceinline__ int64_t find_page(const Pages& pages, int32_t vertex) {
    const int64_t page = first_not(0, pages.number, [&](int64_t i) { return pages.index[3 * i] <= vertex; }) - 1;
    return page < 0 ? -1 : page - max(pages.index[3 * page + 1], 0);
}

/* Number of the vertex's slot, or -1. A range of slots without gaps is not searched further: O(1) unless vertices were
   removed. */
__device__ __forceinline__ int find_index(const int32_t* page, int size, int32_t vertex) {
    int low = 0, high = page[0] - 1;
    while (low <= high) {
        const int32_t first = page[size - 1 - 2 * low], last = page[size - 1 - 2 * high];
        if (vertex < first || vertex > last) {
            return -1;
        }
        if (last - first == high - low) {
            return low + (vertex - first);
        }
        const int middle = (low + high) / 2;
        const int32_t there = page[size - 1 - 2 * middle];
        if (there == vertex) {
            return middle;
        }
        if (there < vertex) {
            low = middle + 1;
        } else {
            high = middle - 1;
        }
    }
    return -1;
}

/* Neighbours in the first page of a large list, which also has its slot and degree, and in each other page. */
__device__ __forceinline__ int most_in_first(int size) { return size - HEADER_WORDS - 3; }

__device__ __forceinline__ int most_in_others(int size) { return size - HEADER_WORDS; }

/* Pages of a list that begins a page of its own. */
template <typename Integer>
__device__ __forceinline__ Integer pages_of(Integer degree, int size) {
    const Integer rest = degree - most_in_first(size);
    return rest > 0 ? 1 + (rest + most_in_others(size) - 1) / most_in_others(size) : 1;
}

/* What one page of a large list has: the place of its first neighbour, and the word of that; and how many neighbours it holds. */
template <typename Integer>
struct Section {
    Integer first;
    int word, most;
};

template <typename Integer>
__device__ __forceinline__ Section<Integer> section_of(Integer page, int size) {
    const int first = most_in_first(size), others = most_in_others(size);
    return page == 0 ? Section<Integer>{0, HEADER_WORDS + 1, first}
                     : Section<Integer>{first + (page - 1) * others, HEADER_WORDS, others};
}

/* Page, counted from that of the list, and word of the neighbour at `place`. */
struct Word {
    int64_t page;
    int word;
};

__device__ __forceinline__ Word word_of(int64_t place, int degree_word, int size) {
    const int64_t rest = place - most_in_first(size);
    const int full = most_in_others(size);
    return rest < 0 ? Word{0, degree_word + 1 + (int)place} : Word{1 + rest / full, HEADER_WORDS + (int)(rest % full)};
}
