/* The passes of the certificate of paths over one rank's arcs: whether an in-arc is loose, and the first loose out-arc.

   Method: every warp walks over equally many arcs. Rows are own rows, neighbours are local rows, and `distance` and `positions`
   cover all local rows. Encodings: `nearest` is lowered to the least position among tight in-arcs from strictly nearer rows. */
#include "paths/certificate/relaxing.cuh"

/* `first_loose` as `note_first` encodes it. */
struct Control {
    unsigned long long loose, first_loose;
};

extern "C" __global__ void __launch_bounds__(THREADS)
relax(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const ROW* positions, int64_t num_rows,
      const SUM* distance, ROW* nearest, Control* control) {
    Relaxing<Wide> visit = {{distance}, {offsets, indices, weights}, positions, nearest, false, -1};
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
