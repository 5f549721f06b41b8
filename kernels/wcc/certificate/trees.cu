/* Passes of the certificate of weak components over the arcs of one rank's rows. Return whether an out-arc joins two classes, and
   the trees that the arcs grow.

   Method: walks that give every warp equally many arcs; the trees are a union-find (trees.cuh).

   Encodings: `parent[v]` is v itself at a root. `num_rows` counts own rows; heads of arcs are local rows. */
#include "wcc/certificate/trees.cuh"

/* Out-arcs between two classes. */
struct Crossing : EveryRow {
    const ROW* __restrict__ labels;
    uint32_t* across;

    typedef ROW Loaded;

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW head) const { return labels[head]; }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW, Loaded head_label, bool active) {
        if (active && labels[row] != head_label) {
            *across = 1;
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2)
find_across(const int64_t* offsets, const ROW* indices, int64_t num_rows, const ROW* labels, uint32_t* across) {
    Crossing visit = {{}, labels, across};
    walk_arcs(offsets, indices, num_rows, visit);
}

struct Growing : EveryRow {
    ROW* parent;

    typedef ROW Loaded;

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW head) const { return parent[head]; }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW head, Loaded head_parent, bool active) {
        if (active && parent[row] != head_parent) {
            join(parent, (ROW)row, head);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2)
grow_first(const int64_t* offsets, const ROW* indices, int64_t num_rows, ROW* parent) {
    join_first_arcs(offsets, indices, num_rows, parent);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) grow(const int64_t* offsets, const ROW* indices, int64_t num_rows,
    ROW* parent) {
    Growing visit = {{}, parent};
    walk_arcs(offsets, indices, num_rows, visit);
}

/* Give every local row its root. Paths are not shortened on the way: a late store would overwrite the root that another thread
   has stored. */
extern "C" __global__ void __launch_bounds__(THREADS, 2) flatten(int64_t num_local_rows, ROW* parent) {
    for (int64_t v = global_thread(); v < num_local_rows; v += num_threads()) {
        ROW root = (ROW)v;
        for (ROW above = parent[root]; above != root; above = parent[root]) {
            root = above;
        }
        parent[v] = root;
    }
}
