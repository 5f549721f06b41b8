/* The four breadth-first searches of Amorim, de Aquino, Moreano: Aceleracao da Busca em Largura em Grafos de Larga Escala
   utilizando CUDA (UFMS), after Harish and Narayanan (2007): one thread per row, several kernels and one flag read back per
   level.

   Solution 1 works in device memory; 2 keeps the values of a row in registers; 3 also stages the
   arcs of a block's rows in shared memory; 4 only marks heads, and each thread then visits its own row.

   Encodings. frontier, visited, marked: one byte per row, 0 or 1. levels: hops, -1 where not reached. ROW is the type of a row
   number. Several threads may store the same value at one address. */
#include "gpu/device.cuh"

#define TILE 2048 /* arcs staged at a time */

extern "C" __global__ void start(
    int64_t num_rows, int64_t source, uint8_t* frontier, uint8_t* visited, uint8_t* marked, ROW* levels) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        frontier[row] = visited[row] = row == source;
        marked[row] = 0;
        levels[row] = row == source ? 0 : -1;
    }
}

/* Solution 1, first kernel: with volatile reads, as the method requires. */
extern "C" __global__ void visit_in_memory(
    const int64_t* offsets, const ROW* indices, int64_t num_rows, uint8_t* frontier, const uint8_t* visited, uint8_t* marked,
    volatile ROW* levels) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        if (frontier[row]) {
            frontier[row] = 0;
            for (int64_t arc = offsets[row]; arc < ((const volatile int64_t*)offsets)[row + 1]; ++arc) {
                if (!visited[((const volatile ROW*)indices)[arc]]) {
                    levels[((const volatile ROW*)indices)[arc]] = levels[row] + 1;
                    marked[((const volatile ROW*)indices)[arc]] = 1;
                }
            }
        }
    }
}

/* Solution 2, first kernel. */
extern "C" __global__ void visit_in_registers(
    const int64_t* offsets, const ROW* indices, int64_t num_rows, uint8_t* frontier, const uint8_t* visited, uint8_t* marked,
    ROW* levels) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        if (frontier[row]) {
            frontier[row] = 0;
            const ROW hops = levels[row] + 1;
            const int64_t end = offsets[row + 1];
            for (int64_t arc = offsets[row]; arc < end; ++arc) {
                const ROW near = indices[arc];
                if (!visited[near]) {
                    levels[near] = hops;
                    marked[near] = 1;
                }
            }
        }
    }
}

/* Solution 3, first kernel. */
extern "C" __global__ void visit_from_tiles(
    const int64_t* offsets, const ROW* indices, int64_t num_rows, uint8_t* frontier, const uint8_t* visited, uint8_t* marked,
    ROW* levels) {
    __shared__ ROW tile[TILE];
    for (int64_t first = (int64_t)blockIdx.x * THREADS; first < num_rows;
        first += (int64_t)gridDim.x * THREADS) {
        const int64_t row = first + threadIdx.x;
        const int64_t last = first + THREADS < num_rows ? first + THREADS : num_rows;
        const bool active = row < num_rows && frontier[row];
        if (!__syncthreads_or(active)) {
            continue;
        }
        const int64_t arcs = active ? offsets[row] : 0, end = active ? offsets[row + 1] : 0;
        const ROW hops = active ? levels[row] + 1 : 0;
        for (int64_t base = offsets[first]; base < offsets[last]; base += TILE) {
            const int64_t staged = offsets[last] - base < TILE ? offsets[last] - base : TILE;
            __syncthreads();
            for (int64_t arc = threadIdx.x; arc < staged; arc += THREADS) {
                tile[arc] = indices[base + arc];
            }
            __syncthreads();
            for (int64_t arc = arcs > base ? arcs : base; arc < end && arc < base + staged; ++arc) {
                const ROW near = tile[arc - base];
                if (!visited[near]) {
                    levels[near] = hops;
                    marked[near] = 1;
                }
            }
        }
        if (active) {
            frontier[row] = 0;
        }
    }
}

/* Solution 4, first kernel. */
extern "C" __global__ void mark_heads(
    const int64_t* offsets, const ROW* indices, int64_t num_rows, uint8_t* frontier, uint8_t* marked) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        if (frontier[row]) {
            frontier[row] = 0;
            const int64_t end = offsets[row + 1];
            for (int64_t arc = offsets[row]; arc < end; ++arc) {
                marked[indices[arc]] = 1;
            }
        }
    }
}

/* Solution 4, second kernel. */
extern "C" __global__ void visit_own_row(int64_t num_rows, int64_t level, const uint8_t* visited, uint8_t* marked, ROW* levels) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        if (marked[row]) {
            if (visited[row]) {
                marked[row] = 0;
            } else {
                levels[row] = (ROW)level;
            }
        }
    }
}

/* The last kernel of every solution: the marked rows become the frontier. */
extern "C" __global__ void update(int64_t num_rows, uint8_t* frontier, uint8_t* visited, uint8_t* marked, uint32_t* more) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        if (marked[row]) {
            frontier[row] = visited[row] = 1;
            marked[row] = 0;
            *more = 1;
        }
    }
}
