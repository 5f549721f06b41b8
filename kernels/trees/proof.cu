/* Proof of many trees against the graph's arcs, and their unique predecessors, in one pass over lines of lengths (parts.cuh).

   No arc is loose, so no length is too large. Every reached row but the source has a tight arc from a nearer row, so each is
   the length of a path (kernels/paths/certificate). Rows without such an arc are counted: in a tree that is proved there is one.
   Joins (kernels/trees/swept.py) may also have an arc of length 0.

   A warp takes a tile of ROWS rows and 32 trees. It first reads where all their lengths and in-arcs are, so that every later load
   waits for nothing but itself. Then a thread takes the in-arcs of a row for a part of a line. They ascend by the external ids of
   their tails, so the first tight one from a nearer row decides. The tile is written transposed.
   SUM, WEIGHT, ROW: lengths.cuh. */
#include "trees/parts.cuh"

#define ABREAST 4
#define ROWS (sizeof(SUM) == 4 && sizeof(ROW) == 4 ? 32 : 16) /* tiles of all warps fit into static shared memory */
#define WARPS (PROOF_THREADS / 32)
#define LARGEST (sizeof(Length) == 4 ? (Length)0x7fffffff : FAR - 1)

/* The in-arcs of a tile's rows, HELD of them in shared memory. */
struct InArcs {
    const ROW *tails, *places;
    const WEIGHT* weights;
    ROW *held_tails, *held_places;
    Length* held_weights;

    __device__ __forceinline__ void hold(int64_t count, int lane) {
        for (int arc = lane; arc < HELD && arc < count; arc += 32) {
            held_tails[arc] = tails[arc];
            held_places[arc] = places[arc];
            held_weights[arc] = length_of(weights == nullptr ? (WEIGHT)1 : weights[arc]);
        }
    }
    __device__ __forceinline__ ROW tail(int arc) const { return arc < HELD ? held_tails[arc] : tails[arc]; }
    __device__ __forceinline__ ROW place(int arc) const { return arc < HELD ? held_places[arc] : places[arc]; }
    __device__ __forceinline__ Length weight(int arc) const {
        return arc < HELD ? held_weights[arc] : length_of(weights == nullptr ? (WEIGHT)1 : weights[arc]);
    }
};

extern "C" __global__ void __launch_bounds__(PROOF_THREADS, 5) prove(
    const int64_t* offsets, const ROW* tails, const ROW* places, const WEIGHT* weights, const ROW* positions, const bool* joins,
    int64_t num_rows, const ROW* sources, int64_t count, int64_t groups, const Length* lengths, SUM* distances,
    ROW* predecessors, uint32_t* loose, uint64_t* first) {
    __shared__ SUM distance_tiles[WARPS][32][ROWS + 1];
    __shared__ ROW nearest_tiles[WARPS][32][ROWS + 1];
    __shared__ ROW held_tails[WARPS][HELD];
    __shared__ ROW held_places[WARPS][HELD];
    __shared__ Length held_weights[WARPS][HELD];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, number = lane % LINE;
    SUM(*tile)[ROWS + 1] = distance_tiles[warp];
    ROW(*nearest)[ROWS + 1] = nearest_tiles[warp];
    const int64_t tiles = (num_rows + ROWS - 1) / ROWS;
    for (int64_t work = global_thread() >> 5; work < tiles * groups; work += num_threads() >> 5) {
        const int64_t group = work % groups, begin = work / groups * ROWS;
        const int64_t of_lane = begin + lane % ROWS < num_rows ? begin + lane % ROWS : num_rows - 1;
        const int64_t line_of_lane = (int64_t)positions[of_lane] * groups + group;
        const int64_t begin_of_lane = offsets[of_lane], end_of_lane = offsets[of_lane + 1];
        const int join_of_lane = joins != nullptr && joins[of_lane];
        const int64_t base = __shfl_sync(FULL_WARP, begin_of_lane, 0);
        InArcs arcs = {tails + base, places + base, weights == nullptr ? nullptr : weights + base,
                       held_tails[warp], held_places[warp], held_weights[warp]};
        arcs.hold(__shfl_sync(FULL_WARP, end_of_lane, 31) - base, lane);
        ROW its_sources[PART];
#pragma unroll
        for (int i = 0; i < PART; ++i) {
            const int64_t tree = group * 32 + number * PART + i;
            its_sources[i] = tree < count ? sources[tree] : (ROW)-1;
        }
        __syncwarp();
#pragma unroll 2
        for (int step = 0; step < ROWS; step += STRIPES) {
            const int own_row = step + lane / LINE;
            const int64_t row = begin + own_row, line = __shfl_sync(FULL_WARP, line_of_lane, own_row);
            const int from = __shfl_sync(FULL_WARP, (int)(begin_of_lane - base), own_row);
            const int its_end = __shfl_sync(FULL_WARP, (int)(end_of_lane - base), own_row), end = row < num_rows ? its_end : from;
            const Part own = load_part(lengths + line * 32, number);
            const bool join = __shfl_sync(FULL_WARP, join_of_lane, own_row);
            int decided[PART];
            bool broken[PART];
#pragma unroll
            for (int i = 0; i < PART; ++i) {
                decided[i] = -1;
                broken[i] = own.of[i] > LARGEST && own.of[i] != FAR;
            }
            for (int arc = from; arc < end; arc += ABREAST) {
                Part near[ABREAST];
#pragma unroll
                for (int k = 0; k < ABREAST; ++k) {
                    if (arc + k < end) {
                        near[k] = load_part(lengths + ((int64_t)arcs.place(arc + k) * groups + group) * 32, number);
                    }
                }
#pragma unroll
                for (int k = 0; k < ABREAST; ++k) {
                    if (arc + k < end) {
                        const Length weight = arcs.weight(arc + k);
#pragma unroll
                        for (int i = 0; i < PART; ++i) {
                            const Length total = plus(near[k].of[i], weight);
                            const bool nearer = near[k].of[i] < own.of[i];
                            broken[i] |= total < own.of[i] || (nearer && own.of[i] == FAR);
                            const bool tight = total == own.of[i] && (nearer || (join && total != FAR));
                            decided[i] = tight && decided[i] < 0 ? arc + k : decided[i];
                        }
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < PART; ++i) {
                const int of_tile = number * PART + i;
                const int64_t tree = group * 32 + of_tile;
                const bool reached = own.of[i] != FAR, source = its_sources[i] == row;
                if (broken[i] || (source && own.of[i] != 0)) {
                    loose[tree] = 1;
                }
                if (reached && decided[i] < 0 && row < num_rows) {
                    atomicAdd(first + tree, (uint64_t)1);
                }
                tile[of_tile][own_row] = reached ? (SUM)Kind<SUM>::sum(own.of[i]) : (SUM)-1;
                const bool waits = reached && decided[i] < 0 && tree < count && !source;
                const bool stated = reached && decided[i] >= 0 && predecessors != nullptr;
                nearest[of_tile][own_row] = stated ? arcs.tail(decided[i]) : waits ? (ROW)WAITS : (ROW)-1;
            }
        }
        __syncwarp();
        for (int entry = lane; entry < 32 * ROWS; entry += 32) {
            const int64_t tree = group * 32 + entry / ROWS, to = begin + entry % ROWS;
            if (tree < count && to < num_rows) {
                distances[tree * num_rows + to] = tile[entry / ROWS][entry % ROWS];
                if (predecessors != nullptr) {
                    predecessors[tree * num_rows + to] = nearest[entry / ROWS][entry % ROWS];
                }
            }
        }
        __syncwarp();
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
