/* Kernels for predecessors over shards, in addition to kernels/paths/predecessors.cu: global rows, and the arcs of length zero.

   SUM, WEIGHT, ROW: kernels/paths/lengths.cuh. */
#include "paths/lengths.cuh"

/* Turn local rows into rows of the whole graph; negative entries stay. */
extern "C" __global__ void to_global_rows(int64_t num_own, int64_t first_row, const ROW* ghosts, ROW* predecessor) {
    for (int64_t row = global_thread(); row < num_own; row += num_threads()) {
        const ROW number = predecessor[row];
        if (number >= 0) {
            predecessor[row] = number < num_own ? (ROW)(number + first_row) : ghosts[number - num_own];
        }
    }
}

__device__ __forceinline__ bool has_length_zero(const Length* lengths, Length length, ROW end, WEIGHT weight) {
    return length < FAR && lengths[end] == length && plus(length, length_of(weight)) == length;
}

/* Count the arcs of each row that lead from a reached row to one of equal length. One row per warp. */
extern "C" __global__ void __launch_bounds__(THREADS) count_zero_steps(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const Length* lengths, int64_t num_rows, int64_t* counts) {
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread() >> 5; row < num_rows; row += num_threads() >> 5) {
        const Length length = lengths[row];
        int64_t count = 0;
        for (int64_t first = offsets[row]; first < offsets[row + 1] && length < FAR; first += 32) {
            const int64_t arc = first + lane;
            count += __popc(__ballot_sync(
                FULL_WARP, arc < offsets[row + 1] && has_length_zero(lengths, length, indices[arc], weights[arc])));
        }
        if (lane == 0) {
            counts[row] = count;
        }
    }
}

/* List these arcs in order, those of row r from `starts[r]` on. */
extern "C" __global__ void __launch_bounds__(THREADS) list_zero_steps(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const Length* lengths, int64_t num_rows,
    const int64_t* starts, ROW* listed) {
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread() >> 5; row < num_rows; row += num_threads() >> 5) {
        const Length length = lengths[row];
        int64_t place = starts[row];
        for (int64_t first = offsets[row]; first < offsets[row + 1] && place < starts[row + 1]; first += 32) {
            const int64_t arc = first + lane;
            const ROW end = arc < offsets[row + 1] ? indices[arc] : 0;
            const bool listing = arc < offsets[row + 1] && has_length_zero(lengths, length, end, weights[arc]);
            const uint32_t lanes = __ballot_sync(FULL_WARP, listing);
            if (listing) {
                listed[place + __popc(lanes & ((1u << lane) - 1))] = end;
            }
            place += __popc(lanes);
        }
    }
}
