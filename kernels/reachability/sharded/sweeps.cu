/* What the sweeps of reachability labels over shards have of their own (kernels/reachability/sharded/cuda_sweeps.py): the order of the nodes, the
   forests' parents, and numbers that go from parents to children. Depths, supports and sizes are `measure` of reachability/tree.cu,
   and intervals `widen_intervals` of reachability/intervals.cu, each on a superstep's nodes.

   Encodings: nodes and ghosts are local numbers, own nodes first; `numbers` has their numbers in the whole graph.

   ROW is the type of a node's number. */
#include "reachability/unsigned.cuh"
#include "reachability/labels/visits.cuh"
#include "distributed/gpu/levels.cuh"

typedef UnsignedOf<sizeof(ROW)>::type Unsigned;

/* Takes nodes off (Kahn, 1962): an own node that waits for no other is put behind all that it waited for. */
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
    __device__ __forceinline__ void visit(ROW far, const Levels& levels) const {
        if (far < num_own) {
            atomicMax(depth + far, next);
            if (atomicAdd((Unsigned*)waiting + far, (Unsigned)-1) == 1) {
                queue(far, levels, levels.level + 1);
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

/* The starts wait for nobody, and each is given once; ghosts have their depths and arcs to own nodes. */
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

/* A near end one level before, none where it is negative; the least key has it, of equal ones the least number. */
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
    const ROW *near, *numbers;
    const int32_t* depth;
    bool ascending;
    uint64_t salt;

    /* The best of a node's arcs `arc`, `arc + step`, ... */
    __device__ __forceinline__ Candidate best(ROW node, int64_t arc, int64_t end, int step) const {
        Candidate best = {0, -1, -1};
        for (; arc < end; arc += step) {
            const ROW far = near[arc];
            if (depth[far] == depth[node] - 1) {
                const ROW number = numbers[far];
                choose(best, {ascending ? 0 : key_of(salt, number, numbers[node]), number, far});
            }
        }
        return best;
    }
};

/* The tree parent of every own node, NO_ROW for roots. */
extern "C" __global__ void draw_parents(
    const int64_t* near_offsets, const ROW* near, const ROW* numbers, const int32_t* depth, int64_t num_own, bool ascending,
    uint64_t salt, ROW* parent) {
    const Draw draw = {near, numbers, depth, ascending, salt};
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_own; base += num_threads()) {
        const bool open = base + lane < num_own;
        const ROW node = (ROW)(base + lane);
        const int64_t begin = open ? near_offsets[node] : 0, end = open ? near_offsets[node + 1] : 0;
        if (open && end - begin <= LEVEL_LANE_ARCS) {
            parent[node] = draw.best(node, begin, end, 1).node;
        }
        for (uint32_t longs = __ballot_sync(FULL_WARP, end - begin > LEVEL_LANE_ARCS); longs; longs &= longs - 1) {
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

/* What the children of every own node get of its subtree's numbers, less the first of these. */
extern "C" __global__ void deal_numbers(
    const int64_t* far_offsets, const ROW* far, const ROW* numbers, int64_t num_own, int64_t num_nodes, bool ascending,
    uint64_t salt, const ROW* parent, ROW* size, ROW* before) {
    const Dimension dimension = {salt, ascending, parent, size, before};
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_own; base += num_threads()) {
        const bool open = base + lane < num_own;
        const ROW node = (ROW)(base + lane);
        const int64_t begin = open ? far_offsets[node] : 0, end = open ? far_offsets[node + 1] : 0;
        if (open && end - begin <= LEVEL_LANE_ARCS) {
            number_children(Visit(begin, end, dimension, numbers[node], num_nodes), far, dimension, node, 0);
        }
        for (uint32_t longs = __ballot_sync(FULL_WARP, end - begin > LEVEL_LANE_ARCS); longs; longs &= longs - 1) {
            const int owner = __ffs(longs) - 1;
            const int64_t from = __shfl_sync(FULL_WARP, begin, owner), to = __shfl_sync(FULL_WARP, end, owner);
            const ROW row = (ROW)(base + owner);
            number_children_by_warp(Visit(from, to, dimension, numbers[row], num_nodes), far, dimension, row, 0);
        }
    }
}

/* The first number of each node's subtree, zero before; roots have theirs. A node waits for its parent, as in sweeps.cuh. */
extern "C" __global__ void __launch_bounds__(512, 2)
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
