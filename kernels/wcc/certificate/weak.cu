/* The certificate of weak components (__init__.py states what it proves). Returns in `control` whether it
   holds.

   Method: an arc between two classes is seen from either end, so the arcs of the class that seems to hold most of them need not
   be read. Two arcs of each row are united first, then all arcs of the rows that these have not connected to their label: a path
   from such a row to its label is read from the row's end until it meets the label's tree. Trees are grown by a union-find
   (trees.cuh). One launch; the CPU names the rule that a refused answer breaks.

   Encodings: `parent[v]` is v itself at a root. */
#include "wcc/certificate/trees.cuh"
#include "certificate/labels.cuh"

struct Control {
    uint32_t barrier;
    Labels labels;
    uint32_t broken;
};

/* Arcs of the rows outside the giant class, and of those that are not connected to their label yet. */
struct Joining {
    const ROW* __restrict__ labels;
    ROW giant;
    ROW* parent;
    bool across;

    typedef ROW Loaded;

    __device__ __forceinline__ bool skips(int64_t row) const {
        const ROW label = labels[row];
        return label == giant && top(parent, (ROW)row) == top(parent, label);
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW head) const { return labels[head]; }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW head, Loaded head_label, bool active) {
        if (active) {
            across |= head_label != labels[row];
            join(parent, (ROW)row, head);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2)
check_weak(const int64_t* offsets, const ROW* indices, const int64_t* in_offsets, const ROW* in_indices, bool symmetric,
           const ROW* positions, int64_t num_rows, const ROW* labels, ROW* parent, Control* control) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        check_label(labels, positions, num_rows, v, &control->labels);
        parent[v] = (ROW)v;
    }
    grid_barrier(&control->barrier);
    if (num_rows == 0 || *(volatile uint32_t*)&control->labels.outside != 0) {
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
        control->broken = 1;
    }
    grid_barrier(&control->barrier);
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        if (top(parent, (ROW)v) != top(parent, labels[v])) {
            control->broken = 1;
        }
    }
}
