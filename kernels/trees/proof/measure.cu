/* Proof of many trees, as in proof.cu, and what `kernels.reductions.measure` says of their distances, which are not written.

   A warp keeps the results of one group's trees in registers for as long as it can. SUM is int. WEIGHT, ROW: lengths.cuh. */
#include "trees/proof/tiles.cuh"

/* Results of the trees of a part. */
struct Measured {
    uint64_t total[PART];
    uint32_t reached[PART], undecided[PART];
    Length farthest[PART];
    uint32_t broken; /* a bit for each tree */

    /* Add them to those of all warps; every lane of the warp calls it. */
    __device__ __forceinline__ void add_to(
        int64_t group, int64_t* all_reached, int64_t* all_farthest, int64_t* all_totals, uint32_t* loose, uint64_t* first) {
        const int number = (threadIdx.x & 31) % LINE;
#pragma unroll
        for (int i = 0; i < PART; ++i) {
            const int64_t tree = group * 32 + number * PART + i;
            for (int apart = LINE; apart < 32; apart <<= 1) {
                total[i] += __shfl_xor_sync(FULL_WARP, total[i], apart);
                reached[i] += __shfl_xor_sync(FULL_WARP, reached[i], apart);
                undecided[i] += __shfl_xor_sync(FULL_WARP, undecided[i], apart);
                const Length other = __shfl_xor_sync(FULL_WARP, farthest[i], apart);
                farthest[i] = other > farthest[i] ? other : farthest[i];
            }
            if (broken >> i & 1) {
                loose[tree] = 1;
            }
            if ((threadIdx.x & 31) < LINE) {
                atomicAdd((unsigned long long*)(all_totals + tree), (unsigned long long)total[i]);
                atomicAdd((unsigned long long*)(all_reached + tree), (unsigned long long)reached[i]);
                atomicAdd((unsigned long long*)(first + tree), (unsigned long long)undecided[i]);
                atomicMax((unsigned long long*)(all_farthest + tree), (unsigned long long)farthest[i]);
            }
        }
    }
};

// spills: with rows of 64 bits
extern "C" __global__ void __launch_bounds__(PROOF_THREADS, 5) prove_and_measure(
    const int64_t* offsets, const ROW* tails, const ROW* places, const WEIGHT* weights, const ROW* positions, const bool* joins,
    int64_t num_rows, bool positive, const ROW* sources, int64_t count, int64_t groups, const Length* lengths, int64_t* reached,
    int64_t* farthest, int64_t* totals, uint32_t* loose, uint64_t* first) {
    __shared__ Held held[WARPS];
    const Entering graph = {offsets, tails, places, weights, positions, joins, num_rows, positive};
    const int64_t tiles = (num_rows + ROWS - 1) / ROWS, warps = num_threads() >> 5;
    const int64_t stride = warps > GROUPS ? warps / GROUPS * GROUPS : warps; /* a warp that strides so stays in its group */
    Measured measured = {};
    int64_t current = -1;
    require_sources_at_zero(graph, sources, count, groups, lengths, loose);
    for (int64_t work = global_thread() >> 5; work < tiles * groups && (global_thread() >> 5) < stride; work += stride) {
        const Work taken(work, tiles, groups);
        const int64_t group = taken.group, begin = taken.begin;
        if (group != current) {
            if (current >= 0) {
                measured.add_to(current, reached, farthest, totals, loose, first);
            }
            measured = {};
            current = group;
        }
        const Tile tile(graph, held[threadIdx.x >> 5], begin, group, groups);
        const auto visit = [&](int own_row, const Found& found) {
            const int64_t row = begin + own_row;
#pragma unroll
            for (int i = 0; i < PART; ++i) {
                const Length own = row < num_rows ? found.own.of[i] : FAR;
                const bool there = own != FAR;
                measured.broken |= (uint32_t)(row < num_rows && found.broken[i]) << i;
                measured.total[i] += there ? own : 0;
                measured.reached[i] += there;
                const int64_t tree = group * 32 + (threadIdx.x & 31) % LINE * PART + i;
                measured.undecided[i] += there && (found.decided[i] < 0 || tile.is_source(sources, tree, count, row));
                measured.farthest[i] = there && own > measured.farthest[i] ? own : measured.farthest[i];
            }
        };
        if (tile.fast) {
            tile.rows<true, false>(lengths, visit);
        } else {
            tile.rows<false, true>(lengths, visit);
        }
        __syncwarp();
    }
    if (current >= 0) {
        measured.add_to(current, reached, farthest, totals, loose, first);
    }
}
