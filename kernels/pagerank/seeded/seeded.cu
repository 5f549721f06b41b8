/* A step of the power iteration of many rankings, whose scores of a row lie next to each other: a product of a sparse and a dense
   matrix.

   Method: threads next to each other have the columns of one row, so that they read the shares of a tail together. A row of up to
   CHUNK arcs is summed by one thread for each column. The chunks of longer rows are summed first, each by a thread for each
   column, then in order. Every sum has the order, and every operation the rounding, of the CPU's loops (cpu.py).
   Source: Yang, Buluc, Owens, Design Principles for Sparse Matrix Multiplication on the GPU, Euro-Par 2018 (row splitting). */
#include "gpu/device.cuh"

/* The columns that a thread has in turn are always the same one: threads that do not fill a row of columns are idle. */
struct Cells {
    int64_t column, first, step;

    __device__ __forceinline__ explicit Cells(int64_t columns) {
        const int64_t used = num_threads() / columns;
        column = global_thread() % columns;
        first = global_thread() < used * columns ? global_thread() / columns : 0x7fffffffffffffffll;
        step = used;
    }
};

__device__ __forceinline__ uint64_t in_units(double value) { return (uint64_t)(value * (double)UNIT); }

/* Add the threads' counts of their columns to `totals`. All threads of the block call it. */
__device__ __forceinline__ void add_to(uint64_t* totals, int64_t columns, int64_t column, uint64_t count) {
    __shared__ uint64_t of_block[COLUMNS];
    __syncthreads();
    for (int place = threadIdx.x; place < columns; place += blockDim.x) {
        of_block[place] = 0;
    }
    __syncthreads();
    if (count) {
        atomicAdd(of_block + column, count);
    }
    __syncthreads();
    for (int place = threadIdx.x; place < columns; place += blockDim.x) {
        if (of_block[place]) {
            atomicAdd(totals + place, of_block[place]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(CELL_THREADS) share(
    const int64_t* out_offsets, int64_t num_rows, int64_t columns, const double* scores, double* shares, uint64_t* lost) {
    const Cells cells(columns);
    uint64_t sum = 0;
    for (int64_t row = cells.first; row < num_rows; row += cells.step) {
        const int64_t degree = out_offsets[row + 1] - out_offsets[row], cell = row * columns + cells.column;
        shares[cell] = degree ? scores[cell] / (double)degree : 0.0;
        sum += degree ? 0 : in_units(scores[cell]);
    }
    add_to(lost, columns, cells.column, sum);
}

/* The sum of the shares of some arcs' tails, in the order of the arcs. */
__device__ __forceinline__ double sum_of(
    const ROW* indices, int64_t begin, int64_t end, const double* shares, int64_t columns, int64_t column) {
    double sum = 0.0;
#pragma unroll 4
    for (int64_t arc = begin; arc < end; ++arc) {
        sum = __dadd_rn(sum, shares[(int64_t)indices[arc] * columns + column]);
    }
    return sum;
}

/* Sum the chunks of rows of more than CHUNK arcs; those of long row i begin at `first_chunks[i]`. */
extern "C" __global__ void __launch_bounds__(CELL_THREADS) sum_chunks(
    const int64_t* offsets, const ROW* indices, const int64_t* long_rows, const int64_t* first_chunks, int64_t num_long,
    int64_t columns, const double* shares, double* chunks) {
    const Cells cells(columns);
    for (int64_t chunk = cells.first; chunk < first_chunks[num_long]; chunk += cells.step) {
        const int64_t place = first_not(0, num_long, [=](int64_t i) { return first_chunks[i + 1] <= chunk; });
        const int64_t row = long_rows[place];
        const int64_t begin = offsets[row] + (chunk - first_chunks[place]) * CHUNK;
        const int64_t end = begin + CHUNK < offsets[row + 1] ? begin + CHUNK : offsets[row + 1];
        chunks[chunk * columns + cells.column] = sum_of(indices, begin, end, shares, columns, cells.column);
    }
}

extern "C" __global__ void __launch_bounds__(CELL_THREADS) pull(
    const int64_t* offsets, const ROW* indices, int64_t num_rows, const int64_t* long_rows, const int64_t* first_chunks,
    int64_t num_long, int64_t columns, const double* chunks, const double* shares, const double* base, double damping,
    double settled, double* scores, uint64_t* sums) {
    const Cells cells(columns);
    uint64_t changes = 0, unsettled = 0;
    for (int64_t row = cells.first; row < num_rows; row += cells.step) {
        const int64_t begin = offsets[row], end = offsets[row + 1], cell = row * columns + cells.column;
        double sum = 0.0;
        if (end - begin <= CHUNK) {
            sum = sum_of(indices, begin, end, shares, columns, cells.column);
        } else {
            const int64_t place = find(long_rows, 0, num_long, row);
            for (int64_t chunk = first_chunks[place]; chunk < first_chunks[place + 1]; ++chunk) {
                sum = __dadd_rn(sum, chunks[chunk * columns + cells.column]);
            }
        }
        const double score = __dadd_rn(base[cells.column], __dmul_rn(damping, sum));
        const double change = fabs(score - scores[cell]);
        changes += in_units(change);
        unsettled += __dmul_rn(change, settled) > score;
        scores[cell] = score;
    }
    add_to(sums, columns, cells.column, changes);
    add_to(sums + columns, columns, cells.column, unsettled);
}
