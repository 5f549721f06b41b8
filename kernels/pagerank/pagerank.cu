/* PageRank in tiles. Returns every row's score after power iteration, the number of iterations, and the change of the last one.

   All iterations, each a step of step.cuh, are in one cooperative launch.
   Source: Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999. */
#include "pagerank/control.cuh"
#include "pagerank/step.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 1) iterate(
    const Task* tasks, const int64_t* jobs, int64_t num_jobs, const uint32_t* arcs, const Slice* slices, int64_t num_slices,
    const uint32_t* items, const ROW* rows, const float* degrees, int64_t run, const int64_t* out_offsets,
    const int64_t* in_offsets, int64_t num_without_arcs, int64_t num_rows, double damping, double tolerance,
    double settled, int64_t most_iterations, float* shares, float* partials, double* scores, Control* control) {
    extern __shared__ float memory[];
    float* const staged = memory + STAGED + (threadIdx.x >> 5) * ROUND;
    const TilePlan plan{tasks, jobs, num_jobs, arcs, slices, num_slices, items, rows, degrees, run};
    const Rules rules{damping, tolerance, settled, most_iterations};
    Iterations all(control, num_rows);
    start(out_offsets, num_rows, all.base, shares, scores, &all.turn()->sums);
    grid_barrier((uint32_t*)&control->barrier);
    while (all.begin(rules, num_rows)) {
        Sums sums{};
        if (global_thread() == 0) {
            sums = sums_without_arcs(all.before, all.base, num_without_arcs, settled);
        }
        sum_tiles(plan, num_rows, shares, memory, staged, partials, &all.turn()->jobs_taken);
        grid_barrier((uint32_t*)&control->barrier);
        if (all.compares(rules)) {
            sum_rows<true>(plan, partials, {all.base, damping, settled, shares, scores}, sums);
        } else {
            sum_rows<false>(plan, partials, {all.base, damping, settled, shares, scores}, sums);
        }
        publish(sums, &all.turn()->sums);
        grid_barrier((uint32_t*)&control->barrier);
    }
    if (num_without_arcs > 0) {
        finish(out_offsets, in_offsets, num_rows, all.base, scores);
    }
}
