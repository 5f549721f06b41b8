/* Passes of the certificate of weak components over the arcs of one rank's rows. Return the first out-arc between two classes,
   and the trees that the arcs grow.

   Method: walks that give every warp equally many arcs; the trees are a union-find (trees.cuh). The same kernel finds the first
   out-arc between two classes of a whole graph, once weak.cu has found that there is one.

   Encodings: `parent[v]` is v itself at a root. `num_rows` counts own rows; heads of arcs are local rows. */
#include "wcc/certificate/trees.cuh"

/* Out-arcs between two classes. */
struct Crossing {
    const ROW* __restrict__ labels;
    int64_t num_arcs;
    unsigned long long* first;

    struct Loaded {
        ROW head_label;
    };

    __device__ __forceinline__ bool skips(int64_t) const {
        return false;
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW head) const {
        return {labels[head]};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t arc, ROW, const Loaded& seen, bool active) {
        if (active && labels[row] != seen.head_label) {
            note_first(first, num_arcs, arc);
        }
    }
};

/* The first arc between two classes in the order of the out-arcs. */
extern "C" __global__ void __launch_bounds__(THREADS, 2)
find_across(const int64_t* offsets, const ROW* indices, int64_t num_rows, int64_t num_arcs, const ROW* labels,
            unsigned long long* first) {
    Crossing visit = {labels, num_arcs, first};
    walk_arcs(offsets, indices, num_rows, visit);
}

struct Growing {
    ROW* parent;

    struct Loaded {
        ROW head_parent;
    };

    __device__ __forceinline__ bool skips(int64_t) const {
        return false;
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW head) const {
        return {parent[head]};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW head, const Loaded& seen, bool active) {
        if (active && parent[row] != seen.head_parent) {
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
    Growing visit = {parent};
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
