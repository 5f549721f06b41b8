/* Batches in slotted pages: large lists.

   `search_large` has a warp per touched page of a large list, which searches the batch for each neighbour, so a list is read
   once however many of its arcs change. Insertions are appended behind the last neighbour; after deletions the last neighbours
   fill the holes.

   WEIGHT is the type of weights. LOOKUP_THREADS: ../constants.py; states and counters: batches.cuh. */
#include "library/dynamic/pages/batches/batches.cuh"

/* Without `places` arcs that exist are duplicates. With them, each arc with `round` equal ones before it takes the last place
   below that of the one before. A warp has a page. */
// spills: one word on sm_100, by the compiler's choice: it uses 32 registers of 255
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) search_large(
    const uint64_t* addresses, const int32_t* index, int size, const uint64_t* keys, int64_t number, int bits,
    const int64_t* firsts, const int32_t* large, const int64_t* counters, int round, signed char* states, int64_t* places) {
    const Pages pages{addresses, nullptr, index, 0, size};
    const Arcs arcs{keys, number, bits};
    const int lane = threadIdx.x & 31;
    for (int64_t item = global_thread() / 32; item < counters[LARGE]; item += num_threads() / 32) {
        const int64_t page = large[item], part = index[3 * page + 1], head = page - part;
        const int64_t first = firsts[head], last = firsts[head + 1];
        const auto section = section_of(part, size);
        const int64_t end = min((int64_t)pages.words(head)[HEADER_WORDS], section.first + section.most);
        const int32_t* const list = pages.words(page) + section.word;
        for (int64_t place = section.first + lane; place < end; place += 32) {
            const uint64_t key = arcs.key(index[3 * page], list[place - section.first]);
            const int64_t arc = arcs.find_key(first, last, key);
            if (arc >= 0 && !places && states[arc] == NEW) {
                states[arc] = DUPLICATE;
            } else if (arc >= 0 && places) {
                const int64_t mine = arc + round;
                if (mine < last && keys[mine] == key && (round == 0 || place < places[mine - 1])) {
                    atomicMax(places + mine, place);
                }
            }
        }
    }
}

/* Arcs of large lists that were found in this round are APPLIED; AGAIN counts arcs equal to these, which are searched next. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) settle_large(
    const int32_t* index, const uint64_t* keys, int64_t number, const int32_t* found, const int64_t* places,
    signed char* states, int64_t* counters) {
    for (int64_t i = global_thread(); i < number; i += num_threads()) {
        if (found[i] < 0 || index[3 * (int64_t)found[i] + 1] < 0 || places[i] < 0 || states[i] != NEW) {
            continue;
        }
        states[i] = APPLIED;
        if (i + 1 < number && keys[i + 1] == keys[i]) {
            append((uint64_t*)counters + AGAIN);
        }
    }
}

/* How many pages large lists gain, at their ends, or lose; `sums` count the arcs that change the graph. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) measure_large(
    const uint64_t* addresses, const int32_t* index, int64_t num_pages, int size, const int64_t* firsts, int64_t number,
    const int64_t* sums, bool inserts, int32_t* widths, int64_t* counters) {
    const Pages pages{addresses, nullptr, index, num_pages, size};
    for (int64_t page = global_thread(); page < num_pages; page += num_threads()) {
        if (page == 0) {
            counters[CHANGED] = sums[number - 1];
        }
        if (index[3 * page + 1] != 0) {
            continue;
        }
        const int64_t changed = sum_of_page(sums, firsts, page);
        if (changed == 0) {
            continue;
        }
        const int64_t degree = pages.words(page)[HEADER_WORDS], old = index[3 * page + 2];
        const int64_t now = pages_of(inserts ? degree + changed : degree - changed, size);
        if (now > old) {
            widths[page + old - 1] = 1 + (int32_t)(now - old);
        }
        for (int64_t gone = now; gone < old; ++gone) {
            widths[page + gone] = 0;
        }
        if (now != old) {
            atomicAdd((uint64_t*)counters + PAGES, (uint64_t)(now > old ? now - old : old - now));
        }
    }
}

/* Write the NEW arcs of large lists behind their neighbours. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) append_to_large(
    const uint64_t* addresses, const uint64_t* weights, const int32_t* index, int size, const uint64_t* keys, int64_t number,
    int bits, const int64_t* firsts, const int64_t* sums, const int32_t* found, const WEIGHT* added, signed char* states) {
    const Pages pages{addresses, weights, index, 0, size};
    const Arcs arcs{keys, number, bits};
    for (int64_t i = global_thread(); i < number; i += num_threads()) {
        if (states[i] != NEW || index[3 * (int64_t)found[i] + 1] != 0) {
            continue;
        }
        const int64_t page = found[i];
        const int64_t place = pages.words(page)[HEADER_WORDS] + sums[i] - 1 - sum_before(sums, firsts[page]);
        const Word at = word_of(place, HEADER_WORDS, size);
        pages.words(page + at.page)[at.word] = arcs.head(i);
        if (weights) {
            pages.weights_of(page + at.page)[at.word] = added[i];
        }
    }
}

/* Write degrees and headers of large lists. After deletions the index is the old one: pages are erased behind this. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) finish_large(
    const uint64_t* addresses, const int32_t* index, int64_t num_pages, int size, const int64_t* firsts, const int64_t* sums,
    bool inserts) {
    const Pages pages{addresses, nullptr, index, num_pages, size};
    for (int64_t page = global_thread(); page < num_pages; page += num_threads()) {
        if (index[3 * page + 1] != 0) {
            continue;
        }
        const int64_t changed = sum_of_page(sums, firsts, page);
        if (changed == 0) {
            continue;
        }
        const int64_t old = pages.words(page)[HEADER_WORDS], degree = inserts ? old + changed : old - changed;
        const int64_t last = pages_of(degree, size) - 1;
        pages.words(page)[HEADER_WORDS] = (int32_t)degree;
        for (int64_t part = inserts ? pages_of(old, size) - 1 : last; part <= last; ++part) {
            int32_t* const words = pages.words(page + part);
            const auto section = section_of(part, size);
            words[1] = section.word - 1 + (int32_t)min(degree - section.first, (int64_t)section.most);
            words[2] = last > 0;
        }
    }
}

/* Of the deleted places of a large list those that it keeps are holes; the others are gone from its last places. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) mark_holes(
    const uint64_t* addresses, const int32_t* index, int64_t number, const int64_t* firsts, const int64_t* sums,
    const int32_t* found, const int64_t* places, const signed char* states, signed char* holes, signed char* gone) {
    const Pages pages{addresses, nullptr, index, 0, 0};
    for (int64_t i = global_thread(); i < number; i += num_threads()) {
        if (states[i] != APPLIED || index[3 * (int64_t)found[i] + 1] != 0) {
            continue;
        }
        const int64_t page = found[i], first = firsts[page], deleted = sum_of_page(sums, firsts, page);
        const int64_t kept = pages.words(page)[HEADER_WORDS] - deleted;
        if (places[i] < kept) {
            holes[i] = 1;
        } else {
            gone[first + places[i] - kept] = 1;
        }
    }
}

/* The holes of each large list, one after the other from the list's first arc on. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) list_holes(
    int64_t number, const int64_t* firsts, const int32_t* found, const int64_t* places, const signed char* holes,
    const int64_t* sums_of_holes, int64_t* targets) {
    for (int64_t i = global_thread(); i < number; i += num_threads()) {
        if (holes[i]) {
            const int64_t first = firsts[found[i]];
            targets[first + sums_of_holes[i] - 1 - sum_before(sums_of_holes, first)] = places[i];
        }
    }
}

/* Thread `first + k` of a list moves the k-th of its last neighbours, if that is not gone, and clears its place. */
extern "C" __global__ void __launch_bounds__(LOOKUP_THREADS) fill_holes(
    const uint64_t* addresses, const uint64_t* weights, const int32_t* index, int size, int64_t number, const int64_t* firsts,
    const int64_t* sums, const int32_t* found, const signed char* gone, const int64_t* sums_of_gone, const int64_t* targets) {
    const Pages pages{addresses, weights, index, 0, size};
    for (int64_t i = global_thread(); i < number; i += num_threads()) {
        const int64_t page = found[i];
        if (page < 0 || index[3 * page + 1] != 0) {
            continue;
        }
        const int64_t first = firsts[page], deleted = sum_of_page(sums, firsts, page);
        if (i - first >= deleted) {
            continue;
        }
        const int64_t kept = pages.words(page)[HEADER_WORDS] - deleted;
        const Word from = word_of(kept + i - first, HEADER_WORDS, size);
        if (!gone[i]) {
            const int64_t rank = i - first - (sum_before(sums_of_gone, i) - sum_before(sums_of_gone, first));
            const Word to = word_of(targets[first + rank], HEADER_WORDS, size);
            pages.words(page + to.page)[to.word] = pages.words(page + from.page)[from.word];
            if (weights) {
                pages.weights_of(page + to.page)[to.word] = pages.weights_of(page + from.page)[from.word];
            }
        }
        pages.words(page + from.page)[from.word] = 0;
        if (weights) {
            pages.weights_of(page + from.page)[from.word] = 0;
        }
    }
}
