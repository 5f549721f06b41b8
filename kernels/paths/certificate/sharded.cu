/* The passes of a certificate of paths over one rank's arcs. Returns whether an in-arc is not relaxed, and the first such out-arc.

   Method: walks of as many arcs a warp. Rows are own rows, the other ends are local numbers, and `distance` and `ranks` have all of
   them. Encodings: `nearest` is the least rank of the tight in-arcs from strictly nearer rows, as it was where none is less. */
#include "paths/certificate/relaxing.cuh"

/* `first_loose` as note_first has it. */
struct Control {
    unsigned long long loose, first_loose;
};

extern "C" __global__ void __launch_bounds__(THREADS)
relax(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const ROW* ranks, int64_t num_rows, const SUM* distance,
      ROW* nearest, Control* control) {
    Relaxing<Wide> visit = {{distance}, {offsets, indices, weights}, ranks, nearest, false, -1};
    walk_arcs(offsets, indices, num_rows, visit);
    if (visit.loose) {
        control->loose = 1;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
find_loose(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, int64_t num_arcs,
           const SUM* distance, Control* control) {
    Loosening visit = {{distance}, {offsets, indices, weights}, num_arcs, &control->first_loose};
    walk_arcs(offsets, indices, num_rows, visit);
}
