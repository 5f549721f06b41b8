/* Proof of many trees against the graph's arcs, and their unique predecessors, in one pass over lines of lengths (parts.cuh).

   No arc is loose, so no length is too large. Every reached row but the source has a tight arc from a nearer row, so each is
   the length of a path (kernels/paths/certificate). Rows without such an arc are counted: in a tree that is proved there is one.
   Joins (kernels/trees/swept.py) may also have an arc of length 0.

   A tile (tiles.cuh) is written transposed. SUM, WEIGHT, ROW: lengths.cuh. */
#include "trees/proof/tiles.cuh"

extern "C" __global__ void __launch_bounds__(PROOF_THREADS, 5) prove(
    const int64_t* offsets, const ROW* tails, const ROW* places, const WEIGHT* weights, const ROW* positions, const bool* joins,
    int64_t num_rows, bool positive, const ROW* sources, int64_t count, int64_t groups, const Length* lengths, SUM* distances,
    ROW* predecessors, uint32_t* loose, uint64_t* first) {
    __shared__ SUM distance_tiles[WARPS][32][ROWS + 1];
    __shared__ ROW nearest_tiles[WARPS][32][ROWS + 1];
    __shared__ Held held[WARPS];
    const Entering graph = {offsets, tails, places, weights, positions, joins, num_rows, positive};
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, number = lane % LINE;
    SUM(*distance_tile)[ROWS + 1] = distance_tiles[warp];
    ROW(*nearest)[ROWS + 1] = nearest_tiles[warp];
    const int64_t tiles = (num_rows + ROWS - 1) / ROWS;
    require_sources_at_zero(graph, sources, count, groups, lengths, loose);
    for (int64_t work = global_thread() >> 5; work < tiles * groups; work += num_threads() >> 5) {
        const Work taken(work, tiles, groups);
        const int64_t group = taken.group, begin = taken.begin;
        const Tile tile(graph, held[warp], begin, group, groups);
        uint32_t undecided = 0, broken = 0; /* a byte, and a bit, for each tree of the part */
        const auto visit = [&](int own_row, const Found& found) {
            const int64_t row = begin + own_row;
#pragma unroll
            for (int i = 0; i < PART; ++i) {
                const int of_tile = number * PART + i;
                const int64_t tree = group * 32 + of_tile;
                const Length own = found.own.of[i];
                const bool reached = own != FAR;
                const bool decided = reached && found.decided[i] >= 0 && !tile.is_source(sources, tree, count, row);
                broken |= (uint32_t)(row < num_rows && found.broken[i]) << i;
                undecided += (uint32_t)(row < num_rows && reached && !decided) << 8 * i;
                distance_tile[of_tile][own_row] = reached ? (SUM)Kind<SUM>::sum(own) : (SUM)-1;
                if (predecessors != nullptr) {
                    const bool waits = reached && !decided && tree < count && sources[tree] != row;
                    nearest[of_tile][own_row] = decided ? tails[tile.first + found.decided[i]] : waits ? (ROW)WAITS : (ROW)-1;
                }
            }
        };
        if (!tile.fast) {
            tile.rows<false, true>(lengths, visit);
        } else if (predecessors != nullptr) {
            tile.rows<true, true>(lengths, visit);
        } else {
            tile.rows<true, false>(lengths, visit);
        }
#pragma unroll
        for (int i = 0; i < PART; ++i) {
            const int64_t tree = group * 32 + number * PART + i;
            if (broken >> i & 1) {
                loose[tree] = 1;
            }
            if (undecided >> 8 * i & 255) {
                atomicAdd(first + tree, (uint64_t)(undecided >> 8 * i & 255));
            }
        }
        __syncwarp();
        for (int entry = lane; entry < 32 * ROWS; entry += 32) {
            const int64_t tree = group * 32 + entry / ROWS, to = begin + entry % ROWS;
            if (tree < count && to < num_rows) {
                distances[tree * num_rows + to] = distance_tile[entry / ROWS][entry % ROWS];
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
