/* `advance`: user functions for the arcs of a frontier's rows. The generated text in front of this file defines `edge::call`,
   perhaps `before::call` and `after::call`, the struct Functions, and:

   OWN, TOTAL        types of what `before` returns, and of what is collected
   HOW               how it is collected (orders.cuh), 0 if it is not
   HAS_BEFORE, HAS_AFTER, HAS_WEIGHTS, EDGE_FINDS, AFTER_FINDS

   Rows are divided by their degrees. All warps of the grid share a hub; other rows of BLOCK_DEGREE arcs or more take a block, and
   rows of WARP_DEGREE or more a warp. Shorter rows of a list take TEAM_LANES lanes each; those of all rows, or of flags, are
   lanes of the vector extension, of which a warp reads arc k of 32 rows as one line.

   Source: Afanasyev, Vector Graph Library (2020); Merrill, Garland, Grimshaw, Scalable GPU Graph Traversal (PPoPP 2012). */
#include "library/operators/gpu/tiles/rows.cuh"
#if HOW == FIRST_OF
#include "library/operators/gpu/headers/first.cuh"
#endif

/* Visit the arcs `begin..end-1` of a row, 32 at a time, and combine what they give; all lanes of a warp call it. */
__device__ __forceinline__ TOTAL visit_chunk(const Sweep& sweep, int64_t row, int64_t begin, int64_t end, OWN own) {
    const int64_t first = sweep.offsets[row];
    TOTAL part = sweep.start;
    int64_t place = begin + (threadIdx.x & 31);
    for (; place + 32 * (ARC_BATCH - 1) < end; place += 32 * ARC_BATCH) {
        ROW neighbours[ARC_BATCH];
        WEIGHT weights[ARC_BATCH];
#pragma unroll
        for (int k = 0; k < ARC_BATCH; ++k) {
            neighbours[k] = __ldcs(sweep.indices + first + place + 32 * k);
            weights[k] = WEIGHTED && HAS_WEIGHTS ? __ldcs(sweep.weights + first + place + 32 * k) : (WEIGHT)1;
        }
        part = visit_batch(sweep, row, first, place, 32, neighbours, weights, own, part);
    }
    for (; place < end; place += 32) {
        Failure failure = no_failure(sweep.record, sweep.launch, row);
        const TOTAL value = visit(sweep, row, first, place, own, failure);
        settle(failure, 1, first + place);
        part = HOW ? combine(part, value) : part;
    }
    __syncwarp();
    return HOW ? combine_lanes(part) : part;
}

#if HOW != FIRST_OF
/* Rows of a warp each. */
__device__ __forceinline__ void visit_by_warps(const Sweep& sweep, int group) {
    const int lane = threadIdx.x & 31;
    for (int64_t item = global_thread() >> 5; item < sweep.counts[group]; item += num_threads() >> 5) {
        const int64_t row = sweep.listed[sweep.starts[group] + item];
        if (!takes_part(sweep, row)) {
            continue;
        }
        OWN own = lane == 0 ? begin_row(sweep, row) : 0;
        own = __shfl_sync(FULL_WARP, own, 0);
        const int64_t degree = degree_of(sweep, row);
        TOTAL total = start_of(sweep, row);
        for (int64_t begin = 0; begin < degree; begin += CHUNK) {
            const TOTAL part = visit_chunk(sweep, row, begin, degree < begin + CHUNK ? degree : begin + CHUNK, own);
            total = HOW ? combine(total, part) : part;
        }
        if (lane == 0) {
            end_row(sweep, row, total, own);
        }
    }
}

__device__ __forceinline__ void visit_by_blocks(const Sweep& sweep) {
    __shared__ TOTAL parts[HUB_DEGREE / CHUNK];
    __shared__ OWN own_of_row;
    for (int64_t item = blockIdx.x; item < sweep.counts[BLOCK_ROWS]; item += gridDim.x) {
        const int64_t row = sweep.listed[sweep.starts[BLOCK_ROWS] + item];
        if (!takes_part(sweep, row)) {
            continue;
        }
        if (threadIdx.x == 0) {
            own_of_row = begin_row(sweep, row);
        }
        __syncthreads();
        const OWN own = own_of_row;
        const int64_t degree = degree_of(sweep, row), chunks = (degree + CHUNK - 1) / CHUNK;
        for (int64_t chunk = threadIdx.x >> 5; chunk < chunks; chunk += blockDim.x >> 5) {
            const int64_t end = (chunk + 1) * CHUNK;
            const TOTAL part = visit_chunk(sweep, row, chunk * CHUNK, degree < end ? degree : end, own);
            if (HOW && (threadIdx.x & 31) == 0) {
                parts[chunk] = part;
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            TOTAL total = start_of(sweep, row);
            for (int64_t chunk = 0; HOW && chunk < chunks; ++chunk) {
                total = combine(total, parts[chunk]);
            }
            end_row(sweep, row, total, own);
        }
        __syncthreads();
    }
}

__device__ __forceinline__ void visit_hubs(const Sweep& sweep) {
    const int64_t warps = num_threads() >> 5, warp = global_thread() >> 5;
    const int64_t size = REPEATS && !HOW ? PIECE : CHUNK; /* sums have an order, and rounds end when their last chunk ends */
    int64_t before_row = 0;                               /* chunks, so that the warps take the chunks of all hubs in turn */
    for (int64_t item = 0; item < sweep.counts[HUBS]; ++item) {
        const int64_t row = sweep.listed[sweep.starts[HUBS] + item];
        if (!takes_part(sweep, row)) {
            continue;
        }
        const int64_t degree = degree_of(sweep, row), chunks = (degree + size - 1) / size;
        const OWN own = HAS_BEFORE ? sweep.hub_owns[item] : 0;
        for (int64_t chunk = (warp + warps - before_row % warps) % warps; chunk < chunks; chunk += warps) {
            const int64_t end = (chunk + 1) * size;
            const TOTAL part = visit_chunk(sweep, row, chunk * size, degree < end ? degree : end, own);
            if (HOW && (threadIdx.x & 31) == 0) {
                sweep.hub_parts[sweep.offsets[row] / (CHUNK / 2) + chunk] = part;
            }
        }
        before_row += chunks;
    }
}

/* Short rows of a list: a team of lanes for each. */
__device__ __forceinline__ void visit_by_teams(const Sweep& sweep) {
    const int lane = threadIdx.x & 31, of_team = lane & (TEAM_LANES - 1);
    const int64_t count = sweep.counts[SHORT_ROWS], teams = num_threads() / TEAM_LANES;
    for (int64_t begin = (global_thread() - lane) / TEAM_LANES; begin < count; begin += teams) {
        const int64_t item = begin + lane / TEAM_LANES;
        const bool valid = item < count;
        const int64_t row = valid ? sweep.listed[sweep.starts[SHORT_ROWS] + item] : 0;
        OWN own = valid && of_team == 0 ? begin_row(sweep, row) : 0;
        own = __shfl_sync(FULL_WARP, own, 0, TEAM_LANES);
        const int64_t degree = valid ? degree_of(sweep, row) : 0;
        TOTAL total = sweep.start;
        for (int64_t first = 0; __any_sync(FULL_WARP, first < degree); first += TEAM_LANES) {
            const int64_t place = first + of_team;
            TOTAL value = sweep.start;
            if (place < degree) {
                Failure failure = no_failure(sweep.record, sweep.launch, row);
                value = visit(sweep, row, sweep.offsets[row], place, own, failure);
                settle(failure, 1, sweep.offsets[row] + place);
            }
            __syncwarp();
            for (int k = 0; HOW && k < TEAM_LANES; ++k) {
                const TOTAL part = __shfl_sync(FULL_WARP, value, k, TEAM_LANES);
                total = first + k < degree ? combine(total, part) : total;
            }
        }
        if (valid && of_team == 0) {
            end_row(sweep, row, total, own);
        }
    }
}
#endif

/* Short rows of all rows or of flags: the lanes of the vector extension. */
__device__ __forceinline__ void visit_lanes(
    const Sweep& sweep, const int64_t* segments, const ROW* lane_indices, const WEIGHT* lane_weights, int64_t first_lane,
    int64_t num_rows) {
    const int lane = threadIdx.x & 31;
    for (int64_t segment = global_thread() >> 5; first_lane + 32 * segment < num_rows; segment += num_threads() >> 5) {
        const int64_t row = first_lane + 32 * segment + lane;
        if (row >= num_rows || !takes_part(sweep, row)) {
            continue;
        }
        const int64_t degree = degree_of(sweep, row);
        if (degree >= WARP_DEGREE) {
            continue;
        }
        const OWN own = begin_row(sweep, row);
        TOTAL total = start_of(sweep, row);
        const int64_t slots = segments[segment] + lane, first = sweep.offsets[row];
#if HOW == FIRST_OF
        total = first_of_lane(sweep, row, first, 0, degree, own, lane_indices + slots, lane_weights + slots, 32);
#else
        int k = 0;
        for (; k + ARC_BATCH <= degree; k += ARC_BATCH) {
            ROW neighbours[ARC_BATCH];
            WEIGHT weights[ARC_BATCH];
#pragma unroll
            for (int more = 0; more < ARC_BATCH; ++more) {
                neighbours[more] = __ldcs(lane_indices + slots + 32 * (k + more));
                weights[more] = WEIGHTED && HAS_WEIGHTS ? __ldcs(lane_weights + slots + 32 * (k + more)) : (WEIGHT)1;
            }
            total = visit_batch(sweep, row, first, k, 1, neighbours, weights, own, total);
        }
        for (; k < degree; ++k) {
            const ROW neighbour = lane_indices[slots + 32 * k];
            const WEIGHT weight = WEIGHTED && HAS_WEIGHTS ? lane_weights[slots + 32 * k] : (WEIGHT)1;
            Failure failure = no_failure(sweep.record, sweep.launch, row);
            const TOTAL value = call_edge(sweep, row, first + k, k, neighbour, weight, own, failure);
            settle(failure, 1, first + k);
            total = HOW ? combine(total, value) : total;
        }
#endif
        end_row(sweep, row, total, own);
    }
}

/* Rows of 32 arcs or more. */
__device__ __forceinline__ void visit_wide(const Sweep& sweep) {
#if HOW == FIRST_OF
    visit_first(sweep, HUBS);
    visit_first(sweep, BLOCK_ROWS);
    visit_first(sweep, WARP_ROWS);
#else
    visit_hubs(sweep);
    visit_by_blocks(sweep);
    visit_by_warps(sweep, WARP_ROWS);
#endif
}

/* Short rows of a list. */
__device__ __forceinline__ void visit_short(const Sweep& sweep) {
#if HOW == FIRST_OF
    visit_first(sweep, SHORT_ROWS);
#else
    visit_by_teams(sweep);
#endif
}

#if HOW != FIRST_OF
/* What hubs do once: before their arcs ... */
__device__ __forceinline__ void begin_hub_rows(const Sweep& sweep) {
    for (int64_t item = global_thread(); item < sweep.counts[HUBS]; item += num_threads()) {
        const int64_t row = sweep.listed[sweep.starts[HUBS] + item];
        if (takes_part(sweep, row)) {
            sweep.hub_owns[item] = begin_row(sweep, row);
        }
    }
}

/* ... and behind them: a warp combines the chunks' results in their order. */
__device__ __forceinline__ void end_hub_rows(const Sweep& sweep) {
    const int lane = threadIdx.x & 31;
    for (int64_t item = global_thread() >> 5; item < sweep.counts[HUBS]; item += num_threads() >> 5) {
        const int64_t row = sweep.listed[sweep.starts[HUBS] + item];
        if (!takes_part(sweep, row)) {
            continue;
        }
        TOTAL total = start_of(sweep, row);
        const int64_t chunks = (degree_of(sweep, row) + CHUNK - 1) / CHUNK, place = sweep.offsets[row] / (CHUNK / 2);
        for (int64_t begin = 0; HOW && begin < chunks; begin += 32) {
            const TOTAL of_lane = begin + lane < chunks ? sweep.hub_parts[place + begin + lane] : sweep.start;
            for (int k = 0; k < 32 && begin + k < chunks; ++k) {
                total = combine(total, __shfl_sync(FULL_WARP, of_lane, k));
            }
        }
        if (lane == 0) {
            end_row(sweep, row, total, HAS_BEFORE ? sweep.hub_owns[item] : 0);
        }
    }
}
#endif

#if !REPEATS
extern "C" __global__ void __launch_bounds__(THREADS, 4) sweep_arcs(
    SWEEP_PARAMETERS, const int64_t* segments, const ROW* lane_indices, const WEIGHT* lane_weights, int64_t first_lane,
    int64_t num_rows CAPTURED_PARAMETERS) {
    SWEEP_VALUES
#if INPUT == SPARSE
    if (bounds == 0) {
        divide_few(sweep, num_rows); /* of the list */
    }
    visit_wide(sweep);
    visit_short(sweep);
#else
    visit_wide(sweep);
    visit_lanes(sweep, segments, lane_indices, lane_weights, first_lane, num_rows);
#endif
}

#if HOW != FIRST_OF
extern "C" __global__ void __launch_bounds__(THREADS) begin_hubs(SWEEP_PARAMETERS CAPTURED_PARAMETERS) {
    SWEEP_VALUES
    begin_hub_rows(sweep);
}

extern "C" __global__ void __launch_bounds__(THREADS) end_hubs(SWEEP_PARAMETERS CAPTURED_PARAMETERS) {
    SWEEP_VALUES
    end_hub_rows(sweep);
}
#endif
#endif
