/* The neighbours of rows; a warp takes a row.

   Method: arcs ascend by the position of their neighbour, so that repeats are adjacent. An out-arc counts unless it repeats
   the one before; an in-arc also if the row has no out-arc to its tail, which a binary search finds. No in-arcs are given of
   a symmetric graph. */
#include "gpu/device.cuh"

struct Side {
    const int64_t* offsets;
    const ROW* indices;
};

/* Call `take(neighbour, counts)` by all lanes of a warp for each arc of a row; lanes without an arc pass false. */
template <typename Take>
__device__ __forceinline__ void for_arcs(Side out, Side into, const ROW* positions, int64_t row, Take take) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = out.offsets[row]; base < out.offsets[row + 1]; base += 32) {
        const int64_t arc = base + lane;
        const ROW other = arc < out.offsets[row + 1] ? out.indices[arc] : (ROW)row;
        take(other, other != row && (arc == out.offsets[row] || out.indices[arc - 1] != other));
    }
    for (int64_t base = into.offsets ? into.offsets[row] : 0; into.offsets && base < into.offsets[row + 1]; base += 32) {
        const int64_t arc = base + lane, end = out.offsets[row + 1];
        const ROW other = arc < into.offsets[row + 1] ? into.indices[arc] : (ROW)row;
        bool counts = other != row && (arc == into.offsets[row] || into.indices[arc - 1] != other);
        if (counts) {
            const ROW position = positions[other];
            const int64_t place =
                first_not(out.offsets[row], end, [&](int64_t i) { return positions[out.indices[i]] < position; });
            counts = place == end || out.indices[place] != other;
        }
        take(other, counts);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
count_neighbours(const int64_t* out_offsets, const ROW* heads, const int64_t* into_offsets, const ROW* tails,
    const ROW* positions, int64_t num_rows, int64_t* counts) {
    for (int64_t row = global_thread() / 32; row < num_rows; row += num_threads() / 32) {
        int64_t found = 0;
        for_arcs({out_offsets, heads}, {into_offsets, tails}, positions, row, [&](ROW, bool is_one) { found += is_one; });
        found = sum_of_warp(found);
        if ((threadIdx.x & 31) == 0) {
            counts[row] = found;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
list_neighbours(const int64_t* out_offsets, const ROW* heads, const int64_t* into_offsets, const ROW* tails,
    const ROW* positions, int64_t num_rows, const int64_t* offsets, ROW* listed) {
    const uint32_t lower = (1u << (threadIdx.x & 31)) - 1;
    for (int64_t row = global_thread() / 32; row < num_rows; row += num_threads() / 32) {
        int64_t place = offsets[row];
        for_arcs({out_offsets, heads}, {into_offsets, tails}, positions, row, [&](ROW other, bool is_one) {
            const uint32_t ones = __ballot_sync(FULL_WARP, is_one);
            if (is_one) {
                listed[place + __popc(ones & lower)] = other;
            }
            place += __popc(ones);
        });
    }
}
