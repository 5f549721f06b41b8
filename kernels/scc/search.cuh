/* The simultaneous searches from the pivot, forward and backward: the first phase of scc.cu. */
#pragma once

#include "scc/parts.cuh"

#define LEVELS 400 /* after which the searches are given up */

__device__ __forceinline__ uint64_t ranges_of(Arcs arcs, ROW row) {
    return (uint64_t)(arcs.offsets[row + 1] - arcs.offsets[row] + RANGE - 1) / RANGE;
}

__device__ __forceinline__ uint64_t range_of(int64_t first, int64_t end, bool backward) {
    return (uint64_t)backward << 63 | (uint64_t)first << 8 | (uint64_t)(end - first < RANGE ? end - first : RANGE);
}

/* The row with the largest product of degrees in the block; any of several, for the components do not depend on it. */
__device__ Pivot best_of_block(uint64_t product, int64_t row) {
    __shared__ Pivot best;
    if (threadIdx.x == 0) {
        best = {0, 0};
    }
    __syncthreads();
    atomicMax(&best.product, product);
    __syncthreads();
    if (best.product == product) {
        best.row = row;
    }
    __syncthreads();
    return best;
}

/* Initialise open rows, labels and names, and find every block's best pivot. */
__device__ void prepare(const Search& search, const ROW* positions, ROW* labels, ROW* names, Control* control) {
    uint64_t product = 0;
    int64_t pivot = 0;
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread(); row - lane < search.num_rows; row += num_threads()) {
        uint64_t degrees = 0;
        if (row < search.num_rows) {
            degrees = (uint64_t)(search.out.offsets[row + 1] - search.out.offsets[row]);
            degrees *= (uint64_t)(search.into.offsets[row + 1] - search.into.offsets[row]);
            labels[row] = (ROW)row;
            names[row] = positions[row];
        }
        if (degrees > product) {
            product = degrees;
            pivot = row;
        }
        const uint32_t open = __ballot_sync(FULL_WARP, degrees > 0);
        if (lane == 0) {
            search.open[row >> 5] = open;
            search.fore[row >> 5] = search.back[row >> 5] = 0;
        }
    }
    const Pivot best = best_of_block(product, pivot);
    if (threadIdx.x == 0) {
        control->best[blockIdx.x] = best;
    }
}

/* Block 0 chooses the pivot and queues its out-arcs and in-arcs. */
__device__ void start_search(const Search& search, Control* control, uint64_t* queued) {
    Pivot best = {0, 0};
    for (unsigned block = threadIdx.x; block < gridDim.x; block += THREADS) {
        const Pivot other = control->best[block];
        best = other.product > best.product ? other : best;
    }
    best = best_of_block(best.product, best.row);
    if (best.product == 0) {
        return;
    }
    const ROW row = (ROW)best.row;
    const uint64_t forward = ranges_of(search.out, row), both = forward + ranges_of(search.into, row);
    for (uint64_t k = threadIdx.x; k < both; k += THREADS) {
        const bool backward = k >= forward;
        const int64_t* offsets = (backward ? search.into : search.out).offsets + row;
        search.queue[k] = range_of(offsets[0] + (int64_t)(backward ? k - forward : k) * RANGE, offsets[1], backward);
    }
    if (threadIdx.x == 0) {
        search.fore[row >> 5] |= 1u << (row & 31);
        search.back[row >> 5] |= 1u << (row & 31);
        control->best[0] = best;
        *queued = both;
    }
}

/* Queue the arcs of the rows that lanes hold, all of one search. All lanes of a warp have to call it. */
__device__ __forceinline__ void enqueue(
    const Search& search, bool holds, ROW row, bool backward, uint64_t tail, uint64_t* queued) {
    const int lane = threadIdx.x & 31;
    const int64_t* offsets = (backward ? search.into : search.out).offsets;
    const int64_t begin = holds ? offsets[row] : 0, end = holds ? offsets[row + 1] : 0;
    const uint64_t mine = (uint64_t)(end - begin + RANGE - 1) / RANGE;
    const uint64_t sum = sum_up_to_lane(mine);
    uint64_t first = 0;
    if (lane == 31) {
        first = atomicAdd(queued, sum);
    }
    uint64_t* place = search.queue + tail + __shfl_sync(FULL_WARP, first, 31) + sum - mine;
    if (mine == 1) {
        *place = range_of(begin, end, backward);
    }
    uint32_t longs = __ballot_sync(FULL_WARP, mine > 1);
    for (; longs; longs &= longs - 1) {
        const int source = __ffs(longs) - 1;
        const int64_t from = __shfl_sync(FULL_WARP, begin, source), to = __shfl_sync(FULL_WARP, end, source);
        uint64_t* ranges = (uint64_t*)__shfl_sync(FULL_WARP, (uint64_t)place, source);
        for (int64_t k = lane; from + k * RANGE < to; k += 32) {
            ranges[k] = range_of(from + k * RANGE, to, backward);
        }
    }
}

/* Follow the queued ranges, one per warp; `queue[tail:]` receives the arcs of the rows found. */
__device__ void push(const Search& search, uint64_t head, uint64_t tail, uint64_t* queued) {
    const int lane = threadIdx.x & 31;
    for (uint64_t place = head + (uint64_t)(global_thread() >> 5); place < tail; place += num_threads() >> 5) {
        const uint64_t range = __ldcg(search.queue + place);
        const bool backward = range >> 63;
        const ROW* heads = (backward ? search.into : search.out).indices + (range << 1 >> 9);
        uint32_t* reached = backward ? search.back : search.fore;
        const ROW row = lane < (int)(range & 255) ? heads[lane] : 0;
        bool is_new = lane < (int)(range & 255) && has(search.open, row);
        if (is_new) {
            uint32_t* word = reached + (row >> 5);
            const uint32_t bit = 1u << (row & 31);
            /* many lanes find a popular row at once: a load first, past L1, costs less than an atomic of each */
            is_new = !(__ldcg(word) & bit) && !(atomicOr(word, bit) & bit);
        }
        if (__any_sync(FULL_WARP, is_new)) {
            enqueue(search, is_new, row, backward, tail, queued);
        }
    }
}

/* The rows of one word in `pending` that have a reached neighbour; one warp per word. */
__device__ __forceinline__ uint32_t pull_word(Arcs arcs, const uint32_t* reached, int64_t word, uint32_t pending) {
    const int lane = threadIdx.x & 31;
    int64_t arc = 0, end = 0;
    bool hit = false;
    if (pending >> lane & 1) {
        arc = arcs.offsets[word * 32 + lane];
        end = arcs.offsets[word * 32 + lane + 1];
        const int64_t stop = end - arc > LANE_ARCS ? arc + LANE_ARCS : end;
        for (; arc < stop && !hit; arc += BATCH) {
            ROW rows[BATCH];
            for (int k = 0; k < BATCH; ++k) {
                rows[k] = arcs.indices[arc + k < stop ? arc + k : stop - 1];
            }
            for (int k = 0; k < BATCH; ++k) {
                hit |= has(reached, rows[k]);
            }
        }
    }
    uint32_t hits = __ballot_sync(FULL_WARP, hit);
    uint32_t longs = __ballot_sync(FULL_WARP, !hit && arc < end);
    for (; longs; longs &= longs - 1) {
        const int source = __ffs(longs) - 1;
        const int64_t first = __shfl_sync(FULL_WARP, arc, source), stop = __shfl_sync(FULL_WARP, end, source);
        bool any = false;
        for (int64_t base = first; base < stop && !any; base += 32 * BATCH) {
            bool mine = false;
            for (int k = 0; k < BATCH; ++k) {
                const int64_t at = base + k * 32 + lane;
                mine |= at < stop && has(reached, arcs.indices[at]);
            }
            any = __any_sync(FULL_WARP, mine);
        }
        hits |= any ? 1u << source : 0;
    }
    return hits;
}

/* Search the arcs of every open row for a reached neighbour, in both searches; `new_fore` and `new_back` become the rows
   found. */
__device__ void pull(const Search& search, uint64_t* found) {
    const int lane = threadIdx.x & 31;
    uint64_t rows = 0;
    for (int64_t word = global_thread() >> 5; word < search.num_words; word += num_threads() >> 5) {
        const uint32_t open = search.open[word];
        const uint32_t fore = search.fore[word], back = search.back[word];
        const uint32_t fores = open & ~fore ? pull_word(search.into, search.fore, word, open & ~fore) : 0;
        const uint32_t backs = open & ~back ? pull_word(search.out, search.back, word, open & ~back) : 0;
        if (lane == 0) {
            search.fore[word] = fore | fores;
            search.back[word] = back | backs;
            search.new_fore[word] = fores;
            search.new_back[word] = backs;
            rows += __popc(fores) + __popc(backs);
        }
    }
    if (lane == 0 && rows) {
        atomicAdd(found, rows);
    }
}

/* Queue the arcs of the rows that the last `pull` found. */
__device__ void enqueue_new(const Search& search, uint64_t tail, uint64_t* queued) {
    const int lane = threadIdx.x & 31;
    for (int64_t word = global_thread() >> 5; word < search.num_words; word += num_threads() >> 5) {
        const uint32_t fores = search.new_fore[word], backs = search.new_back[word];
        const ROW row = (ROW)(word * 32 + lane);
        if (fores) {
            enqueue(search, fores >> lane & 1, row, false, tail, queued);
        }
        if (backs) {
            enqueue(search, backs >> lane & 1, row, true, tail, queued);
        }
    }
}

/* Search both ways from the pivot; returns false if the searches were given up. */
__device__ bool search_both_ways(const Search& search, Summing& sums, uint64_t tail) {
    const uint64_t many = search.num_rows / 32 > 65536 ? search.num_rows / 32 : 65536;
    uint64_t head = 0;
    for (int level = 0; head < tail; ++level) {
        if (level == LEVELS) {
            return false;
        }
        if (tail - head <= many) {
            push(search, head, tail, sums.count());
        } else {
            do {
                pull(search, sums.count());
            } while (sums.close() > many / 8);
            enqueue_new(search, tail, sums.count());
        }
        head = tail;
        tail += sums.close();
    }
    return true;
}
