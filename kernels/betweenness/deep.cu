/* Betweenness by a block for each source, for graphs of many levels.

   Method: Brandes (2001), as in cpu.py, whose sums have the same order and so the same bits. A level of a road network has a
   few hundred rows, so a barrier of the grid, and a look at every row, would take longer than the level; here a round ends with
   the block's own barrier. A thread takes a row: it adds the numbers of paths of the tails of its tight in-arcs, and finds the
   rows of the next round: without weights its neighbours that are not reached, with weights the heads of its tight out-arcs
   that wait for no other tail. A warp takes a row of more than NARROW_ROW arcs. The queue of rows in order of rounds is then
   taken in reverse; a row's value becomes its coefficient. `from_each` adds the dependencies of rows, `arcs_from_each` of arcs.

   Encoding: each block has an entry for every row, a queue of rows, and where in the queue each round starts. */
#include "betweenness/number.cuh"

#define AT_ONCE 4 // arcs of which a thread waits at the same time
#define NOT_REACHED (-1)

struct alignas(16) Entry {
    double number;
    int32_t exponent;
    int32_t state; // without weights the round, or NOT_REACHED; with weights the number of tails without value
};

struct Side {
    const int64_t* offsets;
    const ROW* indices;
    const WEIGHT* weights;
};

/* What a block knows of its source. */
struct Search {
    Entry* entries;
    const SUM* distances; // of weighted paths, -1 where not reached
    ROW* queue;
    uint64_t* length; // of the queue, in shared memory

    __device__ __forceinline__ bool tight(ROW tail, ROW head, WEIGHT weight) const {
        const SUM near = distances[tail], far = distances[head];
        return near >= 0 && near < far && near + (SUM)weight == far;
    }
};

/* Where dependencies are added. */
struct Sums {
    uint64_t* totals; // of rows or of arcs
    double units; // in 1
    int64_t at_ends; // units that a path adds at the rows where it begins and ends

    __device__ __forceinline__ void add(int64_t place, int64_t dependency) const {
        if (dependency) {
            atomicAdd((unsigned long long*)&totals[place], (unsigned long long)dependency);
        }
    }
};

/* What a round adds and finds along the arcs of its rows. */
template <bool WEIGHTED, bool ADDS, bool FINDS, bool INTO, bool TO_ARCS = false>
struct Round {
    Search search;
    Side side;
    int32_t added; // without weights, the round of neighbours whose values are added
    int32_t number;
    Sums sums; // of arcs

    __device__ __forceinline__ bool adds(ROW row, ROW other, int64_t arc, const Entry& entry) const {
        if (!WEIGHTED) {
            return ADDS && entry.state == added;
        }
        return ADDS && (INTO ? search.tight(other, row, side.weights[arc]) : search.tight(row, other, side.weights[arc]));
    }

    __device__ __forceinline__ void find(ROW row, ROW other, int64_t arc, const Entry& entry) const {
        if (!FINDS || (WEIGHTED ? !search.tight(row, other, side.weights[arc]) : entry.state != NOT_REACHED)) {
            return;
        }
        int32_t* state = &search.entries[other].state;
        if (WEIGHTED ? atomicAdd(state, -1) == 1 : atomicCAS(state, NOT_REACHED, number + 1) == NOT_REACHED) {
            search.queue[append(search.length)] = other;
        }
    }

    /* Add the dependency of an arc whose head has this value, from the number of paths to its tail. */
    __device__ __forceinline__ void add_to_arc(ROW tail, int64_t arc, Value head) const {
        if (TO_ARCS) {
            const Entry entry = search.entries[tail];
            sums.add(arc, dependency_of({entry.number, entry.exponent}, head, sums.units));
        }
    }

    /* Sum over a row's arcs `first..last - 1`, at most ARCS_OF_A_SUM, by a thread. Of parallel arcs the first counts. */
    __device__ Value sum_by_thread(ROW row, int64_t first, int64_t last) const {
        Value sum = {0, 0};
        ROW before = -1;
        for (int64_t arc = first; arc < last; arc += AT_ONCE) {
            ROW others[AT_ONCE];
            Entry entries[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                others[i] = arc + i < last ? side.indices[arc + i] : row;
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                entries[i] = search.entries[others[i]];
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                if (others[i] != before && others[i] != row) {
                    if (adds(row, others[i], arc + i, entries[i])) {
                        add(sum, {entries[i].number, entries[i].exponent});
                        scale_down(sum);
                        add_to_arc(row, arc + i, {entries[i].number, entries[i].exponent});
                    }
                    find(row, others[i], arc + i, entries[i]);
                }
                before = others[i];
            }
        }
        return sum;
    }

    /* As `sum_by_thread`, by a warp, for any number of arcs. */
    __device__ Value sum_by_warp(ROW row, int64_t first, int64_t last) const {
        Value sum = {0, 0};
        for (int64_t begin = first; begin < last; begin += ARCS_OF_A_SUM) {
            const int64_t end = begin + ARCS_OF_A_SUM < last ? begin + ARCS_OF_A_SUM : last;
            Value part = {0, 0};
            for (int64_t base = begin; base < end; base += 32) {
                const int64_t arc = base + (threadIdx.x & 31);
                const ROW other = arc < end ? side.indices[arc] : row;
                Entry entry = {0, 0, 0};
                bool counts = false;
                if (other != row && (arc == first || side.indices[arc - 1] != other)) {
                    entry = search.entries[other];
                    counts = adds(row, other, arc, entry);
                    find(row, other, arc, entry);
                    if (counts) {
                        add_to_arc(row, arc, {entry.number, entry.exponent});
                    }
                }
                for (uint32_t left = __ballot_sync(FULL_WARP, counts); left; left &= left - 1) {
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
    template <typename Take>
    __device__ void take_rows(int64_t begin, int64_t end, Take take) const {
        const int lane = threadIdx.x & 31;
        for (int64_t base = begin + threadIdx.x - lane; base < end; base += blockDim.x) {
            const ROW row = base + lane < end ? search.queue[base + lane] : (ROW)-1;
            const int64_t first = row < 0 ? 0 : side.offsets[row], last = row < 0 ? 0 : side.offsets[row + 1];
            if (row >= 0 && last - first <= NARROW_ROW) {
                take(row, sum_by_thread(row, first, last));
            }
            __syncwarp();
            for (uint32_t wide = __ballot_sync(FULL_WARP, last - first > NARROW_ROW); wide; wide &= wide - 1) {
                const int of = __ffs(wide) - 1;
                const int64_t start = __shfl_sync(FULL_WARP, first, of), stop = __shfl_sync(FULL_WARP, last, of);
                const Value sum = sum_by_warp(__shfl_sync(FULL_WARP, row, of), start, stop);
                if (lane == of) {
                    take(row, sum);
                }
            }
        }
    }
};

/* Set up the entries of all rows; a row that an arc without length reaches goes to `no_length`. */
template <bool WEIGHTED>
__device__ void prepare(const Search& search, const Side& into, ROW source, int64_t num_rows, int64_t* no_length) {
    for (int64_t row = threadIdx.x; row < num_rows; row += blockDim.x) {
        int32_t state = NOT_REACHED;
        if (WEIGHTED && search.distances[row] >= 0) {
            state = 0;
            for (int64_t arc = into.offsets[row]; arc < into.offsets[row + 1]; arc++) {
                const ROW tail = into.indices[arc];
                if (tail != (ROW)row && (arc == into.offsets[row] || into.indices[arc - 1] != tail)) {
                    const SUM near = search.distances[tail];
                    state += search.tight(tail, (ROW)row, into.weights[arc]);
                    if (near == search.distances[row] && near + (SUM)into.weights[arc] == near) {
                        *no_length = row;
                    }
                }
            }
        }
        search.entries[row] = {0, 0, state};
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        search.queue[0] = source;
        search.entries[source] = {1, 0, 0};
        *search.length = 1;
    }
    __syncthreads();
}

/* Add the dependencies of a source. `starts` gets where in the queue the rounds start. */
template <bool WEIGHTED, bool TO_ARCS>
__device__ void follow(const Search& search, const Side& out, const Side& into, ROW* starts, const Sums& sums) {
    int32_t round = 0;
    int64_t begin = 0, end = 1;
    for (; begin < end; round++) {
        const auto set = [&](ROW row, Value sum) {
            if (round) {
                search.entries[row].number = sum.number;
                search.entries[row].exponent = sum.exponent;
            }
        };
        if (into.offsets == out.offsets) {
            Round<WEIGHTED, true, true, true>{search, out, round - 1, round, {}}.take_rows(begin, end, set);
        } else {
            Round<WEIGHTED, true, false, true>{search, into, round - 1, round, {}}.take_rows(begin, end, set);
            Round<WEIGHTED, false, true, false>{search, out, 0, round, {}}.take_rows(begin, end, [](ROW, Value) {});
        }
        if (threadIdx.x == 0) {
            starts[round] = (ROW)begin;
        }
        __syncthreads();
        begin = end;
        end = (int64_t)*search.length;
        __syncthreads();
    }
    if (!TO_ARCS && threadIdx.x == 0) {
        sums.add(search.queue[0], sums.at_ends * (end - 1));
    }
    for (round--; round >= (TO_ARCS ? 0 : 1); round--) {
        end = begin;
        begin = starts[round];
        const Round<WEIGHTED, true, false, false, TO_ARCS> heads = {search, out, round + 1, round, sums};
        heads.take_rows(begin, end, [&](ROW row, Value sum) {
            const Value paths = {search.entries[row].number, search.entries[row].exponent};
            const Value coefficient = coefficient_of(paths, sum);
            search.entries[row].number = coefficient.number;
            search.entries[row].exponent = coefficient.exponent;
            if (!TO_ARCS) {
                sums.add(row, sums.at_ends + (sum.number > 0 ? dependency_of(paths, sum, sums.units) : 0));
            }
        });
        __syncthreads();
    }
}

template <bool TO_ARCS>
__device__ __forceinline__ void follow_each(const Side& out, const Side& into, const int64_t* sources, int64_t num_sources,
    int64_t num_rows, const SUM* distances, Entry* entries, ROW* queues, ROW* starts, const Sums& sums, int64_t* no_length) {
    __shared__ uint64_t length;
    const int64_t begin = blockIdx.x * num_rows;
    for (int64_t number = blockIdx.x; number < num_sources; number += gridDim.x) {
        const SUM* from = distances ? distances + number * num_rows : 0;
        const Search search = {entries + begin, from, queues + begin, &length};
        if (distances) {
            prepare<true>(search, into, (ROW)sources[number], num_rows, no_length);
            follow<true, TO_ARCS>(search, out, into, starts + begin, sums);
        } else {
            prepare<false>(search, into, (ROW)sources[number], num_rows, no_length);
            follow<false, TO_ARCS>(search, out, into, starts + begin, sums);
        }
        __syncthreads();
    }
}

/* Add the dependencies of all sources to `totals` of rows; there are `units` in 1. `distances` is null without weights. */
// spills: at most four words on sm_100 and sm_120; a block of 1024 threads may have 64 registers each
extern "C" __global__ void __launch_bounds__(1024) from_each(const int64_t* out_offsets, const ROW* out_indices,
    const WEIGHT* out_weights, const int64_t* into_offsets, const ROW* into_indices, const WEIGHT* into_weights,
    const int64_t* sources, int64_t num_sources, int64_t num_rows, const SUM* distances, Entry* entries, ROW* queues,
    ROW* starts, double units, uint64_t* totals, int64_t at_ends, int64_t* no_length) {
    const Side out = {out_offsets, out_indices, out_weights}, into = {into_offsets, into_indices, into_weights};
    const Sums sums = {totals, units, at_ends};
    follow_each<false>(out, into, sources, num_sources, num_rows, distances, entries, queues, starts, sums, no_length);
}

/* As `from_each`, to `totals` of arcs. */
// spills: two words on sm_120, as above
extern "C" __global__ void __launch_bounds__(1024) arcs_from_each(const int64_t* out_offsets, const ROW* out_indices,
    const WEIGHT* out_weights, const int64_t* into_offsets, const ROW* into_indices, const WEIGHT* into_weights,
    const int64_t* sources, int64_t num_sources, int64_t num_rows, const SUM* distances, Entry* entries, ROW* queues,
    ROW* starts, double units, uint64_t* totals, int64_t at_ends, int64_t* no_length) {
    const Side out = {out_offsets, out_indices, out_weights}, into = {into_offsets, into_indices, into_weights};
    const Sums sums = {totals, units, at_ends};
    follow_each<true>(out, into, sources, num_sources, num_rows, distances, entries, queues, starts, sums, no_length);
}
