/* The hierarchy of a forest's edges: Boruvka's rounds on the forest only (King: A simpler minimum spanning tree verification
   algorithm, Algorithmica 18, 1997).

   A node is a row, or a set of nodes that a round joined: a round joins every node to another by its least edge, and makes one
   node of all that are connected. `parent` and `time` of a node are the node that it became part of, and by which edge; edges are
   numbered in their order, and a root has the time NEVER and is its own parent. The greatest edge between two rows is the
   greatest time on the paths up from both until they meet; these have equal length, at most log2 V. An edge whose endpoints
   became one node by other edges closes a cycle.

   Each warp has its own part of the edges and removes edges from it in place. `hook` is a union-find of a round's nodes. */
#pragma once

#include "certificate/arcs.cuh"
#include "gpu/unsigned.cuh"

typedef UnsignedOf<sizeof(ROW)>::type Node;

#define NEVER (~(Node)0)

struct Item {
    Node one, other, time;
};

struct Hierarchy {
    Node *parent, *time, *hook;
    unsigned long long* nodes;
};

__device__ __forceinline__ void make_node(const Hierarchy& tree, Node node) {
    tree.parent[node] = node;
    tree.hook[node] = node;
    tree.time[node] = NEVER;
}

__device__ __forceinline__ Node root_of(Node* hook, Node node) {
    while (true) {
        const Node up = hook[node], above = hook[up];
        if (up == above) {
            return up;
        }
        hook[node] = above;
        node = above;
    }
}

__device__ __forceinline__ void propose(Node* time, Node node, Node edge) {
    if (edge < time[node]) {
        atomicMin(&time[node], edge);
    }
}

/* Hook a node to the other endpoint of its least edge; of two nodes that share it, the smaller one is the root and makes the new
   node. */
__device__ __forceinline__ void hook_ends(const Hierarchy& tree, const Item& item) {
    const bool one = tree.time[item.one] == item.time, other = tree.time[item.other] == item.time;
    if (one && other) {
        const Node low = min(item.one, item.other), high = max(item.one, item.other);
        const Node made = (Node)append(tree.nodes);
        make_node(tree, made);
        tree.parent[low] = made;
        tree.hook[high] = low;
    } else if (one) {
        tree.hook[item.one] = item.other;
    } else if (other) {
        tree.hook[item.other] = item.one;
    }
}

/* Replace the endpoints of a warp's edges by the new nodes and keep the edges between two nodes; returns their number. */
__device__ int64_t lift_edges(const Hierarchy& tree, Item* part, int64_t length, uint32_t* closing) {
    const int lane = threadIdx.x & 31;
    int64_t kept = 0;
    for (int64_t first = 0; first < length; first += 32) {
        bool keeps = false;
        Item item = {};
        if (first + lane < length) {
            item = part[first + lane];
            const Node one = root_of(tree.hook, item.one), other = root_of(tree.hook, item.other);
            keeps = one != other;
            if (!keeps && tree.time[item.one] != item.time && tree.time[item.other] != item.time) {
                *closing = 1;
            }
            item.one = tree.parent[one];
            item.other = tree.parent[other];
        }
        const uint32_t keeping = __ballot_sync(FULL_WARP, keeps);
        if (keeps) {
            part[kept + __popc(keeping & ((1u << lane) - 1))] = item;
        }
        kept += __popc(keeping);
        __syncwarp();
    }
    return kept;
}

/* Build the hierarchy of `num_edges` edges; note whether one closes a cycle. `items` is scratch memory for all edges. */
__device__ void join_edges(const ROW* __restrict__ src, const ROW* __restrict__ dst, const Node* __restrict__ times,
                           int64_t num_edges, int64_t num_rows, const Hierarchy& tree, Item* items, uint32_t* barrier,
                           uint32_t* closing) {
    const int lane = threadIdx.x & 31;
    const int64_t warps = num_threads() / 32, share = (num_edges + warps - 1) / warps;
    const int64_t begin = min(num_edges, global_thread() / 32 * share);
    int64_t length = min(share, num_edges - begin);
    Item* part = items + begin;
    for (int64_t i = lane; i < length; i += 32) {
        part[i] = {(Node)src[begin + i], (Node)dst[begin + i], times[begin + i]};
    }
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        make_node(tree, (Node)v);
    }
    if (global_thread() == 0) {
        *tree.nodes = (unsigned long long)num_rows;
    }
    int64_t level = 0, level_end = num_rows;
    while (true) {
        grid_barrier(barrier);
        for (int64_t i = lane; i < length; i += 32) {
            propose(tree.time, part[i].one, part[i].time);
            propose(tree.time, part[i].other, part[i].time);
        }
        grid_barrier(barrier);
        for (int64_t i = lane; i < length; i += 32) {
            hook_ends(tree, part[i]);
        }
        grid_barrier(barrier);
        const int64_t made = (int64_t)*(volatile unsigned long long*)tree.nodes;
        if (made == level_end) {
            return;
        }
        length = lift_edges(tree, part, length, closing);
        for (int64_t node = level + global_thread(); node < level_end; node += num_threads()) {
            const Node root = root_of(tree.hook, (Node)node);
            if (root != (Node)node) {
                tree.parent[node] = tree.parent[root];
            }
        }
        level = level_end;
        level_end = made;
    }
}

/* The time of the greatest edge between two rows; NEVER if no edges connect them. */
__device__ __forceinline__ Node greatest_between(const Node* __restrict__ parent, const Node* __restrict__ time, Node one,
                                                 Node other) {
    Node greatest = 0;
    while (one != other) {
        greatest = max(greatest, max(time[one], time[other]));
        if (greatest == NEVER) {
            return NEVER;
        }
        one = parent[one];
        other = parent[other];
    }
    return greatest;
}
