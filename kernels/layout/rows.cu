/* Arcs between positions to arcs between rows in their final order: each arc moves with its row and is renumbered. */
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
