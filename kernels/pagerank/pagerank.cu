/* PageRank in tiles. Returns every row's score after power iteration, the number of iterations, and the change of the last one.

   All iterations, each a step of step.cuh, are in one cooperative launch.
   Source: Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999. */
#include "pagerank/control.cuh"
#include "pagerank/step.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1) iterate(
    const Task* tasks, const int64_t* jobs, const uint32_t* arcs, const Slice* slices, const uint32_t* items, const ROW* rows,
    const float* degrees, int64_t run, const Group* groups, int32_t num_groups, const int64_t* out_offsets,
    const int64_t* in_offsets, int64_t num_without_arcs, int64_t num_rows, double damping, double tolerance,
    double settled, int64_t most_iterations, float* shares, float* next, float* partials, double* scores, Control* control) {
    extern __shared__ float memory[];
    float* const staged = memory + STAGED + (threadIdx.x >> 5) * ROUND;
    const TilePlan plan{tasks, jobs, arcs, slices, items, rows, degrees, run, groups, num_groups};
    const Rules rules{damping, tolerance, settled, most_iterations};
    Iterations all(control, num_rows);
    start(out_offsets, num_rows, all.base, shares, scores, &all.turn()->sums);
    grid_barrier((uint32_t*)&control->barrier);
    while (all.begin(rules, num_rows)) {
        if (global_thread() == 0) {
            add(sums_without_arcs(all.before, all.base, num_without_arcs, settled), &all.turn()->sums);
        }
        for (int group = 0; group < num_groups; ++group) {
            if (group > 0) {
                grid_barrier((uint32_t*)&control->barrier);
            }
            sum_tiles(plan, group, num_rows, shares, memory, staged, partials, &all.turn()->jobs_taken);
            grid_barrier((uint32_t*)&control->barrier);
            Sums sums{};
            if (all.compares(rules)) {
                sum_rows<true>(plan, group, partials, {all.base, damping, settled, next, scores}, sums);
            } else {
                sum_rows<false>(plan, group, partials, {all.base, damping, settled, next, scores}, sums);
            }
            publish(sums, &all.turn()->sums);
        }
        put_next(next, num_rows, shares, (uint32_t*)&control->barrier);
        grid_barrier((uint32_t*)&control->barrier);
    }
    if (num_without_arcs > 0) {
        finish(out_offsets, in_offsets, num_rows, all.base, scores);
    }
}
