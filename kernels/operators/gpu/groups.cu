/* Divide the rows of a sparse frontier by their degrees. ROW is the type of a row.

   Group g of GROUPS is written from `g * size` on; bounds[g] says so, and bounds[GROUPS + g], zero before, is its length. */
#include "gpu/device.cuh"

#define GROUPS 4

extern "C" __global__ void divide(const ROW* rows, int64_t size, const int64_t* offsets, ROW* listed, int64_t* bounds) {
    const int lane = threadIdx.x & 31;
    if (global_thread() < GROUPS) {
        bounds[global_thread()] = global_thread() * size;
    }
    for (int64_t item = global_thread(); item - lane < size; item += num_threads()) {
        const int64_t row = item < size ? rows[item] : 0;
        const int64_t degree = offsets[row + 1] - offsets[row];
        const int below = (degree < HUB_DEGREE) + (degree < BLOCK_DEGREE) + (degree < WARP_DEGREE);
        const int group = item < size ? below : -1;
        for (int each = 0; each < GROUPS; ++each) {
            if (__any_sync(FULL_WARP, group == each)) {
                const uint64_t place = append_of_warp((uint64_t*)&bounds[GROUPS + each], group == each);
                if (group == each) {
                    listed[each * size + place] = (ROW)row;
                }
            }
        }
    }
}
