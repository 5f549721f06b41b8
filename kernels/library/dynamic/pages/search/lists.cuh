/* The lists of all rows of slotted pages, by page and word of their degrees, with weights if there are any.

   WEIGHT is the type of weights. */
#pragma once

#include "library/dynamic/pages/pages.cuh"

struct Heads {
    const int32_t* heads;
    int length;
};

struct WeightedHeads {
    const int32_t* heads;
    int length;
    const WEIGHT* weights;
};

struct ListsOfPages {
    typedef Heads Part;
    const uint64_t* addresses;
    const int32_t* pages; /* -1 for a row without a vertex */
    const int32_t* words;
    int size;
    __device__ int degree(int32_t row) const { return ((const int32_t*)addresses[pages[row]])[words[row]]; }
    __device__ int parts(int32_t row) const { return pages_of(degree(row), size); }
    __device__ int first_word(int32_t row, int number) const {
        return number ? section_of(number, size).word : words[row] + 1;
    }
    __device__ Part part(int32_t row, int number) const {
        const auto section = section_of(number, size);
        const int32_t* const page = (const int32_t*)addresses[pages[row] + number];
        return Part{page + first_word(row, number), min(degree(row) - section.first, section.most)};
    }
};

struct WeightedLists {
    typedef WeightedHeads Part;
    ListsOfPages lists;
    const uint64_t* weights;
    __device__ int parts(int32_t row) const { return lists.parts(row); }
    __device__ Part part(int32_t row, int number) const {
        const Heads heads = lists.part(row, number);
        const WEIGHT* const page = (const WEIGHT*)weights[lists.pages[row] + number];
        return Part{heads.heads, heads.length, page + lists.first_word(row, number)};
    }
};
