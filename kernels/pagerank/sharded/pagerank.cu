/* PageRank over shards: an iteration of one rank's own rows. Between iterations the ranks exchange shares and totals.

   The plan is that of the own rows' in-arcs by local rows; shares are those of the own rows, then those of the ghosts. */
#include "pagerank/step.cuh"

struct Control {
    uint64_t barrier;
    double base; /* of the last iteration */
};

extern "C" __global__ void begin(
    const int64_t* out_offsets, int64_t num_own, int64_t num_vertices, float* shares, double* scores, Sums* sums,
    Control* control) {
    const double score = 1.0 / (double)num_vertices;
    start(out_offsets, num_own, score, shares, scores, sums);
    if (global_thread() == 0) {
        control->base = score;
    }
}

/* `totals` are those of all ranks in the last iteration, `sums` those of the own rows in this one. */
extern "C" __global__ void __launch_bounds__(THREADS, 1) iterate(
    const Task* tasks, const int64_t* jobs, const uint32_t* arcs, const Slice* slices, const uint32_t* items, const ROW* rows,
    const float* degrees, int64_t run, const Group* groups, int32_t num_groups, int64_t num_shares, int64_t num_own,
    int64_t num_vertices, int64_t num_without_arcs, double damping, double settled, const Sums* totals, float* shares,
    float* next, float* partials, double* scores, Sums* sums, uint64_t* jobs_taken, Control* control) {
    extern __shared__ float memory[];
    float* const staged = memory + STAGED + (threadIdx.x >> 5) * ROUND;
    const TilePlan plan{tasks, jobs, arcs, slices, items, rows, degrees, run, groups, num_groups};
    const double base = (1.0 - damping + damping * ((double)totals->dangling / UNIT)) / (double)num_vertices;
    if (global_thread() == 0) {
        add(sums_without_arcs(control->base, base, num_without_arcs, settled), sums);
        control->base = base;
    }
    for (int group = 0; group < num_groups; ++group) {
        if (group > 0) {
            grid_barrier((uint32_t*)&control->barrier);
        }
        sum_tiles(plan, group, num_shares, shares, memory, staged, partials, jobs_taken);
        grid_barrier((uint32_t*)&control->barrier);
        Sums own{};
        sum_rows<true>(plan, group, partials, {base, damping, settled, next, scores}, own);
        publish(own, sums);
    }
    put_next(next, num_own, shares, (uint32_t*)&control->barrier);
}

extern "C" __global__ void end(
    const int64_t* out_offsets, const int64_t* in_offsets, int64_t num_own, double* scores, const Control* control) {
    finish(out_offsets, in_offsets, num_own, control->base, scores);
}
