/* Rows in their final order, and the vector extension.

   take_rows   arcs between positions to arcs between rows: each arc moves with its row and is renumbered by `row_of_position`
   fill_lanes  a warp fills a segment: rows of fewer than 32 arcs are lanes, arc k of lane i is at `segment + 32 k + i` */
#include "layout/rows.cuh"

/* `shifts[row]` is the distance from a row's new arcs to its old ones. A null `row_of_position` keeps the indices. */
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 4)
take_rows(const int64_t* offsets, int64_t num_rows, const int64_t* shifts, const ROW* indices, const void* weights,
          int weight_bytes, const ROW* row_of_position, ROW* out, void* out_weights) {
    visit_arcs(offsets, num_rows, [=](int64_t row, int64_t arc) {
        const int64_t from = arc + shifts[row];
        out[arc] = row_of_position ? row_of_position[indices[from]] : indices[from];
        copy_element(weights, weight_bytes, from, out_weights, arc);
    });
}

/* `lane_weights` holds zeros before, which remain in the padding. */
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 4)
fill_lanes(const int64_t* offsets, int64_t num_rows, const ROW* indices, const void* weights, int weight_bytes,
           const int64_t* segments, int64_t num_segments, int64_t first_lane, int64_t first_row, ROW* lanes, void* lane_weights) {
    const int lane = threadIdx.x & 31;
    for (int64_t segment = global_thread() / 32; segment < num_segments; segment += num_threads() / 32) {
        const int64_t row = first_lane + 32 * segment + lane, last = num_rows - 1;
        const int64_t first = row <= last ? offsets[row] : 0, found = row <= last ? offsets[row + 1] - first : 0;
        const int64_t degree = found < WARP_DEGREE ? found : 0, start = segments[segment] + lane;
        const ROW padding = (ROW)(first_row + min(row, last));
        const int64_t width = (segments[segment + 1] - segments[segment]) / 32;
        for (int64_t k = 0; k < width; ++k) {
            lanes[start + 32 * k] = k < degree ? indices[first + k] : padding;
            if (k < degree) {
                copy_element(weights, weight_bytes, first + k, lane_weights, start + 32 * k);
            }
        }
    }
}
