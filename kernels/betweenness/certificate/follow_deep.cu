/* As follow.cu, by a block for each source, for graphs of many levels, without weights.

   Method: a thread takes a row of the level, or a warp if the row has more than NARROW arcs. It adds what the neighbours of the
   level before weigh, and finds those that are not reached. A level ends with the block's barrier.

   With `of_arcs` in-arcs weigh what is drawn, instead of inner rows; with `ends` a path's first and last row weigh, too.

   Encoding: a level is -1 where a row is not reached. Each block has an entry for every row, and a queue of rows. */
#include "betweenness/certificate/sum.cuh"

#define AT_ONCE 4 // arcs of which a thread waits at the same time

struct alignas(32) Entry {
    double logarithm;
    double mean;
    int32_t level;
};

struct Side {
    const int64_t* offsets;
    const ROW* indices;
};

/* Of each source: the sum of the mean weights, the largest logarithm, and the number of levels. The in-arcs are the
   out-arcs if the graph is symmetric. */
// spills: at most four words on sm_80, sm_86, sm_89 and sm_120; a block of 1024 threads may have 64 registers each
extern "C" __global__ void __launch_bounds__(1024) follow_from_each(const int64_t* offsets, const ROW* indices,
    const int64_t* into_offsets, const ROW* into_indices, const double* drawn, const int64_t* sources, int64_t num_sources,
    int64_t num_rows, int64_t of_arcs, int64_t ends, Entry* entries, ROW* queue, double* weights, double* logarithms,
    int64_t* levels) {
    __shared__ uint64_t length;
    __shared__ double of_warps[2][32];
    const Side out = {offsets, indices}, into = {into_offsets, into_indices};
    const bool symmetric = offsets == into_offsets;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    entries += blockIdx.x * num_rows;
    queue += blockIdx.x * num_rows;
    for (int64_t number = blockIdx.x; number < num_sources; number += gridDim.x) {
        const ROW source = (ROW)sources[number];
        for (int64_t row = threadIdx.x; row < num_rows; row += blockDim.x) {
            entries[row].level = -1;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            entries[source] = {0, 0, 0};
            queue[0] = source;
            length = 1;
        }
        __syncthreads();
        int64_t begin = 0, end = 1;
        int32_t level = 0;
        double weight = 0, most = 0;
        for (; begin < end; level++) {
            // every `step`-th arc from `first` on: add tails of the level before, find heads
            const auto visit = [&](const Side& side, ROW row, int64_t first, int64_t step, bool adds, bool finds,
                                   Sum<true>& sum) {
                const int64_t start = side.offsets[row], stop = side.offsets[row + 1];
                for (int64_t base = start + first; base < stop; base += AT_ONCE * step) {
                    ROW others[AT_ONCE];
                    int32_t levels_of[AT_ONCE];
#pragma unroll
                    for (int i = 0; i < AT_ONCE; i++) {
                        others[i] = base + i * step < stop ? side.indices[base + i * step] : row;
                        levels_of[i] = entries[others[i]].level;
                    }
#pragma unroll
                    for (int i = 0; i < AT_ONCE; i++) {
                        const int64_t arc = base + i * step;
                        const bool tight = adds && level && levels_of[i] == level - 1;
                        if (tight && (arc == start || side.indices[arc - 1] != others[i])) {
                            const Entry tail = entries[others[i]];
                            const bool weighs = of_arcs || others[i] != source;
                            sum.add(tail.logarithm, 1, tail.mean + (weighs ? drawn[of_arcs ? arc : (int64_t)others[i]] : 0));
                        }
                        if (finds && levels_of[i] < 0 && atomicCAS(&entries[others[i]].level, -1, level + 1) == -1) {
                            queue[append(&length)] = others[i];
                        }
                    }
                }
            };
            const auto visit_both = [&](ROW row, int64_t first, int64_t step) {
                auto sum = Sum<true>::none();
                visit(out, row, first, step, symmetric, true, sum);
                if (!symmetric) {
                    visit(into, row, first, step, true, false, sum);
                }
                return sum;
            };
            const auto set = [&](ROW row, const Sum<true>& sum) {
                if (level) {
                    entries[row].logarithm = sum.most + log(sum.paths);
                    entries[row].mean = sum.weight / sum.paths;
                    most = entries[row].logarithm > most ? entries[row].logarithm : most;
                    weight += entries[row].mean + (ends ? drawn[row] + drawn[source] : 0);
                }
            };
            for (int64_t base = begin + threadIdx.x - lane; base < end; base += blockDim.x) {
                const bool has = base + lane < end;
                const ROW row = has ? queue[base + lane] : source;
                const int64_t heads = offsets[row + 1] - offsets[row], tails = into.offsets[row + 1] - into.offsets[row];
                const bool wide = has && (heads > NARROW || tails > NARROW);
                if (has && !wide) {
                    set(row, visit_both(row, 0, 1));
                }
                __syncwarp();
                for (uint32_t left = __ballot_sync(FULL_WARP, wide); left; left &= left - 1) {
                    const ROW shared = __shfl_sync(FULL_WARP, row, __ffs(left) - 1);
                    auto sum = visit_both(shared, lane, 32);
                    for (int step = 16; step > 0; step >>= 1) {
                        const double logarithm = __shfl_xor_sync(FULL_WARP, sum.most, step);
                        const double paths = __shfl_xor_sync(FULL_WARP, sum.paths, step);
                        sum.add(logarithm, paths, __shfl_xor_sync(FULL_WARP, sum.weight, step));
                    }
                    if (lane == 0) {
                        set(shared, sum);
                    }
                }
            }
            __syncthreads();
            begin = end;
            end = (int64_t)length;
            __syncthreads();
        }
        weight = sum_of_warp(weight);
        for (int step = 16; step > 0; step >>= 1) {
            const double other = __shfl_xor_sync(FULL_WARP, most, step);
            most = other > most ? other : most;
        }
        if (lane == 0) {
            of_warps[0][warp] = weight;
            of_warps[1][warp] = most;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int other = 1; other < blockDim.x / 32; other++) {
                weight += of_warps[0][other];
                most = of_warps[1][other] > most ? of_warps[1][other] : most;
            }
            weights[number] = weight;
            logarithms[number] = most;
            levels[number] = level;
        }
        __syncthreads();
    }
}
