/* Boruvka's rounds over a list of edges. */
#pragma once

#include "forest/listing.cuh"

/* The most frequent tree at the endpoints of a warp's edges, or -1 if no four agree. */
__device__ __forceinline__ ROW commonest_of_warp(ROW near, ROW far) {
    const int lane = threadIdx.x & 31;
    const int nears = __reduce_max_sync(FULL_WARP, __popc(__match_any_sync(FULL_WARP, near)) * 32 + lane);
    const int fars = __reduce_max_sync(FULL_WARP, __popc(__match_any_sync(FULL_WARP, far)) * 32 + lane);
    const ROW tree = __shfl_sync(FULL_WARP, nears > fars ? near : far, max(nears, fars) & 31);
    return max(nears, fars) >= 4 * 32 ? tree : (ROW)-1;
}

/* A warp's part of the list: every `warps`-th tile of 32 edges, so that all warps read one region of the graph at a time. */
struct Part {
    Item* items;
    int64_t warp, warps;

    __device__ __forceinline__ Item& operator[](int64_t i) const { return items[((i >> 5) * warps + warp) * 32 + (i & 31)]; }
    __device__ int64_t size(int64_t listed) const {
        const int64_t tiles = (listed + 31) / 32;
        const int64_t own = tiles > warp ? (tiles - 1 - warp) / warps + 1 : 0;
        return own * 32 - (own > 0 && (tiles - 1) % warps == warp ? tiles * 32 - listed : 0);
    }
};

/* Offer the part's edges to the trees at their endpoints. The tree that many of a warp's edges share is offered only their
   lightest. */
__device__ void offer_part(const Part& part, int64_t count, Minima minima) {
    const int lane = threadIdx.x & 31;
    if (count == 0) {
        return;
    }
    const bool any = lane < count;
    const ROW shared = commonest_of_warp(any ? part[lane].near : (ROW)(-1 - lane), any ? part[lane].far : (ROW)(-1 - lane));
    Key least = {~(Bits)0, ~(Bits)0};
#pragma unroll 2
    for (int64_t i = lane; i < count; i += 32) {
        const Item item = part[i];
        if (item.near == shared || item.far == shared) {
            least = before(item.key, least) ? item.key : least;
        }
        if (item.near != shared) {
            offer(minima, item.near, item.key);
        }
        if (item.far != shared) {
            offer(minima, item.far, item.key);
        }
    }
    least = lightest_of_warp(least);
    if (lane == 0 && shared >= 0) {
        offer(minima, shared, least);
    }
}

/* Link trees by the edges that are the lightest of one of them. */
__device__ void link_part(const Part& part, int64_t count, Minima minima, ROW* parent, uint32_t* marks) {
#pragma unroll 2
    for (int64_t i = threadIdx.x & 31; i < count; i += 32) {
        const Item item = part[i];
        const bool near_wins = wins(minima, item.near, item.key), far_wins = wins(minima, item.far, item.key);
        if (near_wins && (!far_wins || item.near > item.far)) {
            parent[item.near] = item.far;
        } else if (far_wins) {
            parent[item.far] = item.near;
        }
        if (near_wins || far_wins) {
            mark(marks, item.key.edge);
        }
    }
}

/* Replace the endpoints of edges by their roots and keep the edges between two trees; returns their number. */
__device__ int64_t keep_part(const Part& part, int64_t count, Minima minima, ROW* parent) {
    const int lane = threadIdx.x & 31;
    int64_t kept = 0;
    for (int64_t tile = 0; tile < count; tile += 64) {
        Item pair[2];
        bool stays[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            stays[i] = tile + 32 * i + lane < count;
            if (stays[i]) {
                pair[i] = part[tile + 32 * i + lane];
            }
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (stays[i]) {
                pair[i].near = find_root(parent, pair[i].near);
                pair[i].far = find_root(parent, pair[i].far);
                stays[i] = pair[i].near != pair[i].far;
            }
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint32_t staying = __ballot_sync(FULL_WARP, stays[i]);
            if (stays[i]) {
                reset(minima, pair[i].near);
                reset(minima, pair[i].far);
                part[kept + __popc(staying & ((1u << lane) - 1))] = pair[i];
            }
            kept += __popc(staying);
        }
    }
    return kept;
}

/* Boruvka's rounds over the first `listed` items, until no edge joins two trees. */
__device__ __noinline__ void join_listed(Item* items, int64_t listed, Minima minima, ROW* parent, uint32_t* marks,
    Control* control) {
    const Part part = {items, global_thread() / 32, num_threads() / 32};
    int64_t count = part.size(listed);
    for (int round = 0;; ++round) {
        if (global_thread() == 0) {
            control->alive[(round + 1) % 3] = 0;
        }
        offer_part(part, count, minima);
        grid_barrier(&control->barrier);
        if (WIDE) {
            for (int64_t i = threadIdx.x & 31; i < count; i += 32) {
                const Item item = part[i];
                offer_edge(minima, item.near, item.key);
                offer_edge(minima, item.far, item.key);
            }
            grid_barrier(&control->barrier);
        }
        link_part(part, count, minima, parent, marks);
        grid_barrier(&control->barrier);
        count = keep_part(part, count, minima, parent);
        if (__syncthreads_or(count > 0) && threadIdx.x == 0) {
            control->alive[round % 3] = 1;
        }
        grid_barrier(&control->barrier);
        if (control->alive[round % 3] == 0) {
            return;
        }
    }
}
