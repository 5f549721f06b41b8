/* The passes of the certificates of components over one rank's arcs. Return the first out-arc between two classes, the trees that
   the arcs grow, and how far a search inside the classes leads.

   Method: walks of as many arcs a warp; for trees a union-find; the search is breadth-first, and takes an arc that was read off the
   class it leads to. Rows are own rows, other ends are local numbers.

   Encodings: `parent[v]` is v itself at a root. A class is a number the rank gave it; `home` is the own row that names it, -1 where
   another rank has it. `waiting` and `entering` count arcs; `left` is 0 for what is reached, own rows and ghosts. */
#include "components/certificate/search.cuh"
#include "components/certificate/trees.cuh"

#define THREADS 512

extern "C" __global__ void __launch_bounds__(THREADS, 2)
find_across(const int64_t* offsets, const ROW* indices, int64_t num_rows, int64_t num_arcs, const ROW* labels,
            unsigned long long* first) {
    Crossing visit = {labels, num_arcs, first};
    walk_arcs(offsets, indices, num_rows, visit);
}

struct Growing {
    ROW* parent;

    struct Loaded {
        ROW far_parent;
    };

    __device__ __forceinline__ bool skips(int64_t) const {
        return false;
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW far) const {
        return {parent[far]};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW far, const Loaded& seen, bool active) {
        if (active && parent[row] != seen.far_parent) {
            join(parent, (ROW)row, far);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2)
grow_first(const int64_t* offsets, const ROW* indices, int64_t num_rows, ROW* parent) {
    join_first_arcs(offsets, indices, num_rows, parent);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) grow(const int64_t* offsets, const ROW* indices, int64_t num_rows, ROW* parent) {
    Growing visit = {parent};
    walk_arcs(offsets, indices, num_rows, visit);
}

/* Give every number its root. Nothing is lifted on the way: a late lift would undo what another thread has stored. */
extern "C" __global__ void __launch_bounds__(THREADS, 2) flatten(int64_t num_numbers, ROW* parent) {
    for (int64_t v = global_thread(); v < num_numbers; v += num_threads()) {
        ROW root = (ROW)v;
        for (ROW above = parent[root]; above != root; above = parent[root]) {
            root = above;
        }
        parent[v] = root;
    }
}

/* Arcs into a class from another one; lanes that lead to one class count together. */
struct Entering {
    const ROW* __restrict__ classes;
    unsigned long long* entering;

    struct Loaded {
        ROW far_class;
    };

    __device__ __forceinline__ bool skips(int64_t) const {
        return false;
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW far) const {
        return {classes[far]};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW, const Loaded& seen, bool active) {
        const bool enters = active && classes[row] != seen.far_class;
        const uint32_t entering_lanes = __ballot_sync(FULL_WARP, enters);
        if (enters) {
            const uint32_t equal = __match_any_sync(entering_lanes, seen.far_class);
            if ((threadIdx.x & 31) == __ffs(equal) - 1) {
                atomicAdd(&entering[seen.far_class], (unsigned long long)__popc(equal));
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2)
count_entering(const int64_t* offsets, const ROW* indices, int64_t num_rows, const ROW* classes, unsigned long long* entering) {
    Entering visit = {classes, entering};
    walk_arcs(offsets, indices, num_rows, visit);
}

struct Peeling {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const ROW* __restrict__ classes;
    const ROW* __restrict__ home;
    int64_t num_own;
    unsigned long long *waiting, *entered;
    uint32_t* left;
    Piece* queue;
    unsigned long long* queued;

    /* Queue the arcs of an own row. */
    __device__ __forceinline__ void append_row(int64_t row) {
        const int64_t end = offsets[row + 1];
        for (int64_t first = offsets[row]; first < end; first += CHUNK) {
            queue[append(queued)] = {row, first};
        }
    }

    __device__ __forceinline__ void reach(int64_t number) {
        if (left[number] != 0 && atomicExch(&left[number], 0u) != 0 && number < num_own) {
            append_row(number);
        }
    }

    __device__ __forceinline__ void read(int64_t row, ROW far, bool waits) {
        const ROW of_far = classes[far];
        if (of_far == classes[row]) {
            reach(far);
        } else if (waits) {
            const ROW label = home[of_far];
            const uint32_t equal = __match_any_sync(__activemask(), of_far);
            if ((threadIdx.x & 31) != __ffs(equal) - 1) {
                return;
            }
            const unsigned long long taken = __popc(equal);
            if (label < 0) {
                atomicAdd(&entered[of_far], taken);
            } else if (atomicAdd(&waiting[label], 0 - taken) == taken) {
                reach(label);
            }
        }
    }
};

struct Control {
    uint32_t barrier, padding;
    unsigned long long queued[3];
};

/* Search from `starts`, which are reached already. */
extern "C" __global__ void __launch_bounds__(THREADS, 2)
peel(const int64_t* offsets, const ROW* indices, const ROW* classes, const ROW* home, int64_t num_own, bool waits,
     unsigned long long* waiting, unsigned long long* entered, uint32_t* left, const ROW* starts, int64_t num_starts, Piece* queue,
     Control* control) {
    Peeling peeling = {offsets, indices, classes, home, num_own, waiting, entered, left, queue, &control->queued[0]};
    for (int64_t place = global_thread(); place < num_starts; place += num_threads()) {
        peeling.append_row(starts[place]);
    }
    search(peeling, waits, &control->barrier, control->queued);
}
