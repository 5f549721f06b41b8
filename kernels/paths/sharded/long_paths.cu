/* Shortest paths over shards of graphs with few arcs per row and many arcs per path: a rank's work between two exchanges, by the
   steps of kernels/paths/long_paths.cu, but only up to `bound`. It is in a separate file so that it does not change the code that
   is compiled for that kernel. */
#include "paths/steps.cuh"

extern "C" __global__ void TEAM __launch_bounds__(THREADS, 1) shorten_below(
    const Quad* quads, Length* lengths, ROW* pile, uint32_t* piled, Length least_window, Length most_window, int64_t few,
    int64_t many, int64_t most, int64_t most_thin, Control* control, Length bound, ROW* aside, uint32_t* is_aside) {
    const Below range{bound, aside, is_aside};
    take_steps(quads, lengths, pile, piled, least_window, most_window, few, many, most, most_thin, control, range);
}
