/* Breadth-first search on slotted pages by search.cuh, and the smallest tails of known levels.

   SEARCH_THREADS, UNSEEN: constants.py. */
#define WEIGHT int
#include "library/dynamic/pages/pages.cuh"
#include "library/dynamic/search.cuh"

/* The lists of all rows, by page and word of their degrees. */
struct ListsOfPages {
    const uint64_t* addresses;
    const int32_t* pages;
    const int32_t* words;
    int size;
    __device__ int degree(int32_t row) const { return ((const int32_t*)addresses[pages[row]])[words[row]]; }
    __device__ int parts(int32_t row) const { return pages_of(degree(row), size); }
    __device__ Part part(int32_t row, int number) const {
        const int32_t* const page = (const int32_t*)addresses[pages[row] + number];
        const auto section = section_of(number, size);
        return Part{page + (number ? section.word : words[row] + 1), min(degree(row) - section.first, section.most)};
    }
};

extern "C" __global__ void __launch_bounds__(SEARCH_THREADS, 4) search_pages(
    const uint64_t* addresses, const int32_t* pages, const int32_t* words, int size, int32_t* levels, int32_t* predecessors,
    int32_t* queue, int32_t* part_rows, int32_t* part_numbers, Control* control) {
    const Search search{levels, predecessors, queue, part_rows, part_numbers, control};
    search_by_levels(search, ListsOfPages{addresses, pages, words, size});
}

/* The smallest tail of the level before, for every head. */
extern "C" __global__ void __launch_bounds__(SEARCH_THREADS) find_smallest_tails(
    const int64_t* offsets, const int32_t* heads, int64_t num_rows, const int32_t* levels, int32_t* predecessors) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        const int32_t level = levels[row];
        for (int64_t arc = offsets[row]; level >= 0 && arc < offsets[row + 1]; ++arc) {
            if (levels[heads[arc]] == level + 1 && __ldcg(predecessors + heads[arc]) > (int32_t)row) {
                atomicMin(predecessors + heads[arc], (int32_t)row);
            }
        }
    }
}
