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

/* The iterations: `before` and `base` are what every row gets without arcs, in the last one and in this one. */
struct Iterations {
    Control* control;
    double damping, tolerance;
    int64_t num_rows, most, made;
    double before, base, change;
    Sums totals;

    __device__ Iterations(Control* all, double factor, double least, int64_t rows, int64_t limit)
        : control(all), damping(factor), tolerance(least), num_rows(rows), most(limit), made(0), before(0),
          base(1.0 / (double)rows), change(0), totals{} {}

    /* Begin an iteration behind a barrier, unless the scores have converged; all threads call it. */
    __device__ bool begin() {
        totals = read(&control->turns[made % 3].sums);
        if (made > 0) {
            change = (double)totals.change / UNIT;
        }
        if (made == most || (made > 0 && change < tolerance && totals.unsettled == 0)) {
            return false;
        }
        if (global_thread() == 0) {
            control->turns[(made + 2) % 3] = Turn{};
        }
        before = base;
        base = (1.0 - damping + damping * ((double)totals.dangling / UNIT)) / (double)num_rows;
        ++made;
        return true;
    }

    /* Where this iteration's sums are added. */
    __device__ __forceinline__ Turn* turn() const { return control->turns + made % 3; }

    /* If no change ends the iterations, only the last two read and write scores. */
    __device__ __forceinline__ bool compares() const { return tolerance > 0 || made + 1 >= most; }

    __device__ __forceinline__ void publish_result() const {
        if (global_thread() == 0) {
            control->change = change;
            control->iterations = (uint64_t)made;
        }
    }
};
