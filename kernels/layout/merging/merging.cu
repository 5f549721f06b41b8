/* Sorted changes merged into the sorted rows of a CSR: every arc moves by what the changes before it add.

   `find_places`: a thread per change searches its row. `shift_offsets`: a thread per row searches the changes. `move_arcs`: a
   block moves a tile of MERGE_THREADS * MERGE_ITEMS arcs; it notes in shared memory where its changes insert and delete, and the
   sum of these notes up to an arc, with `before` of the tile's first change, is the arc's shift. An insertion writes its own arc.

   kinds: -1 deletes, 0 updates, 1 inserts (layout/merging/changes.py). before[c]: the sum of the kinds before change c.
   Weights are moved as words of `weight_bytes` (0, 4 or 8). ROW is the type of a row. */
#include "gpu/device.cuh"

#define TILE (MERGE_THREADS * MERGE_ITEMS)
#define PADDED(i) ((i) + (i) / MERGE_ITEMS) /* so that threads that add up their own arcs use different banks */

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
    for (int64_t row = global_thread(); row < length; row += num_threads()) {
        const int64_t change = first_not(0, num_changes, [=](int64_t c) { return rows[c] < row; });
        offsets[row] = old[min(row, old_rows)] + before[change];
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

template <typename Word>
__device__ __forceinline__ void add_words(
    const Word* added, Word* target, const signed char* kinds, const int64_t* places, const int64_t* before, int64_t first,
    int64_t last) {
    for (int64_t change = first + threadIdx.x; change < last; change += MERGE_THREADS) {
        if (kinds[change] >= 0) {
            target[places[change] + before[change]] = added[change];
        }
    }
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) move_arcs(
    const ROW* indices, const void* weights, int weight_bytes, int64_t num_arcs, const ROW* heads, const void* added_weights,
    const signed char* kinds, const int64_t* places, const int64_t* before, const int64_t* firsts, ROW* out_indices,
    void* out_weights) {
    __shared__ int shifts[PADDED(TILE) + 2];
    __shared__ uint32_t gone[TILE / 32];
    __shared__ int sums[MERGE_THREADS / 32];
    const int64_t begin = (int64_t)blockIdx.x * TILE, first = firsts[blockIdx.x], last = firsts[blockIdx.x + 1];
    const int count = (int)min((int64_t)TILE, num_arcs - begin), lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    for (int i = threadIdx.x; i < PADDED(TILE) + 2; i += MERGE_THREADS) {
        shifts[i] = 0;
    }
    for (int i = threadIdx.x; i < TILE / 32; i += MERGE_THREADS) {
        gone[i] = 0;
    }
    __syncthreads();
    for (int64_t change = first + threadIdx.x; change < last; change += MERGE_THREADS) {
        const int place = (int)(places[change] - begin), kind = kinds[change];
        if (kind > 0) {
            atomicAdd(&shifts[PADDED(place)], 1);
        } else {
            atomicOr(&gone[place / 32], 1u << (place & 31));
            if (kind < 0) {
                atomicAdd(&shifts[PADDED(place + 1)], -1);
            }
        }
    }
    __syncthreads();
    if (last > first) { /* shifts: from notes to their sums */
        int* const mine = shifts + threadIdx.x * (MERGE_ITEMS + 1);
        int sum = 0;
        for (int i = 0; i < MERGE_ITEMS; ++i) {
            sum += mine[i];
            mine[i] = sum;
        }
        const int up_to = sum_up_to_lane(sum);
        if (lane == 31) {
            sums[warp] = up_to;
        }
        __syncthreads();
        int earlier = up_to - sum;
        for (int other = 0; other < warp; ++other) {
            earlier += sums[other];
        }
        for (int i = 0; i < MERGE_ITEMS; ++i) {
            mine[i] += earlier;
        }
        __syncthreads();
    }
    const int64_t shift = before[first];
    move_words(indices, out_indices, begin, count, shifts, gone, shift);
    add_words(heads, out_indices, kinds, places, before, first, last);
    if (weight_bytes == 4) {
        uint32_t* const out = (uint32_t*)out_weights;
        move_words((const uint32_t*)weights, out, begin, count, shifts, gone, shift);
        add_words((const uint32_t*)added_weights, out, kinds, places, before, first, last);
    } else if (weight_bytes == 8) {
        uint64_t* const out = (uint64_t*)out_weights;
        move_words((const uint64_t*)weights, out, begin, count, shifts, gone, shift);
        add_words((const uint64_t*)added_weights, out, kinds, places, before, first, last);
    }
}
