/* The arcs from own rows to ghosts, as keys: the ghost above the arc, in the order of the own rows' external ids.
   One warp per row; `num_own` is also the first ghost's local row.

   count_arcs  the number of these arcs of each row, in the order of ids
   list_arcs   their keys, from the row's first place on
   find_rows   arcs of sorted keys, and their own rows */
#include "gpu/device.cuh"

extern "C" __global__ void count_arcs(
    const int64_t* offsets, const ROW* neighbours, const ROW* own_by_id, int64_t num_own, int64_t* counts) {
    for (int64_t place = global_thread() >> 5; place < num_own; place += num_threads() >> 5) {
        const int64_t row = own_by_id[place];
        int64_t count = 0;
        for (int64_t arc = offsets[row] + (threadIdx.x & 31); arc < offsets[row + 1]; arc += 32) {
            count += neighbours[arc] >= num_own;
        }
        count = sum_of_warp(count);
        if ((threadIdx.x & 31) == 0) {
            counts[place] = count;
        }
    }
}

extern "C" __global__ void list_arcs(
    const int64_t* offsets, const ROW* neighbours, const ROW* own_by_id, int64_t num_own, const int64_t* first_places,
    int32_t arc_bits, uint64_t* keys) {
    const int lane = threadIdx.x & 31;
    for (int64_t place = global_thread() >> 5; place < num_own; place += num_threads() >> 5) {
        const int64_t row = own_by_id[place], end = offsets[row + 1];
        uint64_t* next = keys + first_places[place];
        for (int64_t first = offsets[row]; first < end; first += 32) {
            const int64_t arc = first + lane, ghost = arc < end ? (int64_t)neighbours[arc] - num_own : -1;
            const uint32_t lanes = __ballot_sync(FULL_WARP, ghost >= 0);
            if (ghost >= 0) {
                next[__popc(lanes & ((1u << lane) - 1))] = (uint64_t)ghost << arc_bits | (uint64_t)arc;
            }
            next += __popc(lanes);
        }
    }
}

extern "C" __global__ void find_rows(
    const int64_t* offsets, int64_t num_own, const uint64_t* keys, int64_t count, int32_t arc_bits, int64_t* arcs, ROW* rows) {
    for (int64_t place = global_thread(); place < count; place += num_threads()) {
        const int64_t arc = (int64_t)(keys[place] & (((uint64_t)1 << arc_bits) - 1));
        arcs[place] = arc;
        rows[place] = (ROW)(first_not(1, num_own, [=](int64_t row) { return offsets[row] <= arc; }) - 1);
    }
}
