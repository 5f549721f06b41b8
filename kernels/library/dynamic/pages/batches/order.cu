/* Batches in slotted pages: the sorted keys, the pages that they touch, and the order of the pages.

   `find_vertices` and `find_pages` have a thread per arc and per page. Which page is where in the order after a batch follows
   from the sums `ends` of `widths`, the number of pages that take the place of each.

   WEIGHT is the type of weights. LOOKUP_THREADS: ../constants.py; states and counters: batches.cuh. */
#include "library/dynamic/pages/batches/batches.cuh"

extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) pack_arcs(
    const int32_t* src, const int32_t* dst, int64_t number, int32_t num_rows, int bits, uint64_t* keys) {
    for (int64_t i = global_thread(); i < number; i += num_threads()) {
        const uint32_t tail = src[i], head = dst[i], rows = num_rows;
        const bool inside = tail < rows && head < rows; /* others are behind all: no vertex has 2^bits - 1, or less than 0 */
        keys[i] = inside ? (uint64_t)tail << bits | head : (1ull << 2 * bits) - 1;
    }
}

/* Page and slot of each arc's source, and its state; after a layout only pages and slots of arcs that are still NEW. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) find_vertices(
    const uint64_t* addresses, const int32_t* index, int64_t num_pages, int size, const uint64_t* keys, int64_t number, int bits,
    bool inserts, bool complete, bool unique, bool again, int32_t* found, int32_t* slots, signed char* states,
    int64_t* counters) {
    const Pages pages{addresses, nullptr, index, num_pages, size};
    const Arcs arcs{keys, number, bits};
    int64_t absent = 0;
    for (int64_t i = global_thread(); i < number; i += num_threads()) {
        if (again && states[i] != NEW) {
            continue;
        }
        const int32_t source = arcs.source(i), head = arcs.head(i);
        const int64_t page = find_page(pages, source);
        const int slot = page < 0 ? -1 : find_index(pages.words(page), size, source);
        found[i] = slot < 0 ? -1 : (int32_t)page;
        slots[i] = slot;
        if (!again) {
            bool exists = slot >= 0;
            if (exists && inserts && !complete) { /* keys have no number beyond the last vertex, but for absent arcs */
                const int64_t other = find_page(pages, head);
                exists = other >= 0 && find_index(pages.words(other), size, head) >= 0;
            }
            states[i] = !exists ? MISSING : unique && i > 0 && keys[i - 1] == keys[i] ? DUPLICATE : NEW;
            absent += !exists;
        }
    }
    absent = sum_of_warp(absent);
    if ((threadIdx.x & 31) == 0 && absent) {
        atomicAdd((uint64_t*)counters + ABSENT, (uint64_t)absent);
    }
}

/* The first arc of each page, and lists of the pages that have arcs: those of small lists, and all pages of large ones. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) find_pages(
    const int32_t* index, int64_t num_pages, const uint64_t* keys, int64_t number, int bits, int64_t* firsts, int32_t* widths,
    int32_t* small, int32_t* large, int64_t* counters) {
    const Arcs arcs{keys, number, bits};
    const int lane = threadIdx.x & 31;
    for (int64_t begin = global_thread() - lane; begin <= num_pages; begin += num_threads()) {
        const int64_t page = begin + lane;
        bool is_small = false, is_large = false;
        if (page == num_pages) {
            firsts[page] = number;
        } else if (page < num_pages) {
            const int32_t vertex = index[3 * page], place = index[3 * page + 1];
            const int64_t first = arcs.first(arcs.key(vertex, 0));
            firsts[page] = place > 0 ? arcs.first(arcs.key(vertex + 1, 0)) : first;
            widths[page] = 1;
            is_large = place >= 0 && first < number && arcs.source(first) == vertex;
            is_small = place < 0 && first < number && (page + 1 == num_pages || arcs.source(first) < index[3 * page + 3]);
        }
        const uint64_t in_small = append_of_warp((uint64_t*)counters + SMALL, is_small);
        const uint64_t in_large = append_of_warp((uint64_t*)counters + LARGE, is_large);
        if (is_small) {
            small[in_small] = (int32_t)page;
        }
        if (is_large) {
            large[in_large] = (int32_t)page;
        }
    }
}

/* The order of the pages, their addresses and their index after pages were inserted behind others, whose slots are `taken`, or
   erased: `freed`. The index of pages that are laid out again is written with these. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) splice_pages(
    const int64_t* slots, const int32_t* index, int64_t num_pages, const int32_t* widths, const int64_t* ends,
    const int64_t* taken, int64_t* freed, uint64_t pool, uint64_t pool_of_weights, int size, int64_t* new_slots,
    int32_t* new_index, uint64_t* new_addresses, uint64_t* new_weights) {
    for (int64_t page = global_thread(); page < num_pages; page += num_threads()) {
        const int width = widths[page];
        const int64_t start = ends[page] - width;
        const int32_t place = index[3 * page + 1];
        if (width == 0) {
            freed[page - start] = slots[page];
        }
        int32_t pages = -1;
        if (place >= 0) {
            const int64_t head = page - place, last = head + index[3 * page + 2] - 1;
            pages = (int32_t)(ends[last] - (ends[head] - widths[head]));
        }
        for (int k = 0; k < width; ++k) {
            const int64_t slot = k == 0 ? slots[page] : taken[start - page + k - 1];
            new_slots[start + k] = slot;
            new_addresses[start + k] = pool + slot * size * sizeof(int32_t);
            if (new_weights) {
                new_weights[start + k] = pool_of_weights + slot * size * sizeof(WEIGHT);
            }
            new_index[3 * (start + k)] = index[3 * page];
            new_index[3 * (start + k) + 1] = pages > 1 ? place + k : -1;
            new_index[3 * (start + k) + 2] = pages > 1 ? pages : -1;
        }
    }
}

/* Set all words and weights of pages to 0. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) clear_pages(
    int32_t* pool, WEIGHT* weights, int size, const int64_t* slots, int64_t number) {
    for (int64_t i = global_thread(); i < number * size; i += num_threads()) {
        const int64_t place = slots[i / size] * size + i % size;
        pool[place] = 0;
        if (weights) {
            weights[place] = 0;
        }
    }
}
