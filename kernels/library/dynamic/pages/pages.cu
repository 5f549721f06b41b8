/* Slotted pages: finding lists, and expanding them.

   WEIGHT is the type of weights. HEADER_WORDS, LOOKUP_THREADS: constants.py.

   Martinho: Marrow-Graph (2021), Listings 5, 6, 8 and 10. */
#include "library/dynamic/pages/pages.cuh"

/* Page, slot, word of the degree and degree of each vertex; -1, -1, -1 and 0 if there is no such vertex. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) locate(
    const uint64_t* addresses, const int32_t* index, int64_t number, int size, const int32_t* vertices, int64_t count,
    int32_t* found, int32_t* slots, int32_t* words, int64_t* degrees) {
    const Pages pages{addresses, nullptr, index, number, size};
    for (int64_t i = global_thread(); i < count; i += num_threads()) {
        const int64_t page = find_page(pages, vertices[i]);
        const int slot = page < 0 ? -1 : find_index(pages.words(page), size, vertices[i]);
        const int word = slot < 0 ? -1 : pages.words(page)[size - 2 - 2 * slot];
        found[i] = slot < 0 ? -1 : (int32_t)page;
        slots[i] = slot;
        words[i] = word;
        degrees[i] = slot < 0 ? 0 : pages.words(page)[word];
    }
}

/* One neighbour per thread: the neighbour `i - offsets[list]` of the list that output i belongs to. */
// spills: four words on sm_80, by the compiler's choice: it uses 32 registers of 255
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) expand(
    const uint64_t* addresses, const uint64_t* weights, int size, const int32_t* found, const int32_t* words,
    const int64_t* offsets, int64_t lists, int64_t total, int32_t* heads, WEIGHT* out_weights) {
    const Pages pages{addresses, weights, nullptr, 0, size};
    for (int64_t i = global_thread(); i < total; i += num_threads()) {
        const int64_t list = first_not(0, lists, [=](int64_t j) { return offsets[j + 1] <= i; });
        const Word at = word_of(i - offsets[list], words[list], size);
        heads[i] = pages.words(found[list] + at.page)[at.word];
        if (weights) {
            out_weights[i] = pages.weights_of(found[list] + at.page)[at.word];
        }
    }
}
