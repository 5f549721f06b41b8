/* `repeat_advance`: rounds of `advance` over lists, each over the rows that the round before found, in one cooperative launch.

   Rows are put into a list for each group of degrees as they are found, so a round of rows without hubs costs one barrier. Rounds
   use two lists and two sets of bits in turn, and three slots of counts: those of the frontier, of what is found, and of the next
   round, which are set to zero meanwhile. A failed call ends the search one round later, so that all blocks agree on it.

   The generated text in front of this file is that of arcs.cuh. INPUT is SPARSE.

   Source: Merrill, Garland, Grimshaw, Scalable GPU Graph Traversal (PPoPP 2012). */
#define REPEATS
#include "operators/gpu/arcs.cuh"

struct Slot {
    int64_t counts[GROUPS];
    int64_t failed;
};
struct Control {
    Slot slots[3];
    uint64_t barrier;
};
static_assert(sizeof(Control) == CONTROL_WORDS * 8, "CONTROL_WORDS is wrong");

/* Advance from the `size` rows of `given` until nothing is found, at most `most` times. `listed` has space for all rows twice,
   `bits` is zero. *rounds is the number of rounds, or -1 if there were more. */
extern "C" __global__ void __launch_bounds__(REPEAT_THREADS, REPEAT_BLOCKS) repeat_arcs(
    const ROW* given, int64_t size, int64_t most, int64_t num_rows, ROW* listed, uint32_t* bits, const int64_t* starts,
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, OWN* hub_owns, TOTAL* hub_parts, TOTAL start,
    Control* control, int64_t* rounds, int64_t* record, int64_t launch CAPTURED_PARAMETERS) {
    CAPTURED_VALUES
    uint32_t* barrier = (uint32_t*)&control->barrier;
    const int64_t words = (num_rows + 31) / 32;
    Sweep sweep{listed, starts, 0, 0, offsets, indices, weights, offsets, hub_owns, hub_parts, 0, 0, start, 0, 1, 0,
                Found{bits, listed, starts, offsets, (uint64_t*)control->slots[0].counts}, record, launch, functions};
    for (int64_t item = global_thread(); item < size; item += num_threads()) {
        enter(sweep.found, given[item]);
    }
    grid_barrier(barrier);
    for (int64_t round = 0;; ++round) {
        const Slot& now = control->slots[round % 3];
        Slot& next = control->slots[(round + 1) % 3];
        Slot& later = control->slots[(round + 2) % 3];
        int64_t counts[GROUPS], left = 0;
#pragma unroll
        for (int group = 0; group < GROUPS; ++group) {
            counts[group] = __ldcg(&now.counts[group]);
            left += counts[group];
        }
        const bool is_over = left == 0 || __ldcg(&now.failed);
        if (is_over || round == most) {
            if (global_thread() == 0) {
                *rounds = is_over ? round : -1;
            }
            return;
        }
        if (global_thread() == 0) {
            next.failed = record[LAUNCH] != 0;
            for (int group = 0; group < GROUPS; ++group) {
                later.counts[group] = 0;
            }
        }
        sweep.listed = listed + (round & 1) * num_rows;
        sweep.counts = counts;
        sweep.round = round + 1;
        sweep.found.listed = listed + (~round & 1) * num_rows;
        sweep.found.bits = bits + (~round & 1) * words;
        sweep.found.counts = (uint64_t*)next.counts;
        uint32_t* spent = bits + (round & 1) * words;
        for (int group = 0; group < GROUPS; ++group) {
            for (int64_t item = global_thread(); item < counts[group]; item += num_threads()) {
                spent[sweep.listed[starts[group] + item] >> 5] = 0;
            }
        }
#if HOW != 5 /* FIRST_OF */
        if (HAS_BEFORE && counts[HUBS]) {
            begin_hub_rows(sweep);
            grid_barrier(barrier);
        }
#endif
        visit_wide(sweep);
        visit_by_teams(sweep);
#if HOW != 5 /* FIRST_OF */
        if ((HOW || HAS_AFTER) && counts[HUBS]) {
            grid_barrier(barrier);
            end_hub_rows(sweep);
        }
#endif
        grid_barrier(barrier);
    }
}
