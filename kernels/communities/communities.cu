/* Communities by label propagation: all rounds in one cooperative launch, by the rules of __init__.py.

   Method: each round has two passes. In the first, a row whose turn it is counts the votes of its neighbours, if its lead is
   negative. The lead is at most the number of votes by which the row's label exceeds every other one; a row with a lead would
   stay. A row of at most SMALL_ROW arcs has lanes of a warp, each with one vote, which compare labels (match). Other rows may
   have a majority (`choose_majority`), or else have a table of labels and votes (open addressing, at least twice as many slots as
   arcs), which a warp fills, or a block for more than MIDDLE_ROW arcs; a table of more than LARGE_ROW arcs is in global memory if
   one in shared memory is too small. Lanes with one label add their votes together. Votes are integers, so their order does not
   matter. In the second pass rows move, and subtract 2 from the leads of their neighbours. If many rows move, all leads become
   negative: to count a row without reason changes nothing.
   Source: Sahu, nu-LPA: Fast GPU-based Label Propagation Algorithm for Community Detection, arXiv 2411.11468.

   Encoding: a label is the position of a row. */
#include "communities/rows.cuh"
#include "communities/votes.cuh"

#define AT_ONCE 16 // rows for which a block draws a number

struct Control {
    uint32_t barrier;
    uint32_t moving[2]; // rows that prefer another label, in this and in the next round
    uint32_t rounds;
    uint32_t taken[2]; // numbers that blocks have drawn, in this and in the next round
    uint64_t arcs[2];  // of rows that prefer another label, in this and in the next round
};
static_assert(sizeof(Control) == CONTROL_WORDS * 4, "CONTROL_WORDS is wrong");

/* As `count_votes`, by whichever way suits the labels. */
template <typename Team>
__device__ __forceinline__ Choice choose(const Arcs& arcs, int64_t row, const ROW* labels, bool distinct, const Table& table,
    const Team& team, int64_t& own_votes) {
    Choice best = {0, NO_LABEL};
    if (distinct ? choose_first(arcs, row, labels, team, best) : choose_majority(arcs, row, labels, team, best, own_votes)) {
        return best;
    }
    return count_votes(arcs, row, labels, table, team, own_votes);
}

extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) == 4 ? 4 : 3) propagate(const int64_t* out_offsets,
    const ROW* out_indices, const int64_t* into_offsets, const ROW* into_indices, int64_t num_rows, const ROW* tabled,
    const int64_t* slots, int64_t num_large, int64_t num_by_blocks, int64_t num_tabled, const ROW* positions, ROW* labels,
    ROW* preferred, int* leads, uint8_t* moves, ROW* tables, uint32_t* votes, Control* control) {
    const Side out = {out_offsets, out_indices}, into = {into_offsets, into_indices};
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __shared__ Choice of_warps[THREADS / 32];
    __shared__ uint64_t sums[THREADS / 32];
    __shared__ uint32_t drawn;
    __shared__ ROW shared_table[2 * LARGE_ROW];
    __shared__ uint32_t shared_votes[2 * LARGE_ROW];
    const int own_slots = warp * (2 * MIDDLE_ROW);
    static_assert(MIDDLE_ROW * (THREADS / 32) <= LARGE_ROW, "the tables of all warps of a block fit in that of the block");
    const int64_t num_arcs = out_offsets[num_rows] + (into_offsets ? into_offsets[num_rows] : 0);
    uint32_t quiet = 0, round = 0;
    while (quiet < 2) { // in both classes, or in a round of all rows
        round++;
        uint32_t moving = 0;     // rows that this thread saw
        uint64_t their_arcs = 0; // of these rows
        const bool distinct = round == 1 && !into.offsets; // labels; an arc and its reverse are two votes for one
        const auto in_turn = [&](int64_t row) {
            return leads[row] < 0 && (round > FREE_ROUNDS || (key_of(positions[row], 0) >> 63) == (round & 1));
        };
        // what the row decides, by one thread
        const auto decide = [&](int64_t row, Choice best, int64_t own_votes, int64_t number) {
            const bool moves_now = best.votes > own_votes;
            const int64_t lead = own_votes - best.votes;
            leads[row] = moves_now ? 0 : lead < MOST_LEAD ? (int)lead : MOST_LEAD;
            moves[row] = moves_now;
            if (moves_now) {
                preferred[row] = (ROW)best.label;
                moving++;
                their_arcs += number;
            }
        };
        if (global_thread() == 0) {
            control->moving[(round + 1) & 1] = 0;
            control->taken[(round + 1) & 1] = 0;
            control->arcs[(round + 1) & 1] = 0;
        }
        // Blocks draw numbers: of one large row each, the rows of most arcs first, then of AT_ONCE other rows.
        for (int64_t item = 0, last = 0;; item++) {
            if (item == last) {
                __syncthreads();
                if (threadIdx.x == 0) {
                    drawn = atomicAdd(&control->taken[round & 1], 1u);
                }
                __syncthreads();
                item = drawn < num_large ? drawn : num_large + (drawn - num_large) * AT_ONCE;
                last = drawn < num_large ? item + 1 : item + AT_ONCE < num_by_blocks ? item + AT_ONCE : num_by_blocks;
            }
            if (item >= num_by_blocks) {
                break;
            }
            const int64_t row = tabled[item];
            if (!in_turn(row)) {
                continue;
            }
            const Arcs arcs(out, into, row);
            const Block team = {(int)threadIdx.x, sums};
            const int64_t size = 2 * arcs.number;
            Table table = table_of_block(shared_table, shared_votes, size, item < num_large);
            int64_t own_votes = 0;
            Choice found = choose(arcs, row, labels, distinct, table, team, own_votes);
            if (found.votes < 0) {
                table = {tables + slots[item], votes + slots[item], size, size};
                found = count_votes(arcs, row, labels, table, team, own_votes);
            }
            found = best_of_block(found, of_warps, team, own_votes);
            if (threadIdx.x == 0) {
                decide(row, found, own_votes, arcs.number);
            }
            __syncthreads();
        }
        for_rows(num_by_blocks, num_tabled, [&](int64_t item) { return (int64_t)tabled[item]; }, in_turn, [&](int64_t row) {
            const Arcs arcs(out, into, row);
            const Table table = {shared_table + own_slots, shared_votes + own_slots, 2 * arcs.number, 2 * arcs.number};
            int64_t own_votes = 0;
            const Choice best = best_of_warp(choose(arcs, row, labels, distinct, table, Warp{lane}, own_votes));
            own_votes = sum_of_warp(own_votes);
            if (lane == 0) {
                decide(row, best, own_votes, arcs.number);
            }
            __syncwarp();
        });
        for (int64_t base = global_thread() - lane; base < num_rows; base += num_threads()) {
            const int64_t mine = base + lane;
            const bool looks = mine < num_rows && in_turn(mine);
            const int64_t its_arcs = looks ? Arcs(out, into, mine).number : 0;
            if (looks && its_arcs == 0) {
                leads[mine] = 0;
            }
            count_small(out, into, labels, mine, its_arcs <= SMALL_ROW ? (int)its_arcs : 0, shared_table + own_slots, decide);
        }
        moving = sum_of_warp(moving);
        their_arcs = sum_of_warp(their_arcs);
        if (lane == 0 && moving) {
            atomicAdd(&control->moving[round & 1], moving);
            atomicAdd(&control->arcs[round & 1], their_arcs);
        }
        grid_barrier(&control->barrier);
        moving = *(volatile uint32_t*)&control->moving[round & 1];
        quiet = moving ? 0 : round > FREE_ROUNDS ? 2 : quiet + 1;
        const bool many = round <= FREE_ROUNDS && *(volatile uint64_t*)&control->arcs[round & 1] > num_arcs / MANY;
        for (int64_t row = global_thread(); many && row < num_rows; row += num_threads()) {
            leads[row] = -1;
            if (moves[row]) {
                labels[row] = preferred[row];
            }
        }
        const auto may_move = [&](int64_t row) { return moves[row] != 0; };
        for_rows(0, moving && !many ? num_rows : 0, [](int64_t row) { return row; }, may_move, [&](int64_t row) {
            const Arcs arcs(out, into, row);
            if (yields(arcs, row, round, positions, moves)) {
                if (lane == 0) {
                    leads[row] = -1;
                }
                return;
            }
            for (int64_t arc = lane; arc < arcs.number; arc += 32) {
                int* lead = &leads[arcs.neighbour(arc)];
                if (*(volatile int*)lead >= 0) {
                    atomicSub(lead, 2); // one vote less for its label, one more for another
                }
            }
            if (lane == 0) {
                labels[row] = preferred[row];
            }
        });
        grid_barrier(&control->barrier);
        for (int64_t row = global_thread(); moving && row < num_rows; row += num_threads()) {
            moves[row] = 0;
        }
        grid_barrier(&control->barrier);
    }
    if (global_thread() == 0) {
        control->rounds = round;
    }
}
