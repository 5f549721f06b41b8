/* A topological order of an acyclic graph, any: a node is queued when the last of its parents has been taken (Kahn, 1962).

   The queue needs no barrier: lane i of a warp waits until there is a node at its place. All places get one, unless there is a
   cycle: then all that was queued has been passed on at last, and `queued` stays below the number of nodes.

   ROW is the type of a node's number. */
#include "reachability/gpu/cu/sweeps.cuh"
#include "reachability/gpu/cu/unsigned.cuh"

#define NONE ((ROW)-1)

typedef UnsignedOf<sizeof(ROW)>::type Unsigned;

struct Control {
    int64_t queued;
    int64_t of_another_line[15];
    int64_t passed;
};

#define PATIENCE 256 /* looks of a warp in vain, before it looks whether all have stopped */

/* In-degrees and an empty queue. */
extern "C" __global__ void start_order(const int64_t* parent_offsets, int64_t num_nodes, ROW* waiting, ROW* order) {
    for (int64_t node = global_thread(); node < num_nodes; node += num_threads()) {
        waiting[node] = (ROW)(parent_offsets[node + 1] - parent_offsets[node]);
        order[node] = NONE;
    }
}

extern "C" __global__ void queue_roots(const ROW* waiting, int64_t num_nodes, ROW* order, Control* control) {
    for (int64_t node = global_thread(); node < num_nodes; node += num_threads()) {
        if (waiting[node] == 0) {
            order[append((uint64_t*)&control->queued)] = (ROW)node;
        }
    }
}

/* Take arc `at + 32 k` or none for every k, and queue the ends whose last parent that was. All lanes of a warp come here. */
__device__ __forceinline__ void pass_arcs(
    const ROW* indices, int64_t at, int64_t end, int stride, ROW* waiting, ROW* order, Control* control) {
    const int lane = threadIdx.x & 31;
    ROW far[BATCH], left[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        far[k] = at + k * stride < end ? indices[at + k * stride] : NONE;
    }
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        left[k] = far[k] == NONE ? 0 : (ROW)atomicAdd((Unsigned*)waiting + far[k], (Unsigned)-1);
    }
    uint32_t mine = 0;
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        mine += left[k] == 1;
    }
    uint32_t sum = mine;
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t lower = __shfl_up_sync(FULL_WARP, sum, step);
        sum += lane >= step ? lower : 0;
    }
    uint64_t first = 0;
    if (lane == 31 && sum > 0) {
        first = atomicAdd((uint64_t*)&control->queued, (uint64_t)sum);
    }
    ROW* place = order + __shfl_sync(FULL_WARP, first, 31) + sum - mine;
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        if (left[k] == 1) {
            tell(place++, far[k]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(512, 2) order_nodes(
    const int64_t* child_offsets, const ROW* children, int64_t num_nodes, ROW* waiting, ROW* order, Control* control) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_nodes; base += num_threads()) {
        bool open = base + lane < num_nodes;
        for (uint32_t looks = 0; __any_sync(FULL_WARP, open); ++looks) {
            int64_t arc = 0, end = 0;
            const bool waits = open;
            if (open) {
                const ROW node = look(order + base + lane);
                if (node != NONE) {
                    open = false;
                    arc = child_offsets[node];
                    end = child_offsets[node + 1];
                }
            }
            uint32_t longs = __ballot_sync(FULL_WARP, end - arc > LANE_ARCS);
            for (; longs; longs &= longs - 1) {
                const int owner = __ffs(longs) - 1;
                const int64_t to = __shfl_sync(FULL_WARP, end, owner);
                for (int64_t at = __shfl_sync(FULL_WARP, arc, owner); at < to; at += 32 * BATCH) {
                    pass_arcs(children, at + lane, to, 32, waiting, order, control);
                }
                arc = lane == owner ? end : arc;
            }
            for (; __any_sync(FULL_WARP, arc < end); arc += BATCH) {
                pass_arcs(children, arc, end, 1, waiting, order, control);
            }
            const uint32_t passed = __popc(__ballot_sync(FULL_WARP, waits && !open));
            if (lane == 0 && passed > 0) {
                atomicAdd((uint64_t*)&control->passed, (uint64_t)passed);
            }
            bool is_over = false;
            if (looks % PATIENCE == PATIENCE - 1 && passed == 0) {
                const int64_t before = look(&control->passed); /* first: no more than what is queued by now */
                is_over = before == look(&control->queued) && before < num_nodes;
            }
            if (__any_sync(FULL_WARP, is_over)) {
                return;
            }
            if (passed == 0) {
                __nanosleep(PAUSE);
            }
        }
    }
}
