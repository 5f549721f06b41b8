/* Slotted pages: finding lists, expanding them, finding arcs in them, and inserting and deleting many arcs of a page at once.

   `rewrite_pages`: a block has one page and the batch's arcs of its lists. It notes where an arc is inserted or deleted, adds up
   these notes, which says by how much every word moves, and writes the words to their new places. A page that would be too small
   is left as it is and reported (the overflow list of cuSTINGER's two phases). Lists keep their order; insertions are appended.

   WEIGHT is the type of weights. HEADER_WORDS, PAGE_THREADS, LOOKUP_THREADS: constants.py.

   Green, Bader: cuSTINGER (HPEC 2016); Martinho: Marrow-Graph (2021), Listings 5, 6, 8 and 10. */
#include "dynamic/pages/pages.cuh"

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

/* The last place below `limits[key]` at which each of sorted distinct arcs is in the list of its run, or -1. A warp has one page
   of one run, `owners[warp]`, whose pages begin at `parts[run]` among the warps. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) find_arcs(
    const uint64_t* addresses, int size, const int32_t* found, const int32_t* words, const int64_t* degrees,
    const int64_t* parts, const int64_t* owners, int64_t num_parts, const int64_t* runs, const int32_t* heads,
    const int64_t* limits, int64_t* places) {
    const Pages pages{addresses, nullptr, nullptr, 0, size};
    const int lane = threadIdx.x & 31;
    for (int64_t warp = global_thread() / 32; warp < num_parts; warp += num_threads() / 32) {
        const int64_t run = owners[warp];
        const int64_t part = warp - parts[run], first = runs[run], last = runs[run + 1];
        const int64_t in_first = size - HEADER_WORDS - 3, full = size - HEADER_WORDS;
        const int64_t begin = part == 0 ? 0 : in_first + (part - 1) * full;
        const int64_t end = min(degrees[run], part == 0 ? in_first : begin + full);
        const int32_t* const list = pages.words(found[run] + part) + (part == 0 ? words[run] + 1 : HEADER_WORDS);
        for (int64_t place = begin + lane; place < end; place += 32) {
            const int32_t head = list[place - begin];
            const int64_t key = first_not(first, last, [=](int64_t k) { return heads[k] < head; });
            if (key < last && heads[key] == head && place < limits[key]) {
                atomicMax(places + key, place);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(PAGE_THREADS) rewrite_pages(
    const uint64_t* addresses, const uint64_t* weights, int size, const int32_t* numbers, const int64_t* firsts,
    const int32_t* slots, const int32_t* heads, const WEIGHT* added, const int64_t* deleted, bool* overflows) {
    extern __shared__ uint64_t memory[]; /* weights, words and shifts of the page */
    __shared__ int sums[PAGE_THREADS / 32];
    WEIGHT* const old_weights = (WEIGHT*)memory;
    int* const old = (int*)(memory + size);
    int* const shift = old + size;
    int32_t* const page = (int32_t*)addresses[numbers[blockIdx.x]];
    WEIGHT* const page_weights = weights ? (WEIGHT*)weights[numbers[blockIdx.x]] : nullptr;
    const int64_t first = firsts[blockIdx.x], last = firsts[blockIdx.x + 1];
    const int thread = threadIdx.x;
    for (int i = thread; i < size; i += PAGE_THREADS) {
        old[i] = page[i];
        shift[i] = 0;
        if (weights) {
            old_weights[i] = page_weights[i];
        }
    }
    __syncthreads();
    const int count = old[0], end = old[1] + 1;
    if (!deleted && end + (last - first) > size - 2 * count) {
        if (thread == 0) {
            overflows[blockIdx.x] = true;
        }
        return;
    }
    for (int64_t item = first + thread; item < last; item += PAGE_THREADS) {
        const int slot = slots[item], start = old[size - 2 - 2 * slot];
        if (deleted) { /* a word that is not copied is negative */
            const int word = start + 1 + (int)deleted[item];
            old[word] = -1 - old[word];
            atomicAdd(&shift[word + 1], -1);
            atomicAdd(&old[start], -1);
        } else {
            atomicAdd(&shift[slot + 1 < count ? old[size - 4 - 2 * slot] : end], 1);
            atomicAdd(&old[start], 1);
        }
    }
    __syncthreads();
    const int each = (size + PAGE_THREADS - 1) / PAGE_THREADS, begin = thread * each, until = min(begin + each, size);
    int sum = 0;
    for (int i = begin; i < until; ++i) {
        sum += shift[i];
        shift[i] = sum;
    }
    const int up_to = sum_up_to_lane(sum);
    if ((thread & 31) == 31) {
        sums[thread / 32] = up_to;
    }
    __syncthreads();
    int earlier = up_to - sum;
    for (int other = 0; other < thread / 32; ++other) {
        earlier += sums[other];
    }
    for (int i = begin; i < until; ++i) {
        shift[i] += earlier;
    }
    __syncthreads();
    const int new_end = end + shift[end];
    for (int i = HEADER_WORDS + thread; i < end; i += PAGE_THREADS) {
        if (old[i] >= 0) {
            page[i + shift[i]] = old[i];
            if (weights) {
                page_weights[i + shift[i]] = old_weights[i];
            }
        }
        if (i >= new_end) {
            page[i] = 0;
            if (weights) {
                page_weights[i] = 0;
            }
        }
    }
    for (int64_t item = first + thread; !deleted && item < last; item += PAGE_THREADS) {
        const int slot = slots[item], next = slot + 1 < count ? old[size - 4 - 2 * slot] : end;
        const int64_t after = first_not(item, last, [=](int64_t other) { return slots[other] <= slot; });
        const int word = next + shift[next] - (int)(after - item);
        page[word] = heads[item];
        if (weights) {
            page_weights[word] = added[item];
        }
    }
    for (int slot = thread; slot < count; slot += PAGE_THREADS) {
        const int start = old[size - 2 - 2 * slot];
        page[size - 2 - 2 * slot] = start + shift[start];
    }
    if (thread == 0) {
        page[1] = new_end - 1;
    }
}
