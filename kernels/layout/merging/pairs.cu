/* Changes of pairs of rows, of which each has one arc afterwards or none (pairs.py): the newest of each pair, and its effect.

   `pack_pairs`: a thread per change makes its key: the row, the position of the neighbour, and in the lowest bit whether the pair
   has an arc afterwards; after a stable sort by the other bits, the last key of a pair is its newest change. `count_newest` and
   `take_newest`: a thread per key. `resolve_pairs` searches the pair in its row, which says the kind of the change (-1 deletes,
   0 updates, 1 inserts, NOTHING: there is no arc to delete), and `take_effective` keeps the changes that do something.

   What is kept of a block is counted first; the sums of these counts are where the block writes. ROW is the type of a row. */
#include "gpu/device.cuh"

#define NOTHING 2
#define WARPS (MERGE_THREADS / 32)

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) pack_pairs(
    const ROW* rows, const ROW* indices, const bool* puts, const ROW* positions, int bits, int64_t length, uint64_t* keys) {
    for (int64_t i = global_thread(); i < length; i += num_threads()) {
        keys[i] = (((uint64_t)rows[i] << bits | (uint64_t)positions[indices[i]]) << 1) | puts[i];
    }
}

__device__ __forceinline__ bool is_newest(const uint64_t* keys, int64_t place, int64_t length) {
    return place < length && (place + 1 == length || keys[place] >> 1 != keys[place + 1] >> 1);
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) count_newest(const uint64_t* keys, int64_t length, int64_t* counts) {
    __shared__ int warps[WARPS];
    int total;
    kept_before(is_newest(keys, global_thread(), length), warps, total);
    if (threadIdx.x == 0) {
        counts[blockIdx.x + 1] = total;
    }
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) take_newest(
    const uint64_t* keys, int64_t length, const int64_t* counts, int bits, const ROW* rows_by_position, const uint32_t* order,
    const void* weights, int weight_bytes, ROW* rows, ROW* indices, bool* puts, void* out_weights) {
    __shared__ int warps[WARPS];
    const int64_t place = global_thread();
    const bool keep = is_newest(keys, place, length);
    int total;
    const int64_t target = counts[blockIdx.x] + kept_before(keep, warps, total);
    if (keep) {
        const uint64_t pair = keys[place] >> 1;
        rows[target] = (ROW)(pair >> bits);
        indices[target] = rows_by_position[pair & ((1ull << bits) - 1)];
        puts[target] = keys[place] & 1;
        if (weight_bytes) {
            copy_element(weights, weight_bytes, order[place], out_weights, target);
        }
    }
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) resolve_pairs(
    const int64_t* offsets, int64_t num_rows, const ROW* arcs, const ROW* positions, const ROW* rows, const ROW* indices,
    const bool* puts, int64_t length, int64_t* places, signed char* kinds, int64_t* counts, int64_t* sums) {
    __shared__ int warps[2][WARPS];
    const int64_t change = global_thread();
    int kind = NOTHING;
    if (change < length) {
        const ROW row = rows[change], rank = positions[indices[change]];
        const bool old = row < num_rows;
        const int64_t last = offsets[old ? row + 1 : num_rows];
        const int64_t place =
            first_not(offsets[old ? row : num_rows], last, [=](int64_t arc) { return positions[arcs[arc]] < rank; });
        const bool found = place < last && arcs[place] == indices[change];
        kind = puts[change] ? !found : found ? -1 : NOTHING;
        places[change] = place;
        kinds[change] = (signed char)kind;
    }
    int kept, unchanged, added;
    kept_before(kind != NOTHING, warps[0], kept);
    __syncthreads();
    kept_before(kind == 0, warps[1], unchanged);
    __syncthreads();
    kept_before(kind == 1, warps[0], added);
    if (threadIdx.x == 0) {
        counts[blockIdx.x + 1] = kept;
        sums[blockIdx.x + 1] = added - (kept - unchanged - added);
    }
}

extern "C" __global__ void __launch_bounds__(MERGE_THREADS) take_effective(
    const ROW* rows, const ROW* indices, const void* weights, int weight_bytes, const int64_t* places, const signed char* kinds,
    int64_t length, const int64_t* counts, const int64_t* sums, ROW* out_rows, ROW* out_heads, void* out_weights,
    signed char* out_kinds, int64_t* out_places, int64_t* before) {
    __shared__ int warps[2][WARPS];
    const int64_t change = global_thread();
    const int kind = change < length ? kinds[change] : NOTHING;
    int total, added;
    const int64_t target = counts[blockIdx.x] + kept_before(kind != NOTHING, warps[0], total);
    const int more = kept_before(kind == 1, warps[1], added);
    __syncthreads();
    const int fewer = kept_before(kind == -1, warps[0], total);
    if (kind != NOTHING) {
        out_rows[target] = rows[change];
        out_heads[target] = indices[change];
        out_kinds[target] = (signed char)kind;
        out_places[target] = places[change];
        before[target] = sums[blockIdx.x] + more - fewer;
        copy_element(weights, weight_bytes, change, out_weights, target);
    }
    if (global_thread() == 0) {
        before[counts[gridDim.x]] = sums[gridDim.x];
    }
}
