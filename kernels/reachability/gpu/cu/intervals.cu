/* Method "tree", its second half, and that of "dfs": the post-order of forests whose subtrees' sizes are known, and its intervals.

   Kernels serve both directions, and up to FUSED dimensions, as those of tree.cu.

   Encodings: Span: low and post of one dimension, zero before. A number in post-order starts at 1, so `first` is zero before.

   ROW is the type of a node's number. */
#include "reachability/gpu/cu/visits.cuh"

/* Where the forest's roots begin. `ends` are the running sums of their sizes, `ranks` of their number, as nodes ascend. */
extern "C" __global__ void find_first_root(
    const int32_t* depth, const int64_t* ranks, int64_t num_nodes, bool ascending, uint64_t salt, int64_t* first_root) {
    const uint64_t hash = ascending ? 0 : key_of(salt, num_nodes, num_nodes) >> 1;
    const int64_t rank = (int64_t)(hash % (uint64_t)ranks[num_nodes - 1]);
    for (int64_t node = global_thread(); node < num_nodes; node += num_threads()) {
        if (depth[node] == 0 && ranks[node] == rank + 1) {
            *first_root = node;
        }
    }
}

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

/* The smallest number of each node's subtree: a node that has its own gives its children theirs. */
extern "C" __global__ void __launch_bounds__(512, 1) place_subtrees(
    const int64_t* far_offsets, const ROW* far, const ROW* order, int64_t num_nodes, bool reversed, int count, bool ascending,
    uint64_t salt_0, uint64_t salt_1, const ROW* parent_0, const ROW* parent_1, ROW* size_0, ROW* size_1, ROW* first_0, ROW* first_1) {
    const Dimensions dimensions{count, {{salt_0, ascending, parent_0, size_0, first_0}, {salt_1, false, parent_1, size_1, first_1}}};
    const Order nodes{order, num_nodes, reversed};
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_nodes; base += num_threads()) {
        bool open[FUSED];
#pragma unroll
        for (int i = 0; i < FUSED; ++i) {
            open[i] = base + lane < num_nodes && i < count;
        }
        const ROW node = open[0] ? nodes.at(base + lane) : 0;
        const int64_t begin = open[0] ? far_offsets[node] : 0, end = open[0] ? far_offsets[node + 1] : 0;
        const bool is_long = end - begin > LANE_ARCS;
        while (__any_sync(FULL_WARP, open[0] || open[1])) {
            bool idle = true;
#pragma unroll
            for (int i = 0; i < FUSED; ++i) {
                const Dimension& dimension = dimensions.at[i];
                const ROW next = open[i] ? look(dimension.first + node) : 0;
                const bool go = open[i] && next != 0;
                if (go && !is_long) {
                    place_children(Visit(begin, end, dimension, node, num_nodes), far, dimension, node, next);
                }
                for (uint32_t longs = __ballot_sync(FULL_WARP, go && is_long); longs; longs &= longs - 1) {
                    const int owner = __ffs(longs) - 1;
                    const ROW row = __shfl_sync(FULL_WARP, node, owner), place = __shfl_sync(FULL_WARP, next, owner);
                    const int64_t from = __shfl_sync(FULL_WARP, begin, owner), to = __shfl_sync(FULL_WARP, end, owner);
                    place_many(Visit(from, to, dimension, row, num_nodes), far, dimension, row, place);
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

/* Smallest and largest number of a node and all that it reaches; a node's own takes the place of its subtree's size. */
struct Widen {
    struct Span {
        ROW low, post;
    };
    struct alignas(16) Spans {
        Span at[FUSED];
    };
    typedef Spans Seen;
    typedef Spans Sum;
    Dimensions dimensions;
    Spans* spans;

    __device__ Sum nothing() const {
        Sum sum;
#pragma unroll
        for (int i = 0; i < FUSED; ++i) {
            sum.at[i].low = sum.at[i].post = 0;
        }
        return sum;
    }
    __device__ Seen see(ROW far, ROW) const {
        union {
            Seen seen;
            Words words[sizeof(Seen) / sizeof(Words)];
        };
#pragma unroll
        for (int k = 0; k < (int)(sizeof(Seen) / sizeof(Words)); ++k) {
            words[k] = look((const Words*)(spans + far) + k);
        }
        return seen;
    }
    __device__ bool ready(const Seen& seen) const {
        bool there = true;
#pragma unroll
        for (int i = 0; i < FUSED; ++i) {
            there &= i >= dimensions.count || (seen.at[i].low != 0 && seen.at[i].post != 0);
        }
        return there;
    }
    __device__ void add(Sum& sum, const Seen& seen) const {
#pragma unroll
        for (int i = 0; i < FUSED; ++i) {
            const Span far = seen.at[i];
            Span& mine = sum.at[i];
            mine.low = far.low && (mine.low == 0 || far.low < mine.low) ? far.low : mine.low;
            mine.post = far.post > mine.post ? far.post : mine.post;
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
        for (int i = 0; i < FUSED; ++i) {
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
            tell((Words*)(spans + node) + k, words[k]);
        }
    }
};

extern "C" __global__ void __launch_bounds__(512, 1) widen_intervals(
    const int64_t* far_offsets, const ROW* far, const ROW* order, int64_t num_nodes, bool reversed, Words* spans, int count,
    ROW* size_0, ROW* size_1, ROW* first_0, ROW* first_1, ROW* low_0, ROW* low_1, ROW* post_0, ROW* post_1) {
    const Dimensions dimensions{
        count, {{0, true, nullptr, size_0, first_0, low_0, post_0}, {0, true, nullptr, size_1, first_1, low_1, post_1}}};
    gather(Arcs{far_offsets, far}, Order{order, num_nodes, reversed}, Widen{dimensions, (Widen::Spans*)spans});
}
