/* The edges of one rank's forest that are certainly in the forest of the whole graph (kernels/forest/sharded/cuda.py).

   Method: Boruvka's rounds over trees of own rows. All arcs of own rows are known here, so a tree's lightest edge is the lightest
   one that leaves it in the whole graph, and safe by the cut property. If it leads to a ghost, the tree waits until all ranks
   join; another tree may still join it by an edge of its own.

   Encodings: edges are in their order, so an edge's index is its key. `near` and `far` are the trees at its endpoints, or ghosts
   (from `num_own` on); they are equal if the edge is inside a tree. `best[t]` is the lightest edge of tree t. */
#include "gpu/union_find.cuh"

struct Control {
    uint32_t barrier;
    uint32_t joined[3];
};

__device__ __forceinline__ void offer(ROW* best, ROW tree, ROW edge) {
    if (edge < __ldcg(best + tree)) {
        atomicMin(best + tree, edge);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
take_safe(ROW num_own, int64_t num_edges, ROW* near, ROW* far, ROW* parent, ROW* best, bool* taken, Control* control) {
    constexpr ROW none = (ROW)(sizeof(ROW) == 4 ? 0x7fffffffll : 0x7fffffffffffffffll);
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        parent[v] = (ROW)v;
        best[v] = none;
    }
    for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
        taken[edge] = false;
    }
    grid_barrier(&control->barrier);
    for (int round = 0;; ++round) {
        if (global_thread() == 0) {
            control->joined[(round + 1) % 3] = 0;
        }
        for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
            const ROW one = near[edge], other = far[edge];
            if (one != other && one < num_own) {
                offer(best, one, (ROW)edge);
            }
            if (one != other && other < num_own) {
                offer(best, other, (ROW)edge);
            }
        }
        grid_barrier(&control->barrier);
        bool joined = false;
        for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
            const ROW one = near[edge], other = far[edge];
            if (one == other || one >= num_own || other >= num_own) {
                continue;
            }
            const bool one_wins = best[one] == edge, other_wins = best[other] == edge;
            if (one_wins && (!other_wins || one > other)) {
                parent[one] = other;
            } else if (other_wins) {
                parent[other] = one;
            }
            if (one_wins || other_wins) {
                taken[edge] = joined = true;
            }
        }
        if (joined) {
            control->joined[round % 3] = 1;
        }
        grid_barrier(&control->barrier);
        if (__ldcg(&control->joined[round % 3]) == 0) {
            return;
        }
        for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
            const ROW one = near[edge], other = far[edge];
            if (one == other) {
                continue;
            }
            const ROW near_root = one < num_own ? find_root(parent, one) : one;
            const ROW far_root = other < num_own ? find_root(parent, other) : other;
            near[edge] = near_root;
            far[edge] = far_root;
            if (near_root != far_root && near_root < num_own) {
                best[near_root] = none;
            }
            if (near_root != far_root && far_root < num_own) {
                best[far_root] = none;
            }
        }
        grid_barrier(&control->barrier);
    }
}

/* Give every own row its root. */
extern "C" __global__ void flatten(ROW* parent, int64_t num_own) {
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        parent[v] = root_of(parent, (ROW)v);
    }
}
