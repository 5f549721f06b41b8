/* A round of label propagation over a rank's arcs, by the rules of __init__.py of the folder above.

   Method: as in cdlp.cu, the votes for a row of at most SMALL_ROW arcs are compared by lanes of a warp. Other rows have a
   table of labels and votes (neighbours/votes.cuh), which a warp fills, or a block for more than MIDDLE_ROW arcs; a table of
   more than LARGE_ROW arcs is in global memory if one in shared memory is too small. Rows move in a launch of their own.

   Encoding: labels are numbers that compare like external ids. Ghosts have no arcs and are not active. */
#include "communities/rows.cuh"
#include "neighbours/votes.cuh"

/* Whether an active row votes in a round. */
__device__ __forceinline__ bool in_turn(int64_t row, int64_t round, const ROW* positions, const uint8_t* active) {
    return active[row] && (round > FREE_ROUNDS || (int64_t)(key_of(positions[row], 0) >> 63) == (round & 1));
}

/* What a row prefers, by the best label other than its own, and by the votes for its own one. */
__device__ __forceinline__ void prefer(
    int64_t row, Choice best, int64_t own_votes, uint8_t* active, ROW* preferred, uint8_t* moves) {
    active[row] = 0;
    if (best.votes > own_votes) {
        preferred[row] = (ROW)best.label;
        moves[row] = 1;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) == 4 ? 4 : 3)
prefer_by_blocks(const int64_t* out_offsets, const ROW* out_indices, const int64_t* into_offsets, const ROW* into_indices,
    const ROW* tabled, const int64_t* slots, int64_t num_large, int64_t num_by_blocks, int64_t round, const ROW* positions,
    const ROW* labels, uint8_t* active, ROW* preferred, uint8_t* moves, ROW* tables, uint32_t* votes) {
    const Side out = {out_offsets, out_indices}, into = {into_offsets, into_indices};
    __shared__ Choice of_warps[THREADS / 32];
    __shared__ uint64_t sums[THREADS / 32];
    __shared__ ROW shared_table[2 * LARGE_ROW];
    __shared__ uint32_t shared_votes[2 * LARGE_ROW];
    for (int64_t item = blockIdx.x; item < num_by_blocks; item += gridDim.x) {
        const int64_t row = tabled[item];
        if (!in_turn(row, round, positions, active)) {
            continue;
        }
        const Arcs arcs(out, into, row);
        const Block team = {(int)threadIdx.x, sums};
        const int64_t size = 2 * arcs.number;
        Table table = table_of_block(shared_table, shared_votes, size, item < num_large);
        int64_t own_votes = 0;
        Choice best = count_votes(arcs, row, labels, table, team, own_votes);
        if (best.votes < 0) {
            table = {tables + slots[item], votes + slots[item], size, size};
            best = count_votes(arcs, row, labels, table, team, own_votes);
        }
        best = best_of_block(best, of_warps, team, own_votes);
        if (threadIdx.x == 0) {
            prefer(row, best, own_votes, active, preferred, moves);
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) == 4 ? 4 : 3)
prefer_by_warps(const int64_t* out_offsets, const ROW* out_indices, const int64_t* into_offsets, const ROW* into_indices,
    const ROW* tabled, int64_t num_by_blocks, int64_t num_tabled, int64_t num_rows, int64_t round, const ROW* positions,
    const ROW* labels, uint8_t* active, ROW* preferred, uint8_t* moves) {
    const Side out = {out_offsets, out_indices}, into = {into_offsets, into_indices};
    const int lane = threadIdx.x & 31, own_slots = (threadIdx.x >> 5) * (2 * MIDDLE_ROW);
    __shared__ ROW shared_table[2 * MIDDLE_ROW * (THREADS / 32)];
    __shared__ uint32_t shared_votes[2 * MIDDLE_ROW * (THREADS / 32)];
    for (int64_t item = num_by_blocks + global_thread() / 32; item < num_tabled; item += num_threads() / 32) {
        const int64_t row = tabled[item];
        const bool votes = in_turn(row, round, positions, active);
        __syncwarp();
        if (!votes) {
            continue;
        }
        const Arcs arcs(out, into, row);
        const Table table = {shared_table + own_slots, shared_votes + own_slots, 2 * arcs.number, 2 * arcs.number};
        int64_t own_votes = 0;
        const Choice best = best_of_warp(count_votes(arcs, row, labels, table, Warp{lane}, own_votes));
        own_votes = sum_of_warp(own_votes);
        if (lane == 0) {
            prefer(row, best, own_votes, active, preferred, moves);
        }
        __syncwarp();
    }
    const auto decide = [&](int64_t row, Choice best, int64_t own_votes, int64_t) {
        prefer(row, best, own_votes, active, preferred, moves);
    };
    for (int64_t base = global_thread() - lane; base < num_rows; base += num_threads()) {
        const int64_t mine = base + lane;
        const int64_t its_arcs = mine < num_rows ? Arcs(out, into, mine).number : 0;
        const bool votes = its_arcs <= SMALL_ROW && mine < num_rows && in_turn(mine, round, positions, active);
        count_small(out, into, labels, mine, votes ? (int)its_arcs : 0, shared_table + own_slots, decide);
    }
}

/* Let rows move that may; they wake their neighbours, and those that may not stay active. */
extern "C" __global__ void __launch_bounds__(THREADS)
move(const int64_t* out_offsets, const ROW* out_indices, const int64_t* into_offsets, const ROW* into_indices, int64_t num_rows,
    int64_t round, const ROW* positions, ROW* labels, uint8_t* active, const ROW* preferred, const uint8_t* moves) {
    const Side out = {out_offsets, out_indices}, into = {into_offsets, into_indices};
    const int lane = threadIdx.x & 31;
    const auto row_of = [](int64_t row) { return row; };
    for_rows(0, num_rows, row_of, [&](int64_t row) { return moves[row] != 0; }, [&](int64_t row) {
        const Arcs arcs(out, into, row);
        if (yields(arcs, row, round, positions, moves)) {
            if (lane == 0) {
                active[row] = 1;
            }
            return;
        }
        for (int64_t arc = lane; arc < arcs.number; arc += 32) {
            active[arcs.neighbour(arc)] = 1;
        }
        if (lane == 0) {
            labels[row] = preferred[row];
        }
    });
}
