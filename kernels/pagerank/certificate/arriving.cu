/* The sum of the shares of each row's in-arcs' tails, in doubles.

   Method: one row per warp; each lane adds every 32nd arc, then the lanes' sums are added in a fixed order, so that every run
   gives the same bits. With several columns of shares one row per block, whose threads share the arcs and the columns.
   Apart from device.cuh nothing is shared with the kernel that the certificate checks. */
#include "gpu/device.cuh"

extern "C" __global__ void gather(const int64_t* offsets, const ROW* indices, int64_t num_rows, const double* shares,
    double* sums) {
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

extern "C" __global__ void gather_columns(const int64_t* offsets, const ROW* indices, int64_t num_rows, int64_t columns,
    const double* shares, double* sums) {
    __shared__ double of_threads[GATHERING];
    const int64_t lanes = GATHERING / columns, lane = threadIdx.x / columns, column = threadIdx.x % columns;
    for (int64_t row = blockIdx.x; row < num_rows; row += gridDim.x) {
        double sum = 0;
        for (int64_t arc = offsets[row] + lane; lane < lanes && arc < offsets[row + 1]; arc += lanes) {
            sum += shares[(int64_t)indices[arc] * columns + column];
        }
        of_threads[threadIdx.x] = sum;
        __syncthreads();
        if (lane == 0) {
            for (int64_t other = 1; other < lanes; ++other) {
                sum += of_threads[other * columns + column];
            }
            sums[row * columns + column] = sum;
        }
        __syncthreads();
    }
}
