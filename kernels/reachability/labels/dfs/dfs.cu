/* Method "dfs": the parents that a depth-first search finds, without the search (cpu.py has the idea).

   `count_paths`, then `spread_costs`, which continues from a node when all its in-arcs have delivered their costs, then
   `find_parents`: costs of different paths to a node differ, so an arc whose cost is the node's is the last arc of the cheapest
   path. If the counts do not fit int64, `compare_paths` compares root paths instead: where two paths part, found by binary
   lifting in the forest so far, the earlier sibling is the one with the smaller key.

   The rows of `children` are in the order of visits; `before` is the number of paths from the siblings before an arc's head.

   ROW is the type of a node's number.

   Source: Caiazza, Data-parallel implementation of the GRAIL index on many-core architectures (Politecnico di Torino, 2019),
   chapter 4; Bender, Farach-Colton: The Level Ancestor Problem Simplified (2004), for the jumps. */
#include "reachability/nodes.cuh"
#include "reachability/order/sweeps.cuh"

#define NONE ((ROW)-1)

extern "C" __global__ void draw_keys(const int64_t* tails, const int64_t* heads, int64_t length, uint64_t salt, uint64_t* keys) {
    for (int64_t arc = global_thread(); arc < length; arc += num_threads()) {
        keys[arc] = key_of(salt, tails[arc], heads[arc]);
    }
}

struct Paths {
    typedef int64_t Seen;
    typedef int64_t Sum;
    int64_t* paths;
    uint32_t* overflow;

    __device__ Sum nothing() const { return 0; }
    __device__ Seen see(ROW child, ROW) const { return load_relaxed(paths + child); }
    __device__ bool ready(Seen seen) const { return seen != 0; }
    /* Both are at most LARGEST_PATH_SUM + 1, which stands for all that is more; two of these do not fit int64. */
    __device__ void add(Sum& sum, Seen seen) const {
        sum = seen > LARGEST_PATH_SUM - sum ? LARGEST_PATH_SUM + 1 : sum + seen;
    }
    __device__ void merge(Sum& sum, Sum other) const { add(sum, other); }
    __device__ void store(ROW node, Sum sum) const {
        if (sum > LARGEST_PATH_SUM) {
            *overflow = 1;
        }
        store_relaxed(paths + node, sum < LARGEST_PATH_SUM ? sum + 1 : LARGEST_PATH_SUM + 1);
    }
};

/* Paths from each node; they must be zero before. */
extern "C" __global__ void __launch_bounds__(SWEEP_THREADS, 1) count_paths(
    const int64_t* child_offsets, const ROW* children, const ROW* order, int64_t num_nodes, int64_t* paths, uint32_t* overflow) {
    gather(Arcs{child_offsets, children}, Order{order, num_nodes, true}, Paths{paths, overflow});
}

/* Call `visit(row, child, paths before)` for the arcs of the rows of the lanes `owners`, one row after another. */
template <typename Visit>
__device__ __forceinline__ void over_rows(
    const ROW* children, const int64_t* paths, uint32_t owners, ROW node, int64_t begin, int64_t end, const Visit& visit) {
    const int lane = threadIdx.x & 31;
    for (; owners; owners &= owners - 1) {
        const int owner = __ffs(owners) - 1;
        const ROW row = __shfl_sync(FULL_WARP, node, owner);
        const int64_t from = __shfl_sync(FULL_WARP, begin, owner), to = __shfl_sync(FULL_WARP, end, owner);
        int64_t before = 0;
        for (int64_t base = from; base < to; base += 32) {
            const bool has = base + lane < to;
            const ROW child = has ? children[base + lane] : 0;
            const int64_t mine = has ? paths[child] : 0;
            int64_t sum = mine;
            for (int step = 1; step < 32; step <<= 1) {
                const int64_t lower = __shfl_up_sync(FULL_WARP, sum, step);
                sum += lane >= step ? lower : 0;
            }
            if (has) {
                visit(row, child, before + sum - mine);
            }
            before += __shfl_sync(FULL_WARP, sum, 31);
        }
    }
}

/* Least cost of the paths to each node. Before, `cost` is given for roots and is the largest integer for others, and `waiting` is
   the in-degree. */
extern "C" __global__ void __launch_bounds__(SWEEP_THREADS, 1) spread_costs(
    const int64_t* child_offsets, const ROW* children, const ROW* order, int64_t num_nodes, const int64_t* paths, int64_t* cost,
    ROW* waiting) {
    typedef UnsignedOf<sizeof(ROW)>::type Unsigned;
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_nodes; base += num_threads()) {
        bool open = base + lane < num_nodes;
        const ROW node = open ? order[base + lane] : 0;
        const int64_t begin = open ? child_offsets[node] : 0, end = open ? child_offsets[node + 1] : 0;
        while (__any_sync(FULL_WARP, open)) {
            const bool ready = open && load_relaxed(waiting + node) == 0;
            __threadfence(); /* read the count before the costs that it counts */
            over_rows(children, paths, __ballot_sync(FULL_WARP, ready),
                node, begin, end, [&](ROW parent, ROW child, int64_t before) {
                atomicMin(cost + child, load_relaxed(cost + parent) + 1 + before);
                __threadfence();
                atomicAdd((Unsigned*)waiting + child, (Unsigned)-1);
            });
            open = open && !ready;
            if (!__any_sync(FULL_WARP, ready)) {
                __nanosleep(PAUSE);
            }
        }
    }
}

/* The parent on the path of least cost. `parent` must be NONE before. */
extern "C" __global__ void find_parents(
    const int64_t* child_offsets, const ROW* children, int64_t num_nodes, const int64_t* paths, const int64_t* cost,
    ROW* parent) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_nodes; base += num_threads()) {
        const bool has = base + lane < num_nodes;
        const ROW node = (ROW)(base + lane);
        const int64_t begin = has ? child_offsets[node] : 0, end = has ? child_offsets[node + 1] : 0;
        over_rows(children, paths, __ballot_sync(FULL_WARP, begin < end),
            node, begin, end, [&](ROW row, ROW child, int64_t before) {
            if (cost[row] + 1 + before == cost[child]) {
                parent[child] = row;
            }
        });
    }
}

/* The part of the forest that is built. */
struct Forest {
    /* [jumps, num_nodes + 1]: the 2^t-th; num_nodes is the virtual root, the parent of every root and of itself */
    ROW* ancestors;
    int32_t* depth; /* [num_nodes + 1]: 1 for roots, zero until known, zero for the virtual root */
    int64_t num_nodes;
    int jumps;
    bool ascending;
    uint64_t salt;

    __device__ ROW ancestor(int jump, ROW node) const { return __ldcg(ancestors + jump * (num_nodes + 1) + node); }

    __device__ bool earlier_sibling(ROW parent, ROW one, ROW other) const {
        if (!ascending) {
            const uint64_t key = key_of(salt, parent, one), other_key = key_of(salt, parent, other);
            if (key != other_key) {
                return key < other_key;
            }
        }
        return one < other;
    }

    __device__ ROW lift(ROW node, int32_t generations) const {
        for (int jump = 0; generations; ++jump, generations >>= 1) {
            node = generations & 1 ? ancestor(jump, node) : node;
        }
        return node;
    }

    /* Whether the path through `a` to `child` comes before that through `b`, another node. */
    __device__ bool earlier(ROW a, ROW b, ROW child) const {
        const int32_t depth_a = load_relaxed(depth + a), depth_b = load_relaxed(depth + b);
        ROW head_a = child, head_b = child;
        if (depth_a > depth_b) {
            head_a = lift(a, depth_a - depth_b - 1);
            a = ancestor(0, head_a);
        } else if (depth_b > depth_a) {
            head_b = lift(b, depth_b - depth_a - 1);
            b = ancestor(0, head_b);
        }
        if (a == b) {
            return earlier_sibling(a, head_a, head_b);
        }
        for (int jump = jumps - 1; jump >= 0; --jump) {
            const ROW up_a = ancestor(jump, a), up_b = ancestor(jump, b);
            a = up_a == up_b ? a : up_a;
            b = up_a == up_b ? b : up_b;
        }
        return earlier_sibling(ancestor(0, a), a, b);
    }
};

/* The parent on the first path, and the jumps from each node. `depth` must be zero before. */
extern "C" __global__ void __launch_bounds__(SWEEP_THREADS, 1) compare_paths(
    const int64_t* parent_offsets, const ROW* parents, const ROW* order, int64_t num_nodes, bool ascending, uint64_t salt,
    int jumps, ROW* ancestors, int32_t* depth, ROW* parent) {
    const Forest forest{ancestors, depth, num_nodes, jumps, ascending, salt};
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_nodes; base += num_threads()) {
        const int64_t left = num_nodes - base < 32 ? num_nodes - base : 32;
        for (uint32_t open = left == 32 ? FULL_WARP : (1u << left) - 1; open; open &= open - 1) {
            /* one node after another: no node waits for a later one */
            const ROW node = order[base + __ffs(open) - 1];
            ROW best = NONE;
            for (int64_t arc = parent_offsets[node] + lane; arc < parent_offsets[node + 1]; arc += 32) {
                const ROW other = parents[arc];
                while (load_relaxed(depth + other) == 0) {
                }
                __threadfence();
                best = best == NONE || forest.earlier(other, best, node) ? other : best;
            }
            __syncwarp();
            for (int step = 16; step > 0; step >>= 1) {
                const ROW other = __shfl_xor_sync(FULL_WARP, best, step);
                if (other != NONE && other != best) {
                    best = best == NONE || forest.earlier(other, best, node) ? other : best;
                }
                __syncwarp();
            }
            if (lane == 0) {
                ROW up = best == NONE ? (ROW)num_nodes : best;
                parent[node] = best;
                for (int jump = 0; jump < jumps; ++jump) {
                    ancestors[jump * (num_nodes + 1) + node] = up;
                    up = up == num_nodes ? up : forest.ancestor(jump, up);
                }
                __threadfence();
                store_relaxed(depth + node, best == NONE ? 1 : load_relaxed(depth + best) + 1);
            }
            __syncwarp();
        }
    }
}
