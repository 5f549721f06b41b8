/* Some topological order of an acyclic graph: a node is queued when its last parent has been taken (Kahn, 1962).

   The queue needs no barrier: each lane waits until there is a node at its position. Every position gets one unless there is a
   cycle. In that case every queued node is eventually taken, and `queued` stays below the number of nodes.

   ROW is the type of a node's number. */
#include "reachability/order/sweeps.cuh"
#include "reachability/nodes.cuh"

#define NONE ((ROW)-1)

typedef UnsignedOf<sizeof(ROW)>::type Unsigned;

struct Control {
    int64_t queued;
    int64_t deep; /* whether the order was given up, because a warp has polled too often */
    int64_t padding[CONTROL_WORDS - 3]; /* the counters are on different cache lines */
    int64_t taken;
};

#define POLLS 256 /* unsuccessful polls of a warp before it checks whether all warps have stopped or have to */

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

/* Take arcs at + k * stride below `end`, and queue the heads whose last waiting in-arc this was. All lanes of a warp must call
   it. */
__device__ __forceinline__ void take_arcs(
    const ROW* indices, int64_t at, int64_t end, int stride, ROW* waiting, ROW* order, Control* control) {
    const int lane = threadIdx.x & 31;
    ROW heads[BATCH], left[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        heads[k] = at + k * stride < end ? indices[at + k * stride] : NONE;
    }
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        left[k] = heads[k] == NONE ? 0 : (ROW)atomicAdd((Unsigned*)waiting + heads[k], (Unsigned)-1);
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
    ROW* position = order + __shfl_sync(FULL_WARP, first, 31) + sum - mine;
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        if (left[k] == 1) {
            store_relaxed(position++, heads[k]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(512, 2) order_nodes(
    const int64_t* child_offsets, const ROW* children, int64_t num_nodes, ROW* waiting, ROW* order, int64_t most_polls,
    Control* control) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_nodes; base += num_threads()) {
        bool open = base + lane < num_nodes;
        int64_t idle = 0; /* polls since a node was taken; a level takes about as long as a poll */
        for (uint32_t polls = 0; __any_sync(FULL_WARP, open); ++polls) {
            int64_t arc = 0, end = 0;
            const bool waits = open;
            if (open) {
                const ROW node = load_relaxed(order + base + lane);
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
                    take_arcs(children, at + lane, to, 32, waiting, order, control);
                }
                arc = lane == owner ? end : arc;
            }
            for (; __any_sync(FULL_WARP, arc < end); arc += BATCH) {
                take_arcs(children, arc, end, 1, waiting, order, control);
            }
            const uint32_t taken = __popc(__ballot_sync(FULL_WARP, waits && !open));
            if (lane == 0 && taken > 0) {
                atomicAdd((uint64_t*)&control->taken, (uint64_t)taken);
            }
            idle = taken == 0 ? idle + 1 : 0;
            if (lane == 0 && idle > most_polls) {
                store_relaxed(&control->deep, 1);
            }
            bool is_over = idle > most_polls;
            if (polls % POLLS == POLLS - 1 && taken == 0) {
                const int64_t before = load_relaxed(&control->taken); /* read first: it cannot exceed `queued` */
                is_over |= before == load_relaxed(&control->queued) && before < num_nodes;
                is_over |= load_relaxed(&control->deep) != 0;
            }
            if (__any_sync(FULL_WARP, is_over)) {
                return;
            }
            if (taken == 0) {
                __nanosleep(PAUSE);
            }
        }
    }
}
