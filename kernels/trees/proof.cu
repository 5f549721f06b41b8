/* Proof of many trees against the graph's arcs, and their unique predecessors, in one pass over lines of lengths (parts.cuh).

   No arc is loose, so no length is too large. Every reached row but the source has a tight arc from a nearer row, so each is
   the length of a path (kernels/paths/certificate). Rows without such an arc are counted: in a tree that is proved there is one.

   A thread takes the in-arcs of a row for a part of a line. They ascend by the external ids of their tails, so the first tight
   one from a nearer row decides. A block writes a tile of TREE_THREADS / LINE rows and 32 trees, transposed in shared memory.
   SUM, WEIGHT, ROW: lengths.cuh. */
#include "trees/parts.cuh"

#define ABREAST 4
#define TILE (TREE_THREADS / LINE)
#define LARGEST (sizeof(Length) == 4 ? (Length)0x7fffffff : FAR - 1)

extern "C" __global__ void __launch_bounds__(TREE_THREADS) prove(
    const int64_t* offsets, const ROW* tails, const ROW* places, const WEIGHT* weights, const ROW* positions, int64_t num_rows,
    const ROW* sources, int64_t count, int64_t groups, const Length* lengths, SUM* distances, ROW* predecessors, uint32_t* loose,
    uint64_t* first) {
    __shared__ SUM tile[32][TILE + 1];
    __shared__ ROW nearest[32][TILE + 1];
    const int number = threadIdx.x % LINE, own_row = threadIdx.x / LINE;
    const int64_t tiles = (num_rows + TILE - 1) / TILE;
    for (int64_t work = blockIdx.x; work < tiles * groups; work += gridDim.x) {
        const int64_t group = work % groups, begin = work / groups * TILE, row = begin + own_row;
        if (row < num_rows) {
            const Part own = load_part(lengths + ((int64_t)positions[row] * groups + group) * 32, number);
            const int64_t arcs = offsets[row], end = offsets[row + 1];
            int64_t decided[PART];
            bool broken[PART];
#pragma unroll
            for (int i = 0; i < PART; ++i) {
                decided[i] = -1;
                broken[i] = own.of[i] > LARGEST && own.of[i] != FAR;
            }
            for (int64_t arc = arcs; arc < end; arc += ABREAST) {
                Part near[ABREAST];
                Length weight[ABREAST];
#pragma unroll
                for (int k = 0; k < ABREAST; ++k) {
                    if (arc + k < end) {
                        near[k] = load_part(lengths + ((int64_t)places[arc + k] * groups + group) * 32, number);
                        weight[k] = length_of(weights == nullptr ? (WEIGHT)1 : weights[arc + k]);
                    }
                }
#pragma unroll
                for (int k = 0; k < ABREAST; ++k) {
                    if (arc + k < end) {
#pragma unroll
                        for (int i = 0; i < PART; ++i) {
                            const Length total = plus(near[k].of[i], weight[k]);
                            const bool nearer = near[k].of[i] < own.of[i];
                            broken[i] |= total < own.of[i] || (nearer && own.of[i] == FAR);
                            decided[i] = nearer && total == own.of[i] && decided[i] < 0 ? arc + k : decided[i];
                        }
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < PART; ++i) {
                const int lane = number * PART + i;
                const int64_t tree = group * 32 + lane;
                const bool reached = own.of[i] != FAR;
                if (broken[i] || (tree < count && sources[tree] == row && own.of[i] != 0)) {
                    loose[tree] = 1;
                }
                if (reached && decided[i] < 0) {
                    atomicAdd(first + tree, (uint64_t)1);
                }
                tile[lane][own_row] = reached ? (SUM)Kind<SUM>::sum(own.of[i]) : (SUM)-1;
                const bool waits = reached && decided[i] < 0 && tree < count && sources[tree] != row;
                const bool stated = reached && decided[i] >= 0 && predecessors != nullptr;
                nearest[lane][own_row] = stated ? tails[decided[i]] : waits ? (ROW)WAITS : (ROW)-1;
            }
        }
        __syncthreads();
        for (int entry = threadIdx.x; entry < 32 * TILE; entry += TREE_THREADS) {
            const int64_t tree = group * 32 + entry / TILE, to = begin + entry % TILE;
            if (tree < count && to < num_rows) {
                distances[tree * num_rows + to] = tile[entry / TILE][entry % TILE];
                if (predecessors != nullptr) {
                    predecessors[tree * num_rows + to] = nearest[entry / TILE][entry % TILE];
                }
            }
        }
        __syncthreads();
    }
}

struct Steps {
    uint64_t barrier;
    uint64_t settled[3]; /* in this round, the next one, the one before */
};

/* Predecessors of the `count` rows that wait, round by round: a row takes the first tail of an arc of length zero that did not
   wait when the round began. The tree of `rows[i]` begins at `trees[i]`, and `nearest[i]` is -1. */
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 4) follow_zero_steps(
    const int64_t* offsets, const ROW* tails, const WEIGHT* weights, const int64_t* trees, const int64_t* rows,
    int64_t count, const SUM* distances, ROW* predecessors, ROW* nearest, Steps* steps) {
    int64_t settled = 1;
    for (int round = 0; settled > 0; round = round == 2 ? 0 : round + 1) {
        for (int64_t place = global_thread(); place < count; place += num_threads()) {
            const int64_t row = rows[place], tree = trees[place];
            const SUM far = distances[tree + row];
            for (int64_t arc = offsets[row]; nearest[place] == -1 && arc < offsets[row + 1]; ++arc) {
                const ROW tail = tails[arc];
                const WEIGHT weight = weights == nullptr ? (WEIGHT)1 : weights[arc];
                const bool absorbed = weight == 0 || ((SUM)0.5 != (SUM)0 && far + (SUM)weight == far);
                if (absorbed && distances[tree + tail] == far && __ldcg(predecessors + tree + tail) != WAITS) {
                    nearest[place] = tail;
                }
            }
        }
        grid_barrier((uint32_t*)&steps->barrier);
        for (int64_t place = global_thread(); place < count; place += num_threads()) {
            if (nearest[place] >= 0) {
                predecessors[trees[place] + rows[place]] = nearest[place];
                nearest[place] = WAITS;
                atomicAdd(&steps->settled[round], (uint64_t)1);
            }
        }
        if (global_thread() == 0) {
            steps->settled[round == 2 ? 0 : round + 1] = 0;
        }
        grid_barrier((uint32_t*)&steps->barrier);
        settled = (int64_t)__ldcg(&steps->settled[round]);
    }
}
