/* Sorted changes merged into the sorted rows of a CSR: every arc moves by what the changes before it add.

   `find_places`: a thread per change searches its row. `shift_offsets`: a block's rows share the search of its first and last
   row in the changes. `move_arcs`: a block moves a tile of MERGE_THREADS * MERGE_ITEMS arcs; the shift of an arc is what the
   changes up to it add, so each thread looks up the changes of its MERGE_ITEMS arcs. However many changes are at one place, such
   as those of rows without arcs, they are passed over by a search. `put_arcs`: a thread per change writes the arc that it inserts
   or updates.

   kinds: -1 deletes, 0 updates, 1 inserts (layout/merging/changes.py). before[c]: the sum of the kinds before change c.
   Weights are moved as words of `weight_bytes` (0, 4 or 8). ROW is the type of a row. */
#include "gpu/device.cuh"

#define TILE (MERGE_THREADS * MERGE_ITEMS)
#define PADDED(i) ((i) + (i) / MERGE_ITEMS) /* so that threads that add up their own arcs use different banks */

/* Keys that ascend by row, rank and kind. */
extern "C" __global__ void __launch_bounds__(MERGE_THREADS) pack_changes(
    const ROW* rows, const ROW* ranks, const signed char* kinds, int64_t number, int rank_bits, uint64_t* keys) {
    for (int64_t i = global_thread(); i < number; i += num_threads()) {
        keys[i] = ((uint64_t)rows[i] << rank_bits | (uint64_t)ranks[i]) << KIND_BITS | (uint64_t)(kinds[i] + 1);
    }
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) unpack_changes(
    const uint64_t* keys, int64_t number, int rank_bits, ROW* rows, ROW* ranks, signed char* kinds) {
    for (int64_t i = global_thread(); i < number; i += num_threads()) {
        rows[i] = (ROW)(keys[i] >> KIND_BITS >> rank_bits);
        ranks[i] = (ROW)(keys[i] >> KIND_BITS & ((1ull << rank_bits) - 1));
        kinds[i] = (signed char)((int)(keys[i] & ((1 << KIND_BITS) - 1)) - 1);
    }
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) find_places(
    const int64_t* offsets, int64_t num_rows, const ROW* indices, const ROW* ranks, const ROW* rows, const ROW* heads,
    const signed char* kinds, int64_t num_changes, int64_t* places, bool* found) {
    for (int64_t change = global_thread(); change < num_changes; change += num_threads()) {
        const ROW row = rows[change], head = heads[change], rank = ranks ? ranks[head] : head;
        const bool inserts = kinds[change] > 0, old = row < num_rows;
        const int64_t first = offsets[old ? row : num_rows], last = offsets[old ? row + 1 : num_rows];
        int64_t place = first_not(first, last, [=](int64_t arc) {
            const ROW there = ranks ? ranks[indices[arc]] : indices[arc];
            return there < rank || (there == rank && inserts);
        });
        if (inserts) {
            found[change] = place > first && indices[place - 1] == head;
        } else { /* the k-th deletion of an arc takes the k-th of its parallel arcs */
            int64_t same = change;
            while (same > 0 && rows[same - 1] == row && heads[same - 1] == head && kinds[same - 1] == kinds[change]) {
                --same;
            }
            place = min(place + change - same, last);
            found[change] = place < last && indices[place] == head;
        }
        places[change] = place;
    }
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) shift_offsets(
    const int64_t* old, int64_t old_rows, const ROW* rows, int64_t num_changes, const int64_t* before, int64_t length,
    int64_t* offsets) {
    __shared__ int64_t ends[2];
    const int64_t begin = (int64_t)blockIdx.x * MERGE_THREADS, row = begin + threadIdx.x;
    if (threadIdx.x < 2) {
        const int64_t end = begin + threadIdx.x * (MERGE_THREADS - 1);
        ends[threadIdx.x] = first_not(0, num_changes, [=](int64_t c) { return rows[c] < end; });
    }
    __syncthreads();
    if (row < length) {
        offsets[row] = old[min(row, old_rows)] + before[first_not(ends[0], ends[1], [=](int64_t c) { return rows[c] < row; })];
    }
}

template <typename Word>
__device__ __forceinline__ void move_words(
    const Word* old, Word* target, int64_t begin, int count, const int* shifts, const uint32_t* gone, int64_t shift) {
#pragma unroll 4
    for (int i = threadIdx.x; i < count; i += MERGE_THREADS) {
        const Word word = old[begin + i];
        if (!(gone[i / 32] >> (i & 31) & 1)) {
            target[begin + i + shift + shifts[PADDED(i)]] = word;
        }
    }
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) put_arcs(
    const ROW* heads, const void* weights, int weight_bytes, const signed char* kinds, int64_t num_changes, const int64_t* places,
    const int64_t* before, ROW* out_indices, void* out_weights) {
    for (int64_t change = global_thread(); change < num_changes; change += num_threads()) {
        if (kinds[change] >= 0) {
            const int64_t place = places[change] + before[change];
            out_indices[place] = heads[change];
            copy_element(weights, weight_bytes, change, out_weights, place);
        }
    }
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) move_arcs(
    const ROW* indices, const void* weights, int weight_bytes, int64_t num_arcs, const signed char* kinds, const int64_t* places,
    const int64_t* before, const int64_t* firsts, ROW* out_indices, void* out_weights) {
    __shared__ int shifts[PADDED(TILE)];
    __shared__ uint32_t gone[TILE / 32];
    const int64_t begin = (int64_t)blockIdx.x * TILE, first = firsts[blockIdx.x], last = firsts[blockIdx.x + 1];
    const int64_t shift = before[first], mine = begin + threadIdx.x * MERGE_ITEMS;
    const int count = (int)min((int64_t)TILE, num_arcs - begin);
    int64_t change = first_not(first, last, [=](int64_t c) { return places[c] < mine; });
    int64_t next = change < last ? places[change] : num_arcs;
    uint32_t deleted = 0;
    int sum = (int)(before[change] - shift);
    for (int i = 0; i < MERGE_ITEMS; ++i) {
        const int64_t arc = mine + i;
        if (next == arc && arc < num_arcs) {
            ++change;
            if (change < last && places[change] == arc) { /* of several at a place the last one may be the arc's own */
                change = first_not(change, last, [=](int64_t c) { return places[c] <= arc; });
            }
            deleted |= (uint32_t)(kinds[change - 1] < 0) << i;
            sum = (int)(before[change] - shift);
            next = change < last ? places[change] : num_arcs;
        }
        shifts[PADDED(threadIdx.x * MERGE_ITEMS + i)] = sum;
    }
    /* a word of `gone` has the bits of two threads */
    deleted <<= threadIdx.x % 2 * MERGE_ITEMS;
    deleted |= __shfl_xor_sync(FULL_WARP, deleted, 1);
    if (threadIdx.x % 2 == 0) {
        gone[threadIdx.x / 2] = deleted;
    }
    __syncthreads();
    move_words(indices, out_indices, begin, count, shifts, gone, shift);
    if (weight_bytes == 4) {
        move_words((const uint32_t*)weights, (uint32_t*)out_weights, begin, count, shifts, gone, shift);
    } else if (weight_bytes == 8) {
        move_words((const uint64_t*)weights, (uint64_t*)out_weights, begin, count, shifts, gone, shift);
    }
}
