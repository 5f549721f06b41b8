/* Levels and heights, the supports' bits, and for each dimension a random spanning forest with the sizes of its subtrees: the
   first half of method "tree"; intervals.cu is the second.

   Every kernel serves the DAG and the reversed DAG, whose in-arcs are the DAG's out-arcs. kernels/reachability/__init__.py
   defines the labels; `order` is any topological order. A pass takes `count` dimensions, at most FUSED_DIMENSIONS.

   Encodings: a Mark is (1 << 63 | depth << 32 | low bits, 1 << 63 | high bits); marks and sizes are zero before.

   ROW is the type of a node's number. */
#include "reachability/labels/visits.cuh"

#define WRITTEN (1ull << 63)

typedef Words Mark;

/* A candidate for a tree parent, none if `row` is negative. */
struct Choice {
    uint64_t key;
    ROW row;
};

__device__ __forceinline__ void choose(Choice& best, Choice other) {
    if (other.row >= 0 && (best.row < 0 || other.key < best.key || (other.key == best.key && other.row < best.row))) {
        best = other;
    }
}

/* The tree parent of every node in `count` dimensions, -1 for roots: of the tails one level before, the one with the smallest
   key. */
extern "C" __global__ void choose_parents(
    const int64_t* in_offsets, const ROW* tails, const int32_t* depth, int64_t num_nodes, int count, bool ascending,
    uint64_t salt_0, uint64_t salt_1, ROW* parent_0, ROW* parent_1) {
    const int lane = threadIdx.x & 31;
    const uint64_t salts[FUSED_DIMENSIONS] = {salt_0, salt_1};
    ROW* const parents[FUSED_DIMENSIONS] = {parent_0, parent_1};
    for (int64_t base = global_thread() - lane; base < num_nodes; base += num_threads()) {
        const bool open = base + lane < num_nodes;
        const ROW mine = (ROW)(base + lane);
        const int64_t begin = open ? in_offsets[mine] : 0, end = open ? in_offsets[mine + 1] : 0;
        const int32_t level = open ? depth[mine] : 0;
        const bool is_long = end - begin > LANE_ARCS;
        Choice best[FUSED_DIMENSIONS];
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            best[i] = Choice{0, -1};
        }
        for (int64_t arc = begin; arc < end && !is_long; arc += BATCH) {
            ROW tail[BATCH];
            bool above[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                tail[k] = tails[arc + k < end ? arc + k : end - 1];
            }
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                above[k] = depth[tail[k]] == level - 1;
            }
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
#pragma unroll
                for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
                    if (above[k] && i < count) {
                        choose(best[i], Choice{i > 0 || !ascending ? key_of(salts[i], tail[k], mine) : 0, tail[k]});
                    }
                }
            }
        }
        for (uint32_t longs = __ballot_sync(FULL_WARP, is_long); longs; longs &= longs - 1) {
            const int owner = __ffs(longs) - 1;
            const ROW row = __shfl_sync(FULL_WARP, mine, owner);
            const int32_t row_level = __shfl_sync(FULL_WARP, level, owner);
            const int64_t from = __shfl_sync(FULL_WARP, begin, owner), to = __shfl_sync(FULL_WARP, end, owner);
            Choice part[FUSED_DIMENSIONS];
#pragma unroll
            for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
                part[i] = Choice{0, -1};
            }
            for (int64_t arc = from + lane; arc < to; arc += 32 * LONG_BATCH) {
                ROW tail[LONG_BATCH];
                bool above[LONG_BATCH];
#pragma unroll
                for (int k = 0; k < (int)LONG_BATCH; ++k) {
                    tail[k] = tails[arc + k * 32 < to ? arc + k * 32 : arc];
                }
#pragma unroll
                for (int k = 0; k < (int)LONG_BATCH; ++k) {
                    above[k] = depth[tail[k]] == row_level - 1;
                }
#pragma unroll
                for (int k = 0; k < (int)LONG_BATCH; ++k) {
#pragma unroll
                    for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
                        if (above[k] && i < count) {
                            choose(part[i], Choice{i > 0 || !ascending ? key_of(salts[i], tail[k], row) : 0, tail[k]});
                        }
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
                for (int step = 16; step > 0; step >>= 1) {
                    choose(part[i], Choice{
                        __shfl_xor_sync(FULL_WARP, part[i].key, step), __shfl_xor_sync(FULL_WARP, part[i].row, step)});
                }
                best[i] = lane == owner ? part[i] : best[i];
            }
        }
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            if (open && i < count) {
                parents[i][mine] = best[i].row;
            }
        }
    }
}

/* Depths, the bits of supports, and the sizes of the subtrees of forests whose parents are the other direction's. */
struct Measure {
    struct Seen {
        Mark mark;
        ROW size[FUSED_DIMENSIONS];
    };
    struct Sum {
        uint64_t bits;
        ROW size[FUSED_DIMENSIONS];
        int64_t depth;
    };
    Dimensions dimensions;
    Mark* marks;
    int32_t* depth;
    uint64_t* bits; /* the bits of the node itself before, or null */

    __device__ Sum nothing() const {
        Sum sum;
        sum.bits = 0;
        sum.depth = 0;
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            sum.size[i] = 0;
        }
        return sum;
    }
    __device__ Seen see(ROW neighbour, ROW node) const {
        Seen seen;
        seen.mark = load_relaxed(marks + neighbour);
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            const Dimension& dimension = dimensions.at[i];
            seen.size[i] =
                i < dimensions.count && dimension.parent[neighbour] == node ? load_relaxed(dimension.size + neighbour) : -1;
        }
        return seen;
    }
    __device__ bool ready(const Seen& seen) const {
        bool is_ready = seen.mark.low >> 63 && seen.mark.high >> 63;
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            is_ready &= seen.size[i] != 0;
        }
        return is_ready;
    }
    __device__ void add(Sum& sum, const Seen& seen) const {
        const int64_t next = (int64_t)(seen.mark.low >> 32 & 0x7fffffff) + 1;
        sum.depth = next > sum.depth ? next : sum.depth;
        sum.bits |= (seen.mark.low & 0xffffffff) | seen.mark.high << 32;
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            sum.size[i] += seen.size[i] > 0 ? seen.size[i] : 0;
        }
    }
    __device__ void merge(Sum& sum, const Sum& other) const {
        sum.depth = other.depth > sum.depth ? other.depth : sum.depth;
        sum.bits |= other.bits;
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            sum.size[i] += other.size[i];
        }
    }
    __device__ void store(ROW node, const Sum& sum) const {
        const uint64_t all = sum.bits | (bits ? bits[node] : 0);
        Mark mark;
        mark.low = WRITTEN | (uint64_t)sum.depth << 32 | (all & 0xffffffff);
        mark.high = WRITTEN | all >> 32;
        store_relaxed(marks + node, mark);
#pragma unroll
        for (int i = 0; i < FUSED_DIMENSIONS; ++i) {
            if (i < dimensions.count) {
                store_relaxed(dimensions.at[i].size + node, sum.size[i] + 1);
            }
        }
        depth[node] = (int32_t)sum.depth;
        if (bits) {
            bits[node] = all;
        }
    }
};

extern "C" __global__ void __launch_bounds__(SWEEP_THREADS, 1) measure(
    const int64_t* out_offsets, const ROW* heads, const ROW* order, int64_t num_nodes, bool reversed, Mark* marks, int32_t* depth,
    uint64_t* bits, int count, const ROW* parent_0, const ROW* parent_1, ROW* size_0, ROW* size_1) {
    const Dimensions dimensions{count, {{0, true, parent_0, size_0}, {0, true, parent_1, size_1}}};
    gather(Arcs{out_offsets, heads}, Order{order, num_nodes, reversed}, Measure{dimensions, marks, depth, bits});
}
