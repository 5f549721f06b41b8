/* What the in-arcs bring. Returns, for each row, the sum of the shares of its in-arcs' other ends, in doubles.

   Method: rows are dealt to warps; each lane sums every 32nd arc, then the lanes are added in one order, so that every run gives
   the same bits. Nothing is shared with the kernel whose ranks it proves but this header.
   Source: none; plain sums. */
#include "gpu/device.cuh"

extern "C" __global__ void gather(const int64_t* offsets, const ROW* indices, int64_t num_rows, const double* shares, double* sums) {
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread() >> 5; row < num_rows; row += num_threads() >> 5) {
        double sum = 0;
        for (int64_t arc = offsets[row] + lane; arc < offsets[row + 1]; arc += 32) {
            sum += shares[indices[arc]];
        }
        for (int step = 16; step > 0; step >>= 1) {
            sum += __shfl_xor_sync(FULL_WARP, sum, step);
        }
        if (lane == 0) {
            sums[row] = sum;
        }
    }
}
