/* A pass over an acyclic graph in which a node waits for its neighbours, not for a level.

   Warps take 32 nodes at a time in a topological order. All warps of a cooperative launch are resident, so the first node that
   is not done always has a warp that works on it, and every node that it waits for is done. A lane never blocks: it reads the
   values that are ready and polls again. A published value is never zero, the value before, so the value shows whether it has
   arrived: there is no fence and no barrier, and a level costs one trip through L2.

   Source: Liu, Li, Hogg, Duff, Vinter: A Synchronization-Free Algorithm for Parallel Sparse Triangular Solves (Euro-Par 2016). */
#pragma once

#include "gpu/device.cuh"

#define LANE_ARCS 32 /* longest row that one lane reads; the warp reads longer ones together */
#define BATCH 4      /* loads of a lane in flight */
#define LONG_BATCH (sizeof(ROW) == 4 ? 8 : 4) /* the same for rows that a warp reads */
#define PAUSE 200    /* nanoseconds between polls of a warp whose lanes all wait: polls take L2 bandwidth from the others */

struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
};

/* The nodes of a pass: a topological order, or its reverse. */
struct Order {
    const ROW* nodes;
    int64_t length;
    bool reversed;

    __device__ ROW at(int64_t position) const { return nodes[reversed ? length - 1 - position : position]; }
};

struct alignas(16) Words {
    uint64_t low, high;
};

/* Loads and stores that bypass L1, so that other blocks see them. */
__device__ __forceinline__ int32_t load_relaxed(const int32_t* address) {
    int32_t value;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(address));
    return value;
}

__device__ __forceinline__ int64_t load_relaxed(const int64_t* address) {
    int64_t value;
    asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(value) : "l"(address));
    return value;
}

__device__ __forceinline__ Words load_relaxed(const Words* address) {
    Words value;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(address));
    return value;
}

__device__ __forceinline__ void store_relaxed(int32_t* address, int32_t value) {
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(address), "r"(value));
}

__device__ __forceinline__ void store_relaxed(int64_t* address, int64_t value) {
    asm volatile("st.relaxed.gpu.global.s64 [%0], %1;" ::"l"(address), "l"(value));
}

__device__ __forceinline__ void store_relaxed(Words* address, Words value) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(value.low), "l"(value.high));
}

/* The `value` of lane (own lane ^ step), for any struct of 32-bit words. */
template <typename Value>
__device__ __forceinline__ Value from_lane(const Value& value, int step) {
    union Split {
        Value whole;
        uint32_t words[sizeof(Value) / 4];
        __device__ Split() {}
    } mine, other;
    mine.whole = value;
#pragma unroll
    for (int k = 0; k < (int)(sizeof(Value) / 4); ++k) {
        other.words[k] = __shfl_xor_sync(FULL_WARP, mine.words[k], step);
    }
    return other.whole;
}

/* Read arcs `arc..end` with all lanes, as far as their neighbours are ready, and add their values to `sum`. Returns the first arc
   left. */
template <typename Task>
__device__ int64_t gather_long(const Task& task, const ROW* indices, ROW node, int64_t arc, int64_t end,
    typename Task::Sum& sum) {
    const int lane = threadIdx.x & 31;
    while (arc < end) {
        typename Task::Seen seen[LONG_BATCH];
        bool ready = true;
#pragma unroll
        for (int k = 0; k < (int)LONG_BATCH; ++k) {
            const int64_t at = arc + k * 32 + lane;
            seen[k] = task.see(indices[at < end ? at : end - 1], node);
        }
#pragma unroll
        for (int k = 0; k < (int)LONG_BATCH; ++k) {
            ready &= task.ready(seen[k]);
        }
        if (!__all_sync(FULL_WARP, ready)) {
            return arc;
        }
#pragma unroll
        for (int k = 0; k < (int)LONG_BATCH; ++k) {
            if (arc + k * 32 + lane < end) {
                task.add(sum, seen[k]);
            }
        }
        arc = arc + 32 * LONG_BATCH < end ? arc + 32 * LONG_BATCH : end;
    }
    return arc;
}

/* For every node: read the values of all neighbours when they are ready, then store the node's own value. */
template <typename Task>
__device__ __forceinline__ void gather(const Arcs& arcs, const Order& order, const Task& task) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < order.length; base += num_threads()) {
        bool open = base + lane < order.length;
        const ROW node = open ? order.at(base + lane) : 0;
        int64_t arc = open ? arcs.offsets[node] : 0;
        const int64_t end = open ? arcs.offsets[node + 1] : 0;
        typename Task::Sum sum = task.nothing();
        int batch = BATCH; /* 1 while the next neighbour is not ready */
        while (__any_sync(FULL_WARP, open)) {
            const int64_t before = arc;
            while (open && arc < end && end - arc <= LANE_ARCS) {
                const int size = end - arc < batch ? (int)(end - arc) : batch;
                typename Task::Seen seen[BATCH];
#pragma unroll
                for (int k = 0; k < BATCH; ++k) {
                    if (k < size) {
                        seen[k] = task.see(arcs.indices[arc + k], node);
                    }
                }
                int taken = 0;
#pragma unroll
                for (int k = 0; k < BATCH; ++k) {
                    if (taken == k && k < size && task.ready(seen[k])) {
                        task.add(sum, seen[k]);
                        taken = k + 1;
                    }
                }
                arc += taken;
                batch = taken == size ? BATCH : 1;
                if (taken < size) {
                    break;
                }
            }
            for (uint32_t longs = __ballot_sync(FULL_WARP, open && end - arc > LANE_ARCS); longs; longs &= longs - 1) {
                const int owner = __ffs(longs) - 1;
                typename Task::Sum part = task.nothing();
                const ROW row = __shfl_sync(FULL_WARP, node, owner);
                const int64_t from = __shfl_sync(FULL_WARP, arc, owner), to = __shfl_sync(FULL_WARP, end, owner);
                const int64_t left = gather_long(task, arcs.indices, row, from, to, part);
                for (int step = 16; step > 0; step >>= 1) {
                    task.merge(part, from_lane(part, step));
                }
                if (lane == owner) {
                    task.merge(sum, part);
                    arc = left;
                }
            }
            const bool moved = open && (arc > before || arc == end);
            if (open && arc == end) {
                task.store(node, sum);
                open = false;
            }
            if (!__any_sync(FULL_WARP, moved)) {
                __nanosleep(PAUSE);
            }
        }
    }
}
