/* Shortest paths over shards of graphs of few arcs a row and many arcs a path: a rank's work between two exchanges, by the steps of
   kernels/paths/long_paths.cu, but only up to `bound`. A file of its own, since beside it the other kernel would be compiled anew. */
#include "paths/steps.cuh"

extern "C" __global__ void TEAM __launch_bounds__(THREADS, 1) shorten_below(
    const Quad* quads, Length* lengths, ROW* pile, uint32_t* piled, Length least_window, Length most_window, int64_t few, int64_t many,
    Control* control, Length bound, ROW* aside, uint32_t* is_aside) {
    take_steps(quads, lengths, pile, piled, least_window, most_window, few, many, control, Below{bound, aside, is_aside});
}
