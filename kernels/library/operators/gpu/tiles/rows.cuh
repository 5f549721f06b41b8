/* Kernels of arcs.cuh around a sweep in the order of tiles (tiles/sweep.cuh), which is turn 1 of 3. */
#pragma once
#include "library/operators/gpu/sweep.cuh"

#if INPUT != SPARSE && HOW != FIRST_OF && !REPEATS
/* What happens once for a row: before its arcs ... */
extern "C" __global__ void __launch_bounds__(THREADS) begin_rows(SWEEP_PARAMETERS, int64_t num_rows CAPTURED_PARAMETERS) {
    SWEEP_VALUES
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        if (takes_part(sweep, row)) {
            begin_row(sweep, row);
            if (HOW) {
                sweep.totals[row] = sweep.start;
            }
        }
    }
}

/* ... and behind them. */
extern "C" __global__ void __launch_bounds__(THREADS) end_rows(SWEEP_PARAMETERS, int64_t num_rows CAPTURED_PARAMETERS) {
    SWEEP_VALUES
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        if (takes_part(sweep, row)) {
            end_row(sweep, row, start_of(sweep, row), begin_row(sweep, row));
        }
    }
}
#endif
