/* The rows of a band in slices of 32, which pagerank.cu reads transposed. */
#include "gpu/device.cuh"

/* Distribute the items, in the order of rows, to the lanes of slices: item k of a lane is 32 k behind its first. */
extern "C" __global__ void deal_items(
    const int64_t* items, int64_t num_items, const int64_t* first_of_row, const int64_t* lanes, const int64_t* first_of_slice,
    uint32_t* dealt) {
    for (int64_t item = global_thread(); item < num_items; item += num_threads()) {
        const int64_t row = items[item] >> 32, lane = lanes[row];
        dealt[first_of_slice[lane >> 5] + (item - first_of_row[row]) * 32 + (lane & 31)] = (uint32_t)items[item];
    }
}
