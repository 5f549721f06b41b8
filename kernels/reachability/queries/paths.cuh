/* The path that proves a yes, by one warp, from a node where a search met the other side or labels that answer (witness.py). */
#pragma once
#include "reachability/queries/records.cuh"

struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
};

/* Where the paths of queries go; without `nodes` none are asked for. */
struct Paths {
    const int64_t* begins;
    int64_t* lengths;
    ROW* nodes;
    const ROW* supports;
};

/* The path of a query, which is extended at its end. All lanes have equal values. */
struct Path {
    ROW* nodes;
    int64_t length, capacity;

    /* Append nodes that `takes` accepts, after `node` up to `end`; false if there is no such path. */
    template <typename Takes>
    __device__ bool walk(const Arcs& arcs, ROW node, ROW end, const Takes& takes) {
        const int lane = threadIdx.x & 31;
        while (node != end) {
            ROW next = -1;
            for (int64_t base = arcs.offsets[node]; base < arcs.offsets[node + 1] && next < 0; base += 32) {
                const bool is_arc = base + lane < arcs.offsets[node + 1];
                const ROW head = is_arc ? arcs.indices[base + lane] : -1;
                const uint32_t taken = __ballot_sync(FULL_WARP, is_arc && (head == end || takes(head)));
                next = taken ? __shfl_sync(FULL_WARP, head, __ffs((int)taken) - 1) : (ROW)-1;
            }
            if (next < 0 || length == capacity) {
                return false;
            }
            if (lane == 0) {
                nodes[length] = next;
            }
            ++length;
            node = next;
        }
        return true;
    }

    /* The same from `begin`, found backwards from `node`. */
    template <typename Takes>
    __device__ bool walk_back(const Arcs& into, ROW begin, ROW node, const Takes& takes) {
        if (node == begin) {
            return true;
        }
        const int64_t first = length;
        if ((threadIdx.x & 31) == 0) {
            nodes[length] = node;
        }
        ++length;
        if (!walk(into, node, begin, takes)) {
            return false;
        }
        --length; /* `begin` is in the path already */
        __syncwarp();
        for (int64_t i = first + (threadIdx.x & 31), j = length - 1 - (threadIdx.x & 31); i < j; i += 32, j -= 32) {
            const ROW other = nodes[i];
            nodes[i] = nodes[j];
            nodes[j] = other;
        }
        __syncwarp();
        return true;
    }

    /* Append a path from `from` to `to`, which the labels show to be reached. */
    __device__ bool descend(const Index& index, const Arcs (&sides)[2], const ROW* supports, ROW from, ROW to) {
        const Record* const records = index.records;
        const Cuts of_from = records[from].cuts, of_to = records[to].cuts;
        if (from == to || (of_from.first <= of_to.last && of_to.last <= of_from.last)) {
            return walk(sides[0], from, to, [=](ROW node) {
                return records[node].cuts.first <= of_to.last && of_to.last <= records[node].cuts.last;
            });
        }
        const uint64_t common = of_from.reaches & of_to.reached, bit = common & (0 - common);
        if (bit == 0) {
            return false;
        }
        const ROW support = supports[__ffsll((long long)bit) - 1];
        return walk(sides[0], from, support, [=](ROW node) { return (records[node].cuts.reaches & bit) != 0; })
            && walk_back(sides[1], support, to, [=](ROW node) { return (records[node].cuts.reached & bit) != 0; });
    }
};

/* Write the path of a query that was answered with yes at node `met`, found from `side`. `holds(side, node)` says whether a side
   of the search has found a node. */
template <typename Holds>
__device__ void write_path(
    const Paths& paths, uint32_t query, const Index& index, const Arcs (&sides)[2], ROW from, ROW to, ROW met, int side,
    const Holds& holds) {
    const int64_t begin = paths.begins[query];
    Path path{paths.nodes + begin, 1, paths.begins[query + 1] - begin};
    const int lane = threadIdx.x & 31;
    if (lane == 0) {
        *path.nodes = from;
    }
    bool is_whole = side == 0 || holds(0, met)
        ? path.walk_back(sides[1], from, met, [&](ROW node) { return holds(0, node); })
        : path.descend(index, sides, paths.supports, from, met);
    is_whole = is_whole
        && (side == 1 || holds(1, met) ? path.walk(sides[0], met, to, [&](ROW node) { return holds(1, node); })
                                       : path.descend(index, sides, paths.supports, met, to));
    if (lane == 0) {
        paths.lengths[query] = is_whole ? path.length : 0;
    }
}
