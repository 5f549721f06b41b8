/* `collect="first"`: the position of the first arc of a row for which `edge` is true, or -1.

   Most searches end within a few arcs. So where there are many rows a lane tries the first LANE_ARCS arcs of a row alone, and its
   warp the rest. FIRST_BATCH arcs are tried at a time, so that what they read is on its way at the same time; those behind the
   first arc have no effect, because `edge` does not write. */
#pragma once
#include "library/operators/gpu/sweep.cuh"

/* The arcs `place..end-1` of a row, by one thread. Arcs behind the last one repeat it. */
__device__ __forceinline__ int64_t first_of_lane(
    const Sweep& sweep, int64_t row, int64_t first, int64_t place, int64_t end, OWN own, const ROW* indices,
    const WEIGHT* weights, int64_t step) {
    for (; place < end; place += FIRST_BATCH) {
        ROW neighbours[FIRST_BATCH];
        WEIGHT of_arcs[FIRST_BATCH];
        Failure failures[FIRST_BATCH];
        bool holds[FIRST_BATCH];
#pragma unroll
        for (int k = 0; k < FIRST_BATCH; ++k) {
            const int64_t at = place + k < end ? place + k : end - 1;
            neighbours[k] = indices[step * at];
            of_arcs[k] = WEIGHTED && HAS_WEIGHTS ? weights[step * at] : (WEIGHT)1;
        }
#pragma unroll
        for (int k = 0; k < FIRST_BATCH; ++k) {
            const int64_t at = place + k < end ? place + k : end - 1;
            failures[k] = no_failure(sweep.record, sweep.launch, row);
            holds[k] = call_edge(sweep, row, first + at, at, neighbours[k], of_arcs[k], own, failures[k]) != 0;
        }
#pragma unroll
        for (int k = 0; k < FIRST_BATCH; ++k) {
            const int64_t at = place + k < end ? place + k : end - 1;
            settle(failures[k], 1, first + at);
            if (holds[k]) {
                return first + at;
            }
        }
    }
    return -1;
}

/* The arcs `begin..end-1` of a row, by all lanes of a warp. */
__device__ __forceinline__ int64_t first_of_warp(
    const Sweep& sweep, int64_t row, int64_t first, int64_t begin, int64_t end, OWN own) {
    const int lane = threadIdx.x & 31;
    for (; begin < end; begin += 32 * FIRST_BATCH) {
        Failure failures[FIRST_BATCH];
        bool holds[FIRST_BATCH];
#pragma unroll
        for (int k = 0; k < FIRST_BATCH; ++k) {
            const int64_t place = begin + 32 * k + lane, at = place < end ? place : end - 1;
            failures[k] = no_failure(sweep.record, sweep.launch, row);
            holds[k] = visit(sweep, row, first, at, own, failures[k]) != 0;
        }
#pragma unroll
        for (int k = 0; k < FIRST_BATCH; ++k) {
            const int64_t place = begin + 32 * k + lane;
            const uint32_t holding = __ballot_sync(FULL_WARP, holds[k] && place < end);
            if (place < end && (!holding || lane < __ffs((int)holding) - 1)) {
                settle(failures[k], 1, first + place);
            }
            __syncwarp();
            if (holding) {
                return first + begin + 32 * k + __ffs((int)holding) - 1;
            }
        }
    }
    return -1;
}

/* The rows of a group: a lane for each, or a warp if there are fewer rows than warps. */
__device__ __forceinline__ void visit_first(const Sweep& sweep, int group) {
    const int lane = threadIdx.x & 31;
    const int64_t count = sweep.counts[group], warps = num_threads() >> 5;
    const int rows = count <= warps ? 1 : 32; /* of a warp at a time */
    for (int64_t begin = (global_thread() >> 5) * rows; begin < count; begin += warps * rows) {
        const bool listed = lane < rows && begin + lane < count;
        const int64_t row = listed ? sweep.listed[sweep.starts[group] + begin + lane] : 0;
        const bool valid = listed && takes_part(sweep, row);
        const OWN own = valid ? begin_row(sweep, row) : 0;
        const int64_t first = valid ? sweep.offsets[row] : 0, degree = valid ? sweep.offsets[row + 1] - first : 0;
        const int64_t alone = rows == 1 ? 0 : degree < LANE_ARCS ? degree : LANE_ARCS;
        int64_t total = first_of_lane(sweep, row, first, 0, alone, own, sweep.indices + first, sweep.weights + first, 1);
        __syncwarp();
        for (uint32_t left = __ballot_sync(FULL_WARP, total < 0 && alone < degree); left; left &= left - 1) {
            const int of = __ffs((int)left) - 1;
            const int64_t found = first_of_warp(
                sweep, __shfl_sync(FULL_WARP, row, of), __shfl_sync(FULL_WARP, first, of), __shfl_sync(FULL_WARP, alone, of),
                __shfl_sync(FULL_WARP, degree, of), __shfl_sync(FULL_WARP, own, of));
            total = lane == of ? found : total;
        }
        if (valid) {
            end_row(sweep, row, total, own);
        }
        __syncwarp();
    }
}
