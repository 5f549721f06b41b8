/* A round of CDLP: the label that most neighbours of a row have.

   Method: of a row that waits, because a neighbour's label has changed, the votes of the neighbours are counted. Rows of at most
   SMALL_ROW arcs have lanes of a warp, each with one vote, which compare labels. Other rows may have a majority, for which the
   first 32 votes are a sample, or else have a table of labels and votes (neighbours/votes.cuh), which a warp fills, or a block
   for more than MIDDLE_ROW arcs; a table of more than LARGE_ROW arcs is in global memory if one in shared memory is too small.
   The first round of a symmetric graph counts only rows with parallel arcs: all labels differ, and arcs ascend by them.
   Source: Sahu, nu-LPA: Fast GPU-based Label Propagation Algorithm for Community Detection, arXiv 2411.11468.

   Encoding: labels are integers that compare like external ids. */
#include "neighbours/votes.cuh"

/* The label of a row by the best one other than its own, and the votes for its own; without votes it keeps its own. */
__device__ __forceinline__ ROW label_of(Choice best, int64_t own_votes, ROW own) {
    if (own_votes > 0) {
        best.improve(own_votes, own);
    }
    return best.votes > 0 ? (ROW)best.label : own;
}

/* Whether more than half of the arcs of a row, 32 at least, are votes for one label, which thread 0 of the team has then. */
template <typename Team>
__device__ __forceinline__ bool has_majority(const Arcs& arcs, int64_t row, const ROW* labels, const Team& team, ROW& label) {
    const ROW sampled = labels[arcs.neighbour(threadIdx.x & 31)];
    const int same = __popc(__match_any_sync(FULL_WARP, sampled));
    const int most = __reduce_max_sync(FULL_WARP, same);
    if (most < SAMPLED_MAJORITY) {
        return false;
    }
    label = __shfl_sync(FULL_WARP, sampled, __ffs(__ballot_sync(FULL_WARP, same == most)) - 1);
    uint64_t counted = 0;
    for (int64_t arc = team.member; arc < arcs.number; arc += Team::threads) {
        const int64_t other = arcs.neighbour(arc);
        counted += other != row && labels[other] == label;
    }
    return 2 * (int64_t)team.sum(counted) > arcs.number;
}

extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) == 4 ? 4 : 3)
count_by_blocks(const int64_t* out_offsets, const ROW* out_indices, const int64_t* into_offsets, const ROW* into_indices,
    const ROW* tabled, const int64_t* slots, int64_t num_large, int64_t num_by_blocks, const ROW* labels, const bool* waits,
    ROW* after, ROW* tables, uint32_t* votes) {
    const Side out = {out_offsets, out_indices}, into = {into_offsets, into_indices};
    __shared__ Choice of_warps[THREADS / 32];
    __shared__ uint64_t sums[THREADS / 32];
    __shared__ ROW shared_table[2 * LARGE_ROW];
    __shared__ uint32_t shared_votes[2 * LARGE_ROW];
    for (int64_t item = blockIdx.x; item < num_by_blocks; item += gridDim.x) {
        const int64_t row = tabled[item];
        if (!waits[row]) {
            continue;
        }
        const Arcs arcs(out, into, row);
        const Block team = {(int)threadIdx.x, sums};
        ROW majority = 0;
        if (has_majority(arcs, row, labels, team, majority)) {
            if (threadIdx.x == 0) {
                after[row] = majority;
            }
            continue;
        }
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
            after[row] = label_of(best, own_votes, labels[row]);
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) == 4 ? 4 : 3)
count_by_warps(const int64_t* out_offsets, const ROW* out_indices, const int64_t* into_offsets, const ROW* into_indices,
    const ROW* tabled, int64_t num_by_blocks, int64_t num_tabled, int64_t num_own, const ROW* labels, const bool* waits,
    ROW* after) {
    const Side out = {out_offsets, out_indices}, into = {into_offsets, into_indices};
    const int lane = threadIdx.x & 31, own_slots = (threadIdx.x >> 5) * (2 * MIDDLE_ROW);
    __shared__ ROW shared_table[2 * MIDDLE_ROW * (THREADS / 32)];
    __shared__ uint32_t shared_votes[2 * MIDDLE_ROW * (THREADS / 32)];
    for (int64_t item = num_by_blocks + global_thread() / 32; item < num_tabled; item += num_threads() / 32) {
        const int64_t row = tabled[item];
        if (!waits[row]) {
            continue;
        }
        const Arcs arcs(out, into, row);
        ROW label = 0;
        if (!has_majority(arcs, row, labels, Warp{lane}, label)) {
            const Table table = {shared_table + own_slots, shared_votes + own_slots, 2 * arcs.number, 2 * arcs.number};
            int64_t own_votes = 0;
            const Choice best = best_of_warp(count_votes(arcs, row, labels, table, Warp{lane}, own_votes));
            own_votes = sum_of_warp(own_votes);
            label = label_of(best, own_votes, labels[row]);
        }
        if (lane == 0) {
            after[row] = label;
        }
        __syncwarp();
    }
    const auto decide = [&](int64_t row, Choice best, int64_t own_votes, int64_t) {
        after[row] = label_of(best, own_votes, labels[row]);
    };
    for (int64_t base = global_thread() - lane; base < num_own; base += num_threads()) {
        const int64_t mine = base + lane;
        const int64_t its_arcs = mine < num_own && waits[mine] ? Arcs(out, into, mine).number : 0;
        count_small(out, into, labels, mine, its_arcs <= SMALL_ROW ? (int)its_arcs : 0, shared_table + own_slots, decide);
    }
}

/* Give each row of a symmetric graph the label of its first neighbour, the smallest; find rows with a neighbour twice. */
extern "C" __global__ void __launch_bounds__(THREADS)
take_first(const int64_t* offsets, const ROW* indices, int64_t num_rows, int64_t num_arcs, const ROW* labels, ROW* after,
    bool* repeats) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        for (int64_t arc = offsets[row]; arc < offsets[row + 1]; arc++) {
            if (indices[arc] != row) {
                after[row] = labels[indices[arc]];
                break;
            }
        }
    }
    for (int64_t arc = 1 + global_thread(); arc < num_arcs; arc += num_threads()) {
        if (indices[arc] == indices[arc - 1]) {
            const int64_t row = first_not(0, num_rows, [=](int64_t i) { return offsets[i + 1] <= arc; });
            if (offsets[row] < arc && indices[arc] != row) {
                repeats[row] = true;
            }
        }
    }
}

/* Let the neighbours of rows wait whose labels have changed. */
extern "C" __global__ void __launch_bounds__(THREADS)
wake(const int64_t* out_offsets, const ROW* out_indices, const int64_t* into_offsets, const ROW* into_indices, int64_t num_own,
    const bool* changed, bool* waits) {
    const Side out = {out_offsets, out_indices}, into = {into_offsets, into_indices};
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_own; base += num_threads()) {
        const bool is_changed = base + lane < num_own && changed[base + lane];
        for (uint32_t left = __ballot_sync(FULL_WARP, is_changed); left; left &= left - 1) {
            const Arcs arcs(out, into, base + __ffs(left) - 1);
            for (int64_t arc = lane; arc < arcs.number; arc += 32) {
                waits[arcs.neighbour(arc)] = true;
            }
        }
    }
}
