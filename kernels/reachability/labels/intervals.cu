/* Post-order numbers of forests whose subtree sizes are known, and interval labels: the second half of method "tree", and of
   "dfs".

   Kernels serve both directions, and up to FUSED_DIMENSIONS dimensions, as those of tree.cu do.

   Encodings: a Span is `low` and `post` of one dimension, both zero before. Post-order numbers start at 1, so `first` is zero
   before.

   ROW is the type of a node's number. */
#include "reachability/labels/visits.cuh"

/* The root that is visited first. `counts` is the running number of roots, in ascending order of nodes. */
extern "C" __global__ void find_first_root(
    const int32_t* depth, const int64_t* counts, int64_t num_nodes, bool ascending, uint64_t salt, int64_t* first_root) {
    const uint64_t hash = ascending ? 0 : key_of(salt, num_nodes, num_nodes) >> 1;
    const int64_t chosen = (int64_t)(hash % (uint64_t)counts[num_nodes - 1]);
    for (int64_t node = global_thread(); node < num_nodes; node += num_threads()) {
        if (depth[node] == 0 && counts[node] == chosen + 1) {
            *first_root = node;
        }
    }
}

/* The first numbers of the roots' subtrees, zero for other nodes. `ends` is the running sum of the roots' sizes. */
extern "C" __global__ void place_roots(
    const int32_t* depth, const int64_t* ends, int64_t num_nodes, bool ascending, uint64_t salt,
    const int64_t* first_root, const ROW* size, ROW* first) {
    const bool backwards = !ascending && key_of(salt, num_nodes, num_nodes) & 1;
    const int64_t leader = *first_root;
    const int64_t start = backwards ? ends[leader] : ends[leader] - size[leader];
    for (int64_t node = global_thread(); node < num_nodes; node += num_threads()) {
        int64_t offset = 0;
        if (depth[node] == 0) {
            offset = backwards ? start - ends[node] : ends[node] - size[node] - start;
            offset += offset < 0 ? num_nodes + 1 : 1;
        }
        first[node] = (ROW)offset;
    }
}

/* The smallest number of each node's subtree: a node that has got its number assigns those of its children. */
extern "C" __global__ void __launch_bounds__(SWEEP_THREADS, 1) place_subtrees(
    const int64_t* out_offsets, const ROW* heads, const ROW* order, int64_t num_nodes, bool reversed, int count, bool ascending,
    uint64_t salt_0, uint64_t salt_1, const ROW* parent_0, const ROW* parent_1, ROW* size_0, ROW* size_1, ROW* first_0,
    ROW* first_1) {
    const Dimensions dimensions{count, {
        {salt_0, ascending, parent_0, size_0, first_0}, {salt_1, false, parent_1, size_1, first_1}}};
    const Order nodes{order, num_nodes, reversed};
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_nodes; base += num_threads()) {
        bool open[FUSED_DIMENSIONS];
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            open[i] = base + lane < num_nodes && i < count;
        }
        const ROW node = open[0] ? nodes.at(base + lane) : 0;
        const int64_t begin = open[0] ? out_offsets[node] : 0, end = open[0] ? out_offsets[node + 1] : 0;
        const bool is_long = end - begin > LANE_ARCS;
        while (__any_sync(FULL_WARP, open[0] || open[1])) {
            bool idle = true;
#pragma unroll
            for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
                const Dimension& dimension = dimensions.at[i];
                const ROW next = open[i] ? load_relaxed(dimension.first + node) : 0;
                const bool go = open[i] && next != 0;
                if (go && !is_long) {
                    number_children(Visit(begin, end, dimension, node, num_nodes), heads, dimension, node, next);
                }
                for (uint32_t longs = __ballot_sync(FULL_WARP, go && is_long); longs; longs &= longs - 1) {
                    const int owner = __ffs(longs) - 1;
                    const ROW row = __shfl_sync(FULL_WARP, node, owner), place = __shfl_sync(FULL_WARP, next, owner);
                    const int64_t from = __shfl_sync(FULL_WARP, begin, owner), to = __shfl_sync(FULL_WARP, end, owner);
                    number_children_by_warp(Visit(from, to, dimension, row, num_nodes), heads, dimension, row, place);
                }
                open[i] = open[i] && !go;
                idle &= !go;
            }
            if (__all_sync(FULL_WARP, idle)) {
                __nanosleep(PAUSE);
            }
        }
    }
}

/* Smallest and largest number of a node and all nodes that it reaches; the node's own number replaces its subtree's size. */
struct Widen {
    struct Span {
        ROW low, post;
    };
    struct alignas(16) Spans {
        Span at[FUSED_DIMENSIONS];
    };
    typedef Spans Seen;
    typedef Spans Sum;
    Dimensions dimensions;
    Spans* spans;

    __device__ Sum nothing() const {
        Sum sum;
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            sum.at[i].low = sum.at[i].post = 0;
        }
        return sum;
    }
    __device__ Seen see(ROW neighbour, ROW) const {
        union {
            Seen seen;
            Words words[sizeof(Seen) / sizeof(Words)];
        };
#pragma unroll
        for (int k = 0; k < (int)(sizeof(Seen) / sizeof(Words)); ++k) {
            words[k] = load_relaxed((const Words*)(spans + neighbour) + k);
        }
        return seen;
    }
    __device__ bool ready(const Seen& seen) const {
        bool is_ready = true;
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            is_ready &= i >= dimensions.count || (seen.at[i].low != 0 && seen.at[i].post != 0);
        }
        return is_ready;
    }
    __device__ void add(Sum& sum, const Seen& seen) const {
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            const Span other = seen.at[i];
            Span& mine = sum.at[i];
            mine.low = other.low && (mine.low == 0 || other.low < mine.low) ? other.low : mine.low;
            mine.post = other.post > mine.post ? other.post : mine.post;
        }
    }
    __device__ void merge(Sum& sum, const Sum& other) const { add(sum, other); }
    __device__ void store(ROW node, const Sum& sum) const {
        union {
            Seen all;
            Words words[sizeof(Seen) / sizeof(Words)];
        };
        all = sum;
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            if (i < dimensions.count) {
                const Dimension& dimension = dimensions.at[i];
                const ROW own = dimension.first[node] + dimension.size[node] - 1;
                all.at[i].low = all.at[i].low && all.at[i].low < own ? all.at[i].low : own;
                all.at[i].post = all.at[i].post > own ? all.at[i].post : own;
                dimension.size[node] = own;
                dimension.low[node] = all.at[i].low;
                dimension.post[node] = all.at[i].post;
            }
        }
#pragma unroll
        for (int k = 0; k < (int)(sizeof(Seen) / sizeof(Words)); ++k) {
            store_relaxed((Words*)(spans + node) + k, words[k]);
        }
    }
};

extern "C" __global__ void __launch_bounds__(SWEEP_THREADS, 1) widen_intervals(
    const int64_t* out_offsets, const ROW* heads, const ROW* order, int64_t num_nodes, bool reversed, Words* spans, int count,
    ROW* size_0, ROW* size_1, ROW* first_0, ROW* first_1, ROW* low_0, ROW* low_1, ROW* post_0, ROW* post_1) {
    const Dimensions dimensions{
        count, {{0, true, nullptr, size_0, first_0, low_0, post_0}, {0, true, nullptr, size_1, first_1, low_1, post_1}}};
    gather(Arcs{out_offsets, heads}, Order{order, num_nodes, reversed}, Widen{dimensions, (Widen::Spans*)spans});
}
