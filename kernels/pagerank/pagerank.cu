/* PageRank. Returns every row's score after power iteration, the number of iterations, and the change of the last one.

   All iterations, each a step of step.cuh, are in one cooperative launch. If their number is fixed, no change ends them: then
   only the last two read and write scores, and the last one's change, from the scores that the one before wrote, is the answer's.
   Source: Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999. */
#include "pagerank/step.cuh"

struct Turn {
    Sums sums;
    uint64_t jobs_taken;
};

struct Control {
    uint64_t barrier;
    uint64_t iterations;
    double change;
    uint64_t unused;
    Turn turns[3];
};
static_assert(sizeof(Control) == CONTROL_WORDS * 8, "CONTROL_WORDS is wrong");

extern "C" __global__ void __launch_bounds__(THREADS, 1) iterate(
    const Task* tasks, const int64_t* jobs, int64_t num_jobs, const uint32_t* arcs, const Slice* slices, int64_t num_slices,
    const uint32_t* items, const ROW* rows, const float* degrees, const int64_t* out_offsets,
    const int64_t* in_offsets, int64_t num_rows, int64_t num_without_arcs, double damping, double tolerance,
    double settled, int64_t most_iterations, float* shares, float* partials, double* scores, Control* control) {
    extern __shared__ float memory[];
    float* const staged = memory + STAGED + (threadIdx.x >> 5) * ROUND;
    const TilePlan plan{tasks, jobs, num_jobs, arcs, slices, num_slices, items, rows, degrees};
    double base = 1.0 / (double)num_rows;
    start(out_offsets, num_rows, base, shares, scores, &control->turns->sums);
    grid_barrier((uint32_t*)&control->barrier);
    double change = 0;
    bool is_open = true;
    int64_t iteration = 0;
    for (; iteration < most_iterations && is_open; ++iteration) {
        Turn* turn = control->turns + (iteration + 1) % 3;
        const double lost = (double)__ldcg(&control->turns[iteration % 3].sums.dangling) / UNIT;
        const double before = base;
        base = (1.0 - damping + damping * lost) / (double)num_rows;
        Sums sums{};
        if (global_thread() == 0) {
            control->turns[(iteration + 2) % 3] = Turn{};
            sums = sums_without_arcs(before, base, num_without_arcs, settled);
        }
        sum_tiles(plan, num_rows, shares, memory, staged, partials, &turn->jobs_taken);
        grid_barrier((uint32_t*)&control->barrier);
        if (tolerance > 0 || iteration + 2 >= most_iterations) {
            sum_rows<true>(plan, partials, base, damping, settled, shares, scores, sums);
        } else {
            sum_rows<false>(plan, partials, base, damping, settled, shares, scores, sums);
        }
        publish(sums, &turn->sums);
        grid_barrier((uint32_t*)&control->barrier);
        change = (double)__ldcg(&turn->sums.change) / UNIT;
        is_open = change >= tolerance || __ldcg(&turn->sums.unsettled) > 0;
    }
    if (num_without_arcs > 0) {
        finish(out_offsets, in_offsets, num_rows, base, scores);
    }
    if (global_thread() == 0) {
        control->change = change;
        control->iterations = (uint64_t)iteration;
    }
}
