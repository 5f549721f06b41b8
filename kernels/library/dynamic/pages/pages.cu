/* Slotted pages: finding lists, expanding them, and removing an arc.

   WEIGHT is the type of weights. HEADER_WORDS, LOOKUP_THREADS, REMOVAL_THREADS: constants.py.

   Martinho: Marrow-Graph (2021), Listings 3, 5, 6, 8 and 10. */
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

/* Remove the last arc from `src` to `dst`, of the given weight if `of_weight`: the last neighbour takes its place, as in Editor.
   One block. `weight` becomes that of the arc; `report` is whether there was one, and the page that has become empty, or -1. */
extern "C" __global__ void __launch_bounds__(REMOVAL_THREADS) remove_arc(
    const uint64_t* addresses, const uint64_t* weights, const int32_t* index, int64_t number, int size, int32_t src, int32_t dst,
    bool of_weight, WEIGHT* weight, int64_t* report) {
    __shared__ int last_place;
    const Pages pages{addresses, weights, index, number, size};
    const int64_t first = find_page(pages, src);
    const int slot = first < 0 ? -1 : find_index(pages.words(first), size, src);
    if (slot < 0) {
        return;
    }
    int32_t* const page = pages.words(first);
    const int start = page[size - 2 - 2 * slot], degree = page[start], used = page[1];
    if (threadIdx.x == 0) {
        last_place = -1;
    }
    __syncthreads();
    int mine = -1;
    for (int place = threadIdx.x; place < degree; place += REMOVAL_THREADS) {
        const Word at = word_of(place, start, size);
        const bool is_wanted = pages.words(first + at.page)[at.word] == dst;
        if (is_wanted && (!of_weight || pages.weights_of(first + at.page)[at.word] == *weight)) {
            mine = place;
        }
    }
    if (mine >= 0) {
        atomicMax(&last_place, mine);
    }
    __syncthreads();
    if (last_place < 0) {
        return;
    }
    const bool is_large = index[3 * first + 2] > 0;
    const Word hole = word_of(last_place, start, size), last = word_of(degree - 1, start, size);
    if (threadIdx.x == 0) {
        int32_t* const from = pages.words(first + last.page);
        pages.words(first + hole.page)[hole.word] = from[last.word];
        page[start] = degree - 1;
        report[0] = 1;
        if (weights) {
            WEIGHT* const there = pages.weights_of(first + hole.page) + hole.word;
            *weight = *there;
            *there = pages.weights_of(first + last.page)[last.word];
        }
        if (is_large) {
            from[1] = last.word - 1;
            from[last.word] = 0;
            if (weights) {
                pages.weights_of(first + last.page)[last.word] = 0;
            }
            if (last.word == HEADER_WORDS) {
                report[1] = first + last.page;
                page[2] = last.page > 1;
            }
        }
    }
    if (is_large) {
        return;
    }
    WEIGHT* const weights_here = weights ? pages.weights_of(first) : nullptr;
    for (int tile = last.word; tile < used; tile += REMOVAL_THREADS) { /* the lists behind move by a word */
        __syncthreads();
        const int to = tile + threadIdx.x;
        const int32_t word = to < used ? page[to + 1] : 0;
        const WEIGHT moved = to < used && weights ? weights_here[to + 1] : WEIGHT(0);
        __syncthreads();
        if (to < used) {
            page[to] = word;
            if (weights) {
                weights_here[to] = moved;
            }
        }
    }
    for (int later = slot + 1 + threadIdx.x; later < page[0]; later += REMOVAL_THREADS) {
        page[size - 2 - 2 * later] -= 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        page[1] = used - 1;
        page[used] = 0;
        if (weights) {
            weights_here[used] = 0;
        }
    }
}
