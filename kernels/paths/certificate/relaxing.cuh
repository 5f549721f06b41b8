/* Visitors of `walk_arcs` that find loose arcs, and tight arcs from strictly nearer rows. */
#pragma once

#include "certificate/arcs.cuh"
#include "paths/certificate/lengths.cuh"

/* Visitor of in-arcs: the row is an arc's head. */
template <typename Distances>
struct Relaxing {
    Distances distance;
    Sides into;
    const ROW* __restrict__ positions;
    ROW* nearest;
    bool loose;
    ROW found;

    struct Loaded {
        WEIGHT weight;
        SUM near;
    };

    __device__ __forceinline__ bool skips(int64_t) const {
        return false;
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t arc, ROW tail) const {
        return {into.weight(arc), distance(tail)};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW tail, const Loaded& seen, bool active) {
        bool tight = false;
        if (active) {
            const SUM far = distance(row);
            loose |= is_loose(seen.near, seen.weight, far, &tight);
            tight = tight && seen.near < far;
        }
        const uint32_t all = __ballot_sync(FULL_WARP, tight);
        if (all == 0) {
            return;
        }
        const uint32_t before = all & ((1u << (threadIdx.x & 31)) - 1);
        const ROW row_before = __shfl_sync(FULL_WARP, (ROW)row, before == 0 ? 0 : 31 - __clz(before));
        if (tight && (ROW)row != found && (before == 0 || row_before != (ROW)row)) {
            atomicMin(&nearest[row], positions[tail]);
        }
        found = __shfl_sync(FULL_WARP, (ROW)row, 31 - __clz(all));
    }
};

/* Visitor of out-arcs: the row is an arc's tail. */
struct Loosening {
    Wide distance;
    Sides out;
    int64_t num_arcs;
    unsigned long long* first;

    struct Loaded {
        SUM far;
        WEIGHT weight;
    };

    __device__ __forceinline__ bool skips(int64_t row) const {
        return !(distance(row) >= 0);
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t arc, ROW head) const {
        return {distance(head), out.weight(arc)};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t arc, ROW, const Loaded& seen, bool active) {
        bool tight;
        if (active && is_loose(distance(row), seen.weight, seen.far, &tight)) {
            note_first(first, num_arcs, arc);
        }
    }
};
