/* What the blocks of a launch share that makes all iterations, and the state between two of them. */
#pragma once
#include "pagerank/sums.cuh"

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

/* How an iteration adds shares, and when the iterations end. */
struct Rules {
    double damping, tolerance, settled;
    int64_t most;
};

/* The iterations that were begun; `before` and `base` are what every row gets without arcs, in the last one and in this one. */
struct Iterations {
    Control* control;
    int64_t begun;
    double before, base;

    __device__ __forceinline__ Iterations(Control* shared_by_all, int64_t num_rows)
        : control(shared_by_all), begun(0), before(0), base(1.0 / (double)num_rows) {}

    /* Begin an iteration behind a barrier, unless the scores have converged; all threads call it. */
    __device__ __forceinline__ bool begin(const Rules& rules, int64_t num_rows) {
        const Sums totals = read(&turn()->sums);
        const double change = (double)totals.change / UNIT;
        const bool ends = begun == rules.most || (begun > 0 && change < rules.tolerance && totals.unsettled == 0);
        if (global_thread() == 0) {
            control->change = change;
            control->iterations = (uint64_t)begun;
            control->turns[(begun + 2) % 3] = Turn{};
        }
        before = base;
        base = ends ? base : (1.0 - rules.damping + rules.damping * ((double)totals.dangling / UNIT)) / (double)num_rows;
        ++begun;
        return !ends;
    }

    /* Where this iteration's sums are added. */
    __device__ __forceinline__ Turn* turn() const { return control->turns + begun % 3; }

    /* If no change ends the iterations, only the last two read and write scores. */
    __device__ __forceinline__ bool compares(const Rules& rules) const { return rules.tolerance > 0 || begun + 1 >= rules.most; }
};
