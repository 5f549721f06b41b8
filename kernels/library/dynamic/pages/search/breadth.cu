/* Breadth-first search on slotted pages by levels.cuh, and the smallest tails of known levels.

   SEARCH_THREADS, UNSEEN: constants.py. */
#define WEIGHT int
#include "library/dynamic/pages/search/levels.cuh"
#include "library/dynamic/pages/search/lists.cuh"

extern "C" __global__ void __launch_bounds__(SEARCH_THREADS, 4) search_pages(
    const uint64_t* addresses, const int32_t* pages, const int32_t* words, int size, int32_t* levels, int32_t* predecessors,
    int32_t* queue, int32_t* part_rows, int32_t* part_numbers, Control* control) {
    const Search search{levels, predecessors, queue, part_rows, part_numbers, control};
    search_by_levels(search, ListsOfPages{addresses, pages, words, size}, 1, [](int32_t, const Heads&, int) { return true; });
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
