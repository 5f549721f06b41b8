/* The certificate of weak components (components/__init__.py says what it proves). Returns, in `control`, the first row or arc that
   breaks each rule.

   Method: an arc between two classes is seen from either end, so the arcs of the class that seems to hold most of them need not
   be read. Two arcs of each row are united first, then all of the rows that these have not connected to their label: a way from
   such a row to its label is read from its own end until it meets the label's tree. Trees are grown by a union-find with path
   halving (Tarjan, van Leeuwen, JACM 31(2), 1984), links by compare-and-swap from the greater root to the smaller one.
   One launch; a second one, which only a refused answer needs, finds the first arc in the order of the out-arcs.

   Encodings: `parent[v]` is v itself at a root. */
#include "components/certificate/trees.cuh"
#include "certificate/labels.cuh"

#define THREADS 512

struct Control {
    uint32_t barrier, padding;
    Labels labels;
    unsigned long long across, apart, first_across;
};

/* Arcs of the rows outside the giant class, and of those that are not connected to their label yet. */
struct Joining {
    const ROW* __restrict__ labels;
    ROW giant;
    ROW* parent;
    bool across;

    struct Loaded {
        ROW far_label;
    };

    __device__ __forceinline__ bool skips(int64_t row) const {
        const ROW label = labels[row];
        return label == giant && top(parent, (ROW)row) == top(parent, label);
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW far) const {
        return {labels[far]};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW far, const Loaded& seen, bool active) {
        if (active) {
            across |= seen.far_label != labels[row];
            join(parent, (ROW)row, far);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2)
check_weak(const int64_t* offsets, const ROW* indices, const int64_t* in_offsets, const ROW* in_indices, bool symmetric,
           const ROW* ranks, int64_t num_rows, const ROW* labels, ROW* parent, Control* control) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        check_label(labels, ranks, num_rows, v, &control->labels);
        parent[v] = (ROW)v;
    }
    grid_barrier(&control->barrier);
    if (num_rows == 0 || *(volatile unsigned long long*)&control->labels.outside != 0) {
        return;
    }
    join_first_arcs(offsets, indices, num_rows, parent);
    grid_barrier(&control->barrier);
    Joining visit = {labels, giant_class(offsets, num_rows, labels), parent, false};
    walk_arcs(offsets, indices, num_rows, visit);
    if (!symmetric) {
        walk_arcs(in_offsets, in_indices, num_rows, visit);
    }
    if (visit.across) {
        control->across = 1;
    }
    grid_barrier(&control->barrier);
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        if (top(parent, (ROW)v) != top(parent, labels[v])) {
            note_first(&control->apart, num_rows, v);
        }
    }
}

/* The first arc between two classes in the order of the out-arcs. */
extern "C" __global__ void __launch_bounds__(THREADS, 2)
find_across(const int64_t* offsets, const ROW* indices, int64_t num_rows, int64_t num_arcs, const ROW* labels, Control* control) {
    Crossing visit = {labels, num_arcs, &control->first_across};
    walk_arcs(offsets, indices, num_rows, visit);
}
