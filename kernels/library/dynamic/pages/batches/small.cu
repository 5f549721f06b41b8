/* Batches in slotted pages: pages of small lists. A block has one page and the batch's arcs of its lists, all in shared memory.

   A warp takes the arcs of one source: to insert, those that its list has are duplicates; to delete, the last of parallel arcs
   are chosen. Then notes say where arcs are inserted and deleted, their sums by how much every word moves, and the words that
   move are written. Lists keep their order; insertions are appended. A page that would be too small is left as it is, and
   planned anew: FULL (the overflow list of cuSTINGER's two phases). `lay_out` then writes its lists to several pages, with space
   for the new arcs.

   WEIGHT is the type of weights. HEADER_WORDS, PAGE_THREADS: ../constants.py; states and counters: batches.cuh.

   Green, Bader: cuSTINGER (HPEC 2016). */
#include "library/dynamic/pages/batches/page.cuh"

/* Call `take(slot, first arc, end)` by a warp for the arcs of each list. */
template <typename Take>
__device__ void for_lists(const OfPage& of, int64_t first, int64_t last, Take take) {
    for (int64_t arc = first + threadIdx.x / 32; arc < last; arc += WARPS) {
        const int slot = of.slots[arc];
        if (slot >= 0 && (arc == first || of.slots[arc - 1] != slot)) {
            const bool alone = arc + 1 == last || of.slots[arc + 1] != slot;
            take(slot, arc, alone ? arc + 1 : of.arcs.end_of_source(arc, last));
        }
    }
}

/* The pages of lists of `degree(slot)` neighbours: as many lists in each as fit `limit` words, at least one, as plan_pages does.
   `place(slot, page, pages of the list, whether it begins a page)` is called in order. One thread. */
template <typename Degree, typename Place>
__device__ int plan(int count, int size, int limit, Degree degree, Place place) {
    int pages = 0, free = 0;
    for (int slot = 0; slot < count; ++slot) {
        const int cost = degree(slot) + 3;
        const bool begins = slot == 0 || cost > free;
        const int of_list = begins ? pages_of(degree(slot), size) : 1;
        pages += begins ? of_list : 0;
        free = begins ? limit - cost : free - cost;
        place(slot, pages - of_list, of_list, begins);
    }
    return pages;
}

extern "C" __global__ void __launch_bounds__(PAGE_THREADS, PAGE_BLOCKS) insert_into_pages(
    const uint64_t* addresses, const uint64_t* weights, int size, int limit, const uint64_t* keys, int64_t number, int bits,
    const int64_t* firsts, const int32_t* slots, const WEIGHT* added, bool unique, const int32_t* touched,
    const int64_t* num_touched, signed char* states, int32_t* widths, int32_t* full, int64_t* counters) {
    extern __shared__ uint64_t memory[]; /* weights, words and shifts of the page */
    __shared__ int sums[ROWS];
    __shared__ int of_warps[WARPS];
    __shared__ int inserted;
    __shared__ Staged staged;
    const Pages pages{addresses, weights, nullptr, 0, size};
    const Arcs arcs{keys, number, bits};
    const int thread = threadIdx.x, lane = thread & 31;
    for (int64_t item = blockIdx.x; item < *num_touched; item += gridDim.x) {
        const int64_t page = touched[item], first = firsts[page], last = firsts[page + 1];
        const OfPage of = stage(staged, arcs, slots, states, first, last);
        const Loaded loaded = load(pages, page, memory, sums);
        if (thread == 0) {
            inserted = 0;
        }
        if (unique) {
            for_lists(of, first, last, [&](int slot, int64_t begin, int64_t end) {
                const int start = loaded.start(slot), degree = loaded.old[start];
                const int32_t source = of.arcs.source(begin);
                for (int place = lane; place < degree; place += 32) {
                    const int64_t arc = of.arcs.find_key(begin, end, of.arcs.key(source, loaded.old[start + 1 + place]));
                    if (arc >= 0 && of.states[arc] == NEW) {
                        of.states[arc] = DUPLICATE;
                    }
                }
            });
        }
        __syncthreads();
        for (int64_t arc = first + thread; arc < last; arc += PAGE_THREADS) {
            of.write_state(arc);
            if (of.states[arc] == NEW) {
                atomicAdd(&inserted, 1);
                loaded.note(loaded.behind(of.slots[arc]), 1);
                atomicAdd(&loaded.old[loaded.start(of.slots[arc])], 1);
            }
        }
        __syncthreads();
        const bool fits = inserted <= size - 2 * loaded.count - loaded.end;
        if (inserted > 0 && !fits && thread == 0) {
            full[atomicAdd((uint64_t*)counters + FULL, 1ull)] = (int32_t)page;
            const auto degree = [&](int slot) { return loaded.old[loaded.start(slot)]; };
            const int made = plan(loaded.count, size, limit, degree, [](int, int, int, bool) {});
            widths[page] = made;
            atomicAdd((uint64_t*)counters + PAGES, (uint64_t)(made - 1));
        }
        if (inserted == 0 || !fits) {
            continue;
        }
        sum_shifts(loaded);
        write_moved(loaded);
        int earlier = 0;
        for (int64_t tile = first; tile < last; tile += PAGE_THREADS) {
            const int64_t arc = tile + thread;
            const bool takes = arc < last && of.states[arc] == NEW;
            int taken;
            const int rank = earlier + kept_before(takes, of_warps, taken);
            earlier += taken;
            if (takes) { /* words move by the arcs of the lists before, which the rank includes */
                const int word = loaded.behind(of.slots[arc]) + rank;
                loaded.page[word] = of.arcs.head(arc);
                if (weights) {
                    loaded.weights[word] = added[arc];
                }
                states[arc] = APPLIED;
            }
            __syncthreads();
        }
    }
}

extern "C" __global__ void __launch_bounds__(PAGE_THREADS, PAGE_BLOCKS) delete_from_pages(
    const uint64_t* addresses, const uint64_t* weights, int size, const uint64_t* keys, int64_t number, int bits,
    const int64_t* firsts, const int32_t* slots, const int32_t* touched, const int64_t* num_touched, signed char* states) {
    extern __shared__ uint64_t memory[]; /* weights, words and shifts of the page */
    __shared__ int sums[ROWS];
    __shared__ Staged staged;
    const Pages pages{addresses, weights, nullptr, 0, size};
    const Arcs arcs{keys, number, bits};
    const int lane = threadIdx.x & 31;
    for (int64_t item = blockIdx.x; item < *num_touched; item += gridDim.x) {
        const int64_t page = touched[item], first = firsts[page], last = firsts[page + 1];
        const OfPage of = stage(staged, arcs, slots, states, first, last);
        const Loaded loaded = load(pages, page, memory, sums);
        for_lists(of, first, last, [&](int slot, int64_t begin, int64_t end) {
            const int start = loaded.start(slot), degree = loaded.old[start];
            const int32_t source = of.arcs.source(begin);
            for (int behind = degree; behind > 0; behind -= 32) { /* from the end: the last of parallel arcs are deleted */
                const int place = behind - 1 - lane;
                const uint64_t key = place < 0 ? 0 : of.arcs.key(source, loaded.old[start + 1 + place]);
                int64_t arc = place < 0 ? -1 : of.arcs.find_key(begin, end, key);
                if (__ballot_sync(FULL_WARP, arc >= 0) == 0) {
                    continue;
                }
                const uint32_t equal = __match_any_sync(FULL_WARP, (unsigned long long)arc);
                if (arc >= 0) {
                    while (arc < end && of.arcs.keys[arc] == key && of.states[arc] != NEW) {
                        ++arc;
                    }
                    arc += __popc(equal & ((1u << lane) - 1));
                }
                __syncwarp();
                if (arc >= 0 && arc < end && of.arcs.keys[arc] == key) {
                    of.states[arc] = APPLIED;
                    loaded.old[start + 1 + place] = -1 - loaded.old[start + 1 + place];
                    loaded.note(start + 2 + place, -1);
                    atomicAdd(&loaded.old[start], -1);
                }
                __syncwarp();
            }
        });
        __syncthreads();
        for (int64_t arc = first + threadIdx.x; arc < last; arc += PAGE_THREADS) {
            of.write_state(arc);
        }
        sum_shifts(loaded);
        if (loaded.shift(loaded.end) < 0) {
            write_moved(loaded);
        }
    }
}

/* Write the lists of FULL pages, without their new arcs, to the pages that take their places, and the index of these. The new
   pages are zero. */
extern "C" __global__ void __launch_bounds__(PAGE_THREADS) lay_out(
    const uint64_t* addresses, const uint64_t* weights, int size, int limit, const uint64_t* new_addresses,
    const uint64_t* new_weights, const int32_t* widths, const int64_t* ends, const int64_t* firsts, const int32_t* slots,
    const signed char* states, const int32_t* full, int32_t* new_index, int32_t* relaid, int64_t* counters) {
    extern __shared__ uint64_t memory[]; /* weights, words and shifts of the page; three words for each list */
    __shared__ int sums[ROWS];
    const Pages pages{addresses, weights, nullptr, 0, size};
    const int64_t page = full[blockIdx.x], start = ends[page] - widths[page];
    const Loaded loaded = load(pages, page, memory, sums);
    int* const places = loaded.shifts + size; /* of each list: page, slot, word of the degree */
    for (int64_t arc = firsts[page] + threadIdx.x; arc < firsts[page + 1]; arc += PAGE_THREADS) {
        if (states[arc] == NEW) {
            atomicAdd(&loaded.shifts[slots[arc]], 1);
        }
    }
    for (int i = threadIdx.x; i < size; i += PAGE_THREADS) { /* the first of the new pages has the old one's memory */
        loaded.page[i] = 0;
        if (weights) {
            loaded.weights[i] = 0;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int word = 0, slot_there = 0;
        const auto degree = [&](int slot) { return loaded.old[loaded.start(slot)] + loaded.shifts[slot]; };
        plan(loaded.count, size, limit, degree, [&](int slot, int made, int of_list, bool begins) {
            const int32_t vertex = loaded.old[size - 1 - 2 * slot];
            slot_there = begins ? 0 : slot_there + 1;
            word = begins ? HEADER_WORDS : word;
            places[3 * slot] = made;
            places[3 * slot + 1] = slot_there;
            places[3 * slot + 2] = word;
            word += 1 + loaded.old[loaded.start(slot)];
            int32_t* const words = (int32_t*)new_addresses[start + made];
            words[0] = slot_there + 1;
            words[1] = word - 1;
            words[2] = of_list > 1;
            if (begins && of_list == 1) {
                relaid[atomicAdd((uint64_t*)counters + RELAID, 1ull)] = (int32_t)(start + made);
            }
            for (int part = 0; begins && part < of_list; ++part) {
                int32_t* const index = new_index + 3 * (start + made + part);
                index[0] = vertex;
                index[1] = of_list > 1 ? part : -1;
                index[2] = of_list > 1 ? of_list : -1;
            }
        });
    }
    __syncthreads();
    for (int slot = threadIdx.x / 32; slot < loaded.count; slot += WARPS) {
        const int from = loaded.start(slot), to = places[3 * slot + 2], there = places[3 * slot + 1];
        const int64_t number = start + places[3 * slot];
        int32_t* const words = (int32_t*)new_addresses[number];
        for (int i = threadIdx.x & 31; i <= loaded.old[from]; i += 32) {
            words[to + i] = loaded.old[from + i];
            if (weights && i > 0) {
                ((WEIGHT*)new_weights[number])[to + i] = loaded.old_weights[from + i];
            }
        }
        if ((threadIdx.x & 31) == 0) {
            words[size - 1 - 2 * there] = loaded.old[size - 1 - 2 * slot];
            words[size - 2 - 2 * there] = to;
        }
    }
}
