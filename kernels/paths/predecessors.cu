/* From lengths to the answer: distances, and the unique predecessor of every reached row.

   The predecessor is the tail of the first in-arc (in-arcs ascend by external id) that is tight and comes from a strictly nearer
   row. Rows that only tight arcs of length zero reach wait: their predecessor is WAITS until `complete_zero_steps` searches level
   by level from all other reached rows. An arc heavier than the row's length cannot be tight, so of most arcs of a large row only
   the weight is read.

   kernels/paths/predecessors_cpu.py defines the predecessors. SUM, WEIGHT, ROW: lengths.cuh. */
#include "paths/lengths.cuh"

#define BATCH 4

struct Found {
    uint32_t waits;  /* a row waits for the second step */
    uint32_t beyond; /* an arc leads from a reached row to an unreached one: its sum did not fit */
    uint64_t barrier;
    uint64_t settled[3];
    uint64_t deep; /* the second step was given up, after too many thin levels */
};

struct Rows {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const WEIGHT* __restrict__ weights;
    const Length* __restrict__ lengths;
};

/* Which of `BATCH` arcs, `apart` from each other, into a row with this length are decisive: tight from a nearer row, or from a
   reached row if the row is not reached. Bit k stands for the k-th; the loads of all overlap. */
__device__ __forceinline__ uint32_t deciding(const Rows& rows, int64_t arc, int64_t apart, int64_t end, Length length) {
    Length step[BATCH], near[BATCH];
    ROW far[BATCH];
    for (int k = 0; k < BATCH; ++k) {
        step[k] = arc + k * apart < end ? length_of(rows.weights[arc + k * apart]) : FAR;
    }
    for (int k = 0; k < BATCH; ++k) {
        far[k] = arc + k * apart < end && step[k] <= length ? rows.indices[arc + k * apart] : (ROW)-1;
    }
    for (int k = 0; k < BATCH; ++k) {
        near[k] = far[k] >= 0 ? rows.lengths[far[k]] : FAR;
    }
    uint32_t found = 0;
    for (int k = 0; k < BATCH; ++k) {
        const bool tight = near[k] < length && (length == FAR || plus(near[k], step[k]) == length);
        found |= tight ? 1u << k : 0;
    }
    return found;
}

template <typename Distance>
__device__ __forceinline__ void conclude(
    const Rows& rows, int64_t row, int64_t arc, Length length, int64_t source, Distance* distance, ROW* predecessor,
    Found* found) {
    const bool reached = length != FAR, waits = reached && arc < 0 && row != source;
    distance[row] = reached ? (Distance)Kind<SUM>::sum(length) : (Distance)-1;
    predecessor[row] = waits ? WAITS : reached && arc >= 0 ? rows.indices[arc] : (ROW)-1;
    if (waits) {
        found->waits = 1;
    }
    if (!reached && arc >= 0) {
        found->beyond = 1;
    }
}

#define DISTANCE decltype(Kind<SUM>::sum(0))

/* Rows with few in-arcs, one per lane. */
extern "C" __global__ void __launch_bounds__(THREADS) find_in_lanes(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const Length* lengths, int64_t num_rows, int64_t source,
    DISTANCE* distance, ROW* predecessor, Found* found) {
    const Rows rows{offsets, indices, weights, lengths};
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        int64_t arc = offsets[row];
        const int64_t end = offsets[row + 1];
        if (end - arc >= SMALL_ROW) {
            continue;
        }
        const Length length = lengths[row];
        uint32_t decided = 0;
        for (; arc < end && !decided; arc += BATCH) {
            decided = deciding(rows, arc, 1, end, length);
        }
        conclude(rows, row, decided ? arc - BATCH + __ffs(decided) - 1 : -1, length, source, distance, predecessor, found);
    }
}

struct RowAhead {
    ROW row;
    int64_t begin, end;
    Length length;
    __device__ __forceinline__ RowAhead(const Rows& rows, ROW of) : row(of), begin(0), end(0), length(0) {
        if (of >= 0) {
            begin = rows.offsets[of];
            end = rows.offsets[of + 1];
            length = rows.lengths[of];
        }
    }
};

/* The rows of `medium`, one per warp. */
extern "C" __global__ void __launch_bounds__(THREADS) find_in_warps(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const Length* lengths, const ROW* medium, int64_t count,
    int64_t source, DISTANCE* distance, ROW* predecessor, Found* found) {
    const Rows rows{offsets, indices, weights, lengths};
    const int lane = threadIdx.x & 31;
    const int64_t warps = num_threads() >> 5;
    int64_t place = global_thread() >> 5;
    RowAhead ahead(rows, place < count ? medium[place] : -1);
    ROW after = place + warps < count ? medium[place + warps] : -1;
    for (; place < count; place += warps) {
        const RowAhead now = ahead;
        ahead = RowAhead(rows, after); /* loaded while this row is searched */
        after = place + 2 * warps < count ? medium[place + 2 * warps] : -1;
        const ROW row = now.row;
        const int64_t end = now.end;
        const Length length = now.length;
        int64_t decided = -1;
        for (int64_t first = now.begin; first < end && decided < 0; first += 32 * BATCH) {
            const uint32_t mine = deciding(rows, first + lane, 32, end, length);
            for (int k = BATCH - 1; k >= 0; --k) {
                const uint32_t lanes = __ballot_sync(FULL_WARP, mine >> k & 1);
                decided = lanes ? first + 32 * k + __ffs(lanes) - 1 : decided;
            }
        }
        if (lane == 0) {
            conclude(rows, row, decided, length, source, distance, predecessor, found);
        }
    }
}

/* The rows of `large`, one per block. */
extern "C" __global__ void __launch_bounds__(THREADS) find_in_blocks(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const Length* lengths, const ROW* large, int64_t count,
    int64_t source, DISTANCE* distance, ROW* predecessor, Found* found) {
    const Rows rows{offsets, indices, weights, lengths};
    __shared__ uint64_t decided;
    for (int64_t place = blockIdx.x; place < count; place += gridDim.x) {
        const ROW row = large[place];
        const int64_t begin = offsets[row], end = offsets[row + 1];
        const Length length = lengths[row];
        if (threadIdx.x == 0) {
            decided = ~0ull;
        }
        __syncthreads();
        for (int64_t first = begin + threadIdx.x; first - threadIdx.x < end; first += THREADS * BATCH) {
            const uint32_t found_here = deciding(rows, first, THREADS, end, length);
            const uint64_t mine = found_here ? (uint64_t)(first + THREADS * (__ffs(found_here) - 1)) : ~0ull;
            if (mine != ~0ull) {
                atomicMin(&decided, mine);
            }
            if (__syncthreads_or(mine != ~0ull)) {
                break;
            }
        }
        if (threadIdx.x == 0) {
            conclude(rows, row, (int64_t)decided, length, source, distance, predecessor, found);
        }
        __syncthreads();
    }
}

/* The second step, level by level: a waiting row takes the first in-arc of length zero from a row of the level before.
   `steps` is -1 for a waiting row and 0 for others. Each level reads all that wait, so
   one level may count as several thin ones. */
extern "C" __global__ void __launch_bounds__(THREADS, 2) complete_zero_steps(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const Length* lengths, const ROW* waiting, int64_t count,
    ROW* predecessor, ROW* steps, int64_t most_thin, Found* found) {
    int64_t settled = 1, thin = 0;
    for (ROW step = 1; settled > 0; ++step) {
        uint64_t* counter = &found->settled[step % 3];
        for (int64_t place = global_thread(); place < count; place += num_threads()) {
            const ROW row = waiting[place];
            if (steps[row] >= 0) {
                continue;
            }
            const Length length = lengths[row];
            for (int64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
                const ROW near = indices[arc];
                if (__ldcg(steps + near) == step - 1 && lengths[near] == length &&
                    plus(length, length_of(weights[arc])) == length) {
                    predecessor[row] = near;
                    steps[row] = step;
                    atomicAdd(counter, 1ull);
                    break;
                }
            }
        }
        if (global_thread() == 0) {
            found->settled[(step + 1) % 3] = 0;
        }
        grid_barrier((uint32_t*)&found->barrier);
        settled = (int64_t)__ldcg(counter);
        thin += settled < THIN_ROUND ? 1 + count / num_threads() : 0;
        if (settled > 0 && thin > most_thin) {
            found->deep = 1;
            return;
        }
    }
}
