/* Shortest paths by two published methods: the lengths from a source.

   `dijkstra`: a step settles one row. One thread for each of its out-arcs relaxes it (update); then all rows are reduced to the
   unsettled one of least length, and of least row number among equals (reduce). Anastasopoulos, Megrampian, Mapping graphs on the
   graphics card (2016), but with an atomic minimum, because theirs has a race between parallel arcs. O(V^2). It stops when
   `target` is settled; no row is -1.

   `bellman_ford`: every reached row relaxes all its arcs, until nothing changes, by a lane or a warp depending on its degree.
   Afanasyev, VGL (2020).

   One cooperative launch each. SUM, WEIGHT, ROW: lengths.cuh. */
#include "paths/lengths.cuh"

#define WARPS (THREADS / 32)

struct Control {
    uint32_t barrier;
    uint32_t changed[3];
};

struct Nearest {
    Length length;
    int64_t row;
};

__device__ __forceinline__ Nearest nearer(Nearest a, Nearest b) {
    return b.length < a.length || (b.length == a.length && b.row < a.row) ? b : a;
}

/* The least of a block's candidates, returned to all its threads. */
__device__ __forceinline__ Nearest nearest_of_block(Nearest mine) {
    __shared__ Nearest of_warp[WARPS];
    for (int apart = 16; apart > 0; apart >>= 1) {
        const Nearest other{__shfl_xor_sync(FULL_WARP, mine.length, apart), __shfl_xor_sync(FULL_WARP, mine.row, apart)};
        mine = nearer(mine, other);
    }
    if ((threadIdx.x & 31) == 0) {
        of_warp[threadIdx.x >> 5] = mine;
    }
    __syncthreads();
    mine = of_warp[0];
    for (int warp = 1; warp < WARPS; ++warp) {
        mine = nearer(mine, of_warp[warp]);
    }
    __syncthreads();
    return mine;
}

/* Relax an arc; returns whether its head came nearer. */
__device__ __forceinline__ bool relax(Length* lengths, Length length, ROW far, WEIGHT weight) {
    const Length total = plus(length, length_of(weight));
    return total < __ldcg(lengths + far) && atomicMin(lengths + far, total) > total;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) dijkstra(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, int64_t source, int64_t target,
    Length* lengths, unsigned char* settled, Length* least_lengths, int64_t* least_rows, Control* control) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        lengths[row] = row == source ? (Length)0 : FAR;
        settled[row] = row == source;
    }
    grid_barrier(&control->barrier);
    Nearest now{0, source};
    while (now.length < FAR && now.row != target) {
        for (int64_t arc = offsets[now.row] + global_thread(); arc < offsets[now.row + 1]; arc += num_threads()) {
            relax(lengths, now.length, indices[arc], weights[arc]);
        }
        grid_barrier(&control->barrier);
        Nearest mine{FAR, num_rows};
        for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
            if (!__ldcg(settled + row)) {
                mine = nearer(mine, Nearest{__ldcg(lengths + row), row});
            }
        }
        mine = nearest_of_block(mine);
        if (threadIdx.x == 0) {
            least_lengths[blockIdx.x] = mine.length;
            least_rows[blockIdx.x] = mine.row;
        }
        grid_barrier(&control->barrier);
        now = Nearest{FAR, num_rows};
        for (int block = threadIdx.x; block < gridDim.x; block += THREADS) {
            now = nearer(now, Nearest{__ldcg(least_lengths + block), __ldcg(least_rows + block)});
        }
        now = nearest_of_block(now);
        if (global_thread() == 0 && now.length < FAR) {
            settled[now.row] = 1;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) bellman_ford(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, int64_t source, Length* lengths,
    Control* control) {
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        lengths[row] = row == source ? (Length)0 : FAR;
    }
    grid_barrier(&control->barrier);
    uint32_t changed = 1;
    for (int round = 0; changed; round = (round + 1) % 3) {
        bool improved = false;
        for (int64_t row = global_thread(); row - lane < num_rows; row += num_threads()) {
            const Length length = row < num_rows ? __ldcg(lengths + row) : FAR;
            const int64_t begin = length < FAR ? offsets[row] : 0, end = length < FAR ? offsets[row + 1] : 0;
            for (int64_t arc = begin; arc < end && end - begin < SMALL_ROW; ++arc) {
                improved |= relax(lengths, length, indices[arc], weights[arc]);
            }
            for (uint32_t large = __ballot_sync(FULL_WARP, end - begin >= SMALL_ROW); large; large &= large - 1) {
                const int of = __ffs(large) - 1;
                const Length near = __shfl_sync(FULL_WARP, length, of);
                const int64_t last = __shfl_sync(FULL_WARP, end, of);
                for (int64_t arc = __shfl_sync(FULL_WARP, begin, of) + lane; arc < last; arc += 32) {
                    improved |= relax(lengths, near, indices[arc], weights[arc]);
                }
            }
        }
        if (improved) {
            control->changed[round] = 1;
        }
        if (global_thread() == 0) {
            control->changed[(round + 1) % 3] = 0;
        }
        grid_barrier(&control->barrier);
        changed = __ldcg(&control->changed[round]);
    }
}
