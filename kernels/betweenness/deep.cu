/* Betweenness by a block for each source, for graphs of many levels.

   Method: Brandes (2001), as in cpu.py, whose sums have the same order and so the same bits. A level of a road network has a few
   hundred rows, so a barrier of the grid, and a look at every row, would take longer than the level; here a level ends with the
   block's own barrier. A thread takes a row of the level: it adds the numbers of paths of its neighbours one level nearer, and
   finds its neighbours of the next level. A warp takes a row of more than NARROW_ROW arcs. The queue of rows in order of levels is
   then taken in reverse; a row's value becomes its coefficient.

   Encoding: a level is -1 where a row is not reached. Each block has an entry for every row, a queue of rows, and where in the
   queue each level starts. */
#include "betweenness/number.cuh"

#define AT_ONCE 4 // arcs of which a thread waits at the same time
#define NOT_REACHED (-1)
#define NO_ROW (-2) // a level that no row has

struct alignas(16) Entry {
    double number;
    int32_t exponent;
    int32_t level;
};

struct Side {
    const int64_t* offsets;
    const ROW* indices;
};

/* What a block knows of its source. */
struct Search {
    Entry* entries;
    ROW* queue;
    uint64_t* length; // of the queue, in shared memory

    __device__ __forceinline__ void find(ROW row, int32_t level) const {
        if (atomicCAS(&entries[row].level, NOT_REACHED, level) == NOT_REACHED) {
            queue[append(length)] = row;
        }
    }
};

/* Sum of the values of a row's neighbours of level `added`, in the order of arcs `first..last - 1`; neighbours that are not reached
   get the level `found`. Called by a thread, for at most ARCS_OF_A_SUM arcs. */
template <bool ADDS, bool FINDS>
__device__ Value sum_by_thread(const Search& search, const ROW* indices, int64_t first, int64_t last, int32_t added, int32_t found) {
    Value sum = {0, 0};
    int64_t before = -1;
    for (int64_t arc = first; arc < last; arc += AT_ONCE) {
        ROW others[AT_ONCE];
        Entry entries[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            others[i] = arc + i < last ? indices[arc + i] : (ROW)-1;
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            entries[i] = {0, 0, NO_ROW};
            if (others[i] >= 0) {
                entries[i] = search.entries[others[i]];
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            if (ADDS && entries[i].level == added && others[i] != before) {
                add(sum, {entries[i].number, entries[i].exponent});
                scale_down(sum);
            }
            if (FINDS && entries[i].level == NOT_REACHED) {
                search.find(others[i], found);
            }
            before = others[i];
        }
    }
    return sum;
}

/* As `sum_by_thread`, by a warp, for any number of arcs. */
template <bool ADDS, bool FINDS>
__device__ Value sum_by_warp(const Search& search, const ROW* indices, int64_t first, int64_t last, int32_t added, int32_t found) {
    Value sum = {0, 0};
    for (int64_t begin = first; begin < last; begin += ARCS_OF_A_SUM) {
        const int64_t end = begin + ARCS_OF_A_SUM < last ? begin + ARCS_OF_A_SUM : last;
        Value part = {0, 0};
        for (int64_t base = begin; base < end; base += 32) {
            const int64_t arc = base + (threadIdx.x & 31);
            Entry entry = {0, 0, NO_ROW};
            if (arc < end && (arc == first || indices[arc - 1] != indices[arc])) {
                entry = search.entries[indices[arc]];
                if (FINDS && entry.level == NOT_REACHED) {
                    search.find(indices[arc], found);
                }
            }
            for (uint32_t left = __ballot_sync(FULL_WARP, ADDS && entry.level == added); left; left &= left - 1) {
                const int from = __ffs(left) - 1;
                const double number = __shfl_sync(FULL_WARP, entry.number, from);
                add(part, {number, __shfl_sync(FULL_WARP, entry.exponent, from)});
                scale_down(part);
            }
        }
        add(sum, part);
        scale_down(sum);
    }
    return sum;
}

/* Call `take(row, sum)` for the rows `begin..end - 1` of the queue. */
template <bool ADDS, bool FINDS, typename Take>
__device__ void take_rows(const Search& search, const Side& side, int64_t begin, int64_t end, int32_t added, int32_t found, Take take) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = begin + threadIdx.x - lane; base < end; base += blockDim.x) {
        const ROW row = base + lane < end ? search.queue[base + lane] : (ROW)-1;
        const int64_t first = row < 0 ? 0 : side.offsets[row], last = row < 0 ? 0 : side.offsets[row + 1];
        if (row >= 0 && last - first <= NARROW_ROW) {
            take(row, sum_by_thread<ADDS, FINDS>(search, side.indices, first, last, added, found));
        }
        __syncwarp();
        for (uint32_t wide = __ballot_sync(FULL_WARP, last - first > NARROW_ROW); wide; wide &= wide - 1) {
            const int of = __ffs(wide) - 1;
            const int64_t start = __shfl_sync(FULL_WARP, first, of), stop = __shfl_sync(FULL_WARP, last, of);
            const Value sum = sum_by_warp<ADDS, FINDS>(search, side.indices, start, stop, added, found);
            if (lane == of) {
                take(row, sum);
            }
        }
    }
}

/* Add the dependencies of all sources to `totals`; there are `units` in 1. `into_offsets` is null if the graph is symmetric. */
extern "C" __global__ void __launch_bounds__(1024) from_each(const int64_t* out_offsets, const ROW* out_indices,
    const int64_t* into_offsets, const ROW* into_indices, const int64_t* sources, int64_t num_sources, int64_t num_rows,
    Entry* entries, ROW* queues, int64_t* starts, double units, uint64_t* totals) {
    __shared__ uint64_t length;
    const Side out = {out_offsets, out_indices}, into = {into_offsets, into_indices};
    const Search search = {entries + blockIdx.x * num_rows, queues + blockIdx.x * num_rows, &length};
    starts += blockIdx.x * (num_rows + 1);
    for (int64_t number = blockIdx.x; number < num_sources; number += gridDim.x) {
        for (int64_t row = threadIdx.x; row < num_rows; row += blockDim.x) {
            search.entries[row] = {0, 0, NOT_REACHED};
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            search.queue[0] = (ROW)sources[number];
            search.entries[sources[number]] = {1, 0, 0};
            length = 1;
        }
        __syncthreads();
        int32_t level = 0;
        int64_t begin = 0, end = 1;
        for (; begin < end; level++) {
            const auto take = [&](ROW row, Value sum) {
                if (level) {
                    search.entries[row].number = sum.number;
                    search.entries[row].exponent = sum.exponent;
                }
            };
            if (into.offsets) {
                take_rows<true, false>(search, into, begin, end, level - 1, 0, take);
                take_rows<false, true>(search, out, begin, end, 0, level + 1, [](ROW, Value) {});
            } else {
                take_rows<true, true>(search, out, begin, end, level - 1, level + 1, take);
            }
            if (threadIdx.x == 0) {
                starts[level] = begin;
            }
            __syncthreads();
            begin = end;
            end = (int64_t)length;
            __syncthreads();
        }
        for (level--; level > 0; level--) {
            end = begin;
            begin = starts[level];
            take_rows<true, false>(search, out, begin, end, level + 1, 0, [&](ROW row, Value sum) {
                const Value paths = {search.entries[row].number, search.entries[row].exponent};
                const Value coefficient = coefficient_of(paths, sum, true);
                search.entries[row].number = coefficient.number;
                search.entries[row].exponent = coefficient.exponent;
                if (sum.number > 0) {
                    atomicAdd((unsigned long long*)&totals[row], (unsigned long long)dependency_of(paths, sum, units));
                }
            });
            __syncthreads();
        }
    }
}
