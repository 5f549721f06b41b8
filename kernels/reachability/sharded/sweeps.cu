/* The kernels that only sweeps over shards need (sweeps_cuda.py): the order of the nodes, the forests' parents, and the numbers
   that children get from their parents. `measure` of labels/tree.cu computes depths, bits and sizes, and `widen_intervals` of
   labels/intervals.cu the intervals, each for the nodes of a superstep.

   Encodings: nodes are local nodes, own ones before ghosts; `numbers` has the global nodes.

   ROW is the type of a node's number. */
#include "reachability/nodes.cuh"
#include "reachability/labels/visits.cuh"
#include "distributed/gpu/levels.cuh"

typedef UnsignedOf<sizeof(ROW)>::type Unsigned;

/* Peeling (Kahn, 1962): an own node that waits for no other node is appended to the order. */
struct Peel {
    Side arcs;
    ROW num_own;
    ROW* waiting;
    int32_t* depth;
    ROW* order;
    uint64_t* ordered;
    int32_t next;

    __device__ __forceinline__ Side side(bool) const { return arcs; }
    __device__ __forceinline__ void open(int64_t row) { next = __ldcg(depth + row) + 1; }
    __device__ __forceinline__ void visit(ROW head, const Levels& levels) const {
        if (head < num_own) {
            atomicMax(depth + head, next);
            if (atomicAdd((Unsigned*)waiting + head, (Unsigned)-1) == 1) {
                queue(head, levels, levels.level + 1);
            }
        }
    }
    __device__ __forceinline__ void queue(ROW row, const Levels& levels, uint32_t level) const {
        if (row < num_own) {
            order[append(ordered)] = row;
        }
        levels.push(arcs, row, false, level);
    }
};

/* The starts are distinct and wait for no other node; ghosts have their depths, and arcs to own nodes. */
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS, 2)
peel(const int64_t* offsets, const ROW* indices, ROW num_own, const ROW* starts, int64_t num_starts, ROW* waiting, int32_t* depth,
     ROW* order, uint64_t* ordered, Entry* entries, int64_t capacity, Control* control) {
    Peel peel = {{offsets, indices}, num_own, waiting, depth, order, ordered, 0};
    Levels levels = {control, entries, capacity, control->level};
    for (int64_t i = global_thread(); i < num_starts; i += num_threads()) {
        peel.queue(starts[i], levels, levels.level);
    }
    grid_barrier(&control->barrier);
    levels.run(peel);
}

/* A tail one level before, none if `node` is negative; the smallest key wins, ties by the smaller number. */
struct Candidate {
    uint64_t key;
    ROW number, node;
};

__device__ __forceinline__ void choose(Candidate& best, Candidate other) {
    if (other.node >= 0 && (best.node < 0 || other.key < best.key || (other.key == best.key && other.number < best.number))) {
        best = other;
    }
}

struct Draw {
    const ROW *tails, *numbers;
    const int32_t* depth;
    bool ascending;
    uint64_t salt;

    /* The best tail of the arcs `arc`, `arc + step`, ... of a node. */
    __device__ __forceinline__ Candidate best(ROW node, int64_t arc, int64_t end, int step) const {
        Candidate best = {0, -1, -1};
        for (; arc < end; arc += step) {
            const ROW tail = tails[arc];
            if (depth[tail] == depth[node] - 1) {
                const ROW number = numbers[tail];
                choose(best, {ascending ? 0 : key_of(salt, number, numbers[node]), number, tail});
            }
        }
        return best;
    }
};

/* The tree parent of every own node, NO_ROW for roots. */
extern "C" __global__ void draw_parents(
    const int64_t* in_offsets, const ROW* tails, const ROW* numbers, const int32_t* depth, int64_t num_own, bool ascending,
    uint64_t salt, ROW* parent) {
    const Draw draw = {tails, numbers, depth, ascending, salt};
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_own; base += num_threads()) {
        const bool open = base + lane < num_own;
        const ROW node = (ROW)(base + lane);
        const int64_t begin = open ? in_offsets[node] : 0, end = open ? in_offsets[node + 1] : 0;
        if (open && end - begin <= LANE_ARCS) {
            parent[node] = draw.best(node, begin, end, 1).node;
        }
        for (uint32_t longs = __ballot_sync(FULL_WARP, end - begin > LANE_ARCS); longs; longs &= longs - 1) {
            const int owner = __ffs(longs) - 1;
            const int64_t from = __shfl_sync(FULL_WARP, begin, owner), to = __shfl_sync(FULL_WARP, end, owner);
            Candidate best = draw.best((ROW)(base + owner), from + lane, to, 32);
            for (int step = 16; step > 0; step >>= 1) {
                choose(best, from_lane(best, step));
            }
            if (lane == owner) {
                parent[node] = best.node;
            }
        }
    }
}

/* For the children of every own node: the first number of their subtree, relative to that of the node's subtree. */
extern "C" __global__ void deal_numbers(
    const int64_t* out_offsets, const ROW* heads, const ROW* numbers, int64_t num_own, int64_t num_nodes, bool ascending,
    uint64_t salt, const ROW* parent, ROW* size, ROW* before) {
    const Dimension dimension = {salt, ascending, parent, size, before};
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_own; base += num_threads()) {
        const bool open = base + lane < num_own;
        const ROW node = (ROW)(base + lane);
        const int64_t begin = open ? out_offsets[node] : 0, end = open ? out_offsets[node + 1] : 0;
        if (open && end - begin <= LANE_ARCS) {
            number_children(Visit(begin, end, dimension, numbers[node], num_nodes), heads, dimension, node, 0);
        }
        for (uint32_t longs = __ballot_sync(FULL_WARP, end - begin > LANE_ARCS); longs; longs &= longs - 1) {
            const int owner = __ffs(longs) - 1;
            const int64_t from = __shfl_sync(FULL_WARP, begin, owner), to = __shfl_sync(FULL_WARP, end, owner);
            const ROW row = (ROW)(base + owner);
            number_children_by_warp(Visit(from, to, dimension, numbers[row], num_nodes), heads, dimension, row, 0);
        }
    }
}

/* The first number of each node's subtree, zero before except for roots. A node waits for its parent, as in order/sweeps.cuh. */
extern "C" __global__ void __launch_bounds__(SWEEP_THREADS, 2)
place_nodes(const ROW* order, int64_t length, const ROW* parent, const ROW* before, ROW* first) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < length; base += num_threads()) {
        const ROW node = base + lane < length ? order[base + lane] : 0;
        const ROW above = base + lane < length ? parent[node] : -1;
        bool open = above >= 0;
        while (__any_sync(FULL_WARP, open)) {
            const ROW begin = open ? load_relaxed(first + above) : 0;
            if (begin != 0) {
                store_relaxed(first + node, begin + before[node]);
                open = false;
            }
            if (!__any_sync(FULL_WARP, begin != 0)) {
                __nanosleep(PAUSE);
            }
        }
    }
}
