/* A sweep over rows and their arcs: what happens for a row, and for an arc. arcs.cuh divides the work, and lists the macros. */
#pragma once
#include "library/operators/gpu/frontiers.cuh"
#include "library/operators/gpu/headers/orders.cuh"

struct Sweep {
    const ROW* listed; /* rows of group g from starts[g] on; there are counts[g] */
    const int64_t *starts, *counts;
    const uint32_t* active;
    const int64_t* offsets;
    const ROW* indices;
    const WEIGHT* weights;
    const int64_t* degrees; /* offsets of all arcs of a row, of which `offsets` may have a part */
    OWN* hub_owns;
    TOTAL* hub_parts; /* of the chunks of hubs: chunk c of a row at offsets[row] / (CHUNK / 2) + c */
    OWN* owns;
    TOTAL* totals;
    TOTAL start;
    int64_t turn, turns; /* part of the arcs that is visited, and number of parts */
    int64_t round;       /* of `repeat_advance`; otherwise 1 */
    Found found;
    int64_t* record;
    int64_t launch;
    Functions functions;
};

#define SWEEP_PARAMETERS                                                                                                    \
    const ROW *listed, const int64_t *bounds, const uint32_t *active, const int64_t *offsets, const ROW *indices,           \
        const WEIGHT *weights, const int64_t *degrees, OWN *hub_owns, TOTAL *hub_parts, OWN *owns, TOTAL *totals, TOTAL start, \
        int64_t turn, int64_t turns, uint32_t *bits, ROW *queue, int64_t capacity, uint64_t *size, int64_t *record, int64_t launch
#define SWEEP_VALUES                                                                                                         \
    CAPTURED_VALUES                                                                                                          \
    Sweep sweep{listed, bounds, bounds + GROUPS, active, offsets, indices, weights, degrees, hub_owns, hub_parts, owns, \
                      totals, start, turn, turns, 1, Found{bits, queue, capacity, size, capacity < 0}, record, launch, functions};

__device__ __forceinline__ int64_t degree_of(const Sweep& sweep, int64_t row) {
    return sweep.offsets[row + 1] - sweep.offsets[row];
}

#if INPUT == SPARSE && !REPEATS
/* Divide a list of at most THREADS rows by their degrees, as `divide` does; every block does so, in the same order. */
__device__ __forceinline__ void divide_few(Sweep& sweep, int64_t size) {
    __shared__ ROW listed[GROUPS * THREADS];
    __shared__ int64_t starts[GROUPS];
    __shared__ int64_t counts[GROUPS];
    __shared__ int of_warps[GROUPS][THREADS / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const ROW row = threadIdx.x < size ? sweep.listed[threadIdx.x] : 0;
    const int group = threadIdx.x < size ? group_of(degree_of(sweep, row)) : -1;
    int place = 0;
    for (int each = 0; each < GROUPS; ++each) {
        const uint32_t lanes = __ballot_sync(FULL_WARP, group == each);
        place = group == each ? __popc(lanes & ((1u << lane) - 1)) : place;
        if (lane == 0) {
            of_warps[each][warp] = __popc(lanes);
        }
    }
    __syncthreads();
    for (int before = 0; group >= 0 && before < warp; ++before) {
        place += of_warps[group][before];
    }
    if (group >= 0) {
        listed[group * THREADS + place] = row;
    }
    if (threadIdx.x < GROUPS) {
        int64_t count = 0;
        for (int each = 0; each < THREADS / 32; ++each) {
            count += of_warps[threadIdx.x][each];
        }
        starts[threadIdx.x] = threadIdx.x * THREADS;
        counts[threadIdx.x] = count;
    }
    __syncthreads();
    sweep.listed = listed;
    sweep.starts = starts;
    sweep.counts = counts;
}
#endif

__device__ __forceinline__ bool takes_part(const Sweep& sweep, int64_t row) {
    return INPUT != DENSE || has_bit(sweep.active, row);
}

/* What `before` returns; called once for a row. */
__device__ __forceinline__ OWN begin_row(const Sweep& sweep, int64_t row) {
#if HAS_BEFORE
    if (sweep.turn > 0) {
        return sweep.owns[row];
    }
    Failure failure = no_failure(sweep.record, sweep.launch, row);
    const OWN own = before::call(row, sweep.degrees[row + 1] - sweep.degrees[row], sweep.round, sweep.functions.before_, failure);
    settle(failure, 0, -1);
    if (sweep.turns > 1) {
        sweep.owns[row] = own;
    }
    return own;
#else
    return 0;
#endif
}

__device__ __forceinline__ TOTAL start_of(const Sweep& sweep, int64_t row) {
    return HOW && sweep.turn > 0 ? sweep.totals[row] : sweep.start;
}

/* Called once for a row, by one thread. */
__device__ __forceinline__ void end_row(const Sweep& sweep, int64_t row, TOTAL total, OWN own) {
    if (sweep.turn < sweep.turns - 1) {
        if (HOW) {
            sweep.totals[row] = total;
        }
        return;
    }
#if HAS_AFTER
    Failure failure = no_failure(sweep.record, sweep.launch, row);
    const int64_t degree = sweep.degrees[row + 1] - sweep.degrees[row];
    const bool enters = after::call(row, degree, total, own, sweep.round, sweep.functions.after_, failure);
    settle(failure, 2, -1);
    if (AFTER_FINDS && enters) {
        enter(sweep.found, row);
    }
#endif
}

/* Call `edge` for an arc that has been read; its failure is reported by the caller. */
__device__ __forceinline__ TOTAL call_edge(
    const Sweep& sweep, int64_t row, int64_t arc, int64_t place, ROW neighbour, WEIGHT weight, OWN own, Failure& failure) {
    const auto value = edge::call(row, neighbour, weight, arc, place, own, sweep.round, sweep.functions.edge_, failure);
    if (EDGE_FINDS && value) {
        enter(sweep.found, neighbour);
    }
    return (TOTAL)value;
}

/* Visit ARC_BATCH arcs of one row, of which the heads and weights have been read, and combine what they give in their order.
   `step` is the distance of their places. The calls come before the reports, so that what they read is on its way at the same
   time. */
__device__ __forceinline__ TOTAL visit_batch(
    const Sweep& sweep, int64_t row, int64_t first, int64_t place, int step, const ROW* neighbours, const WEIGHT* weights,
    OWN own, TOTAL total) {
    Failure failures[ARC_BATCH];
    TOTAL values[ARC_BATCH];
#pragma unroll
    for (int k = 0; k < ARC_BATCH; ++k) {
        failures[k] = no_failure(sweep.record, sweep.launch, row);
        const int64_t at = place + k * step;
        values[k] = call_edge(sweep, row, first + at, at, neighbours[k], weights[k], own, failures[k]);
    }
    int failed_at = -1; /* the first one that failed, which has the smallest arc */
#pragma unroll
    for (int k = 0; k < ARC_BATCH; ++k) {
        failed_at = failed_at < 0 && failures[k].site > 0 ? k : failed_at;
        total = HOW ? combine(total, values[k]) : total;
    }
    if (failed_at >= 0) {
        report(chosen(failures, failed_at), 1, first + place + failed_at * step);
    }
    return total;
}

__device__ __forceinline__ TOTAL visit(const Sweep& sweep, int64_t row, int64_t first, int64_t place, OWN own, Failure& failure) {
    const int64_t arc = first + place;
    const WEIGHT weight = WEIGHTED && HAS_WEIGHTS ? sweep.weights[arc] : (WEIGHT)1;
    return call_edge(sweep, row, arc, place, sweep.indices[arc], weight, own, failure);
}
