/* `advance` in the order of tiles (gpu/tiles/tiles.cu): a block holds in shared memory what captured arrays have for the
   heads of a tile, and its warps stream the tile's arcs. In front of this file stands what arcs.cuh needs, and:

   TILE_BITS                a tile has 2^TILE_BITS heads
   HELD_ARRAYS(DO)          DO(name, type, bytes of a head in the arrays before) for each array that is held
   CHANGED_ARRAYS(DO)       DO(name, update) for those of them that `edge` updates
   HELD_BYTES               of a head, in all arrays
   TILE_THREADS             threads of a block
   TAKES_ROW, CAN_FAIL      whether `edge` takes `row` or `own`, and whether it can fail

   Updates are made in the block's copy; when the block leaves the tile, the copy updates the array. An entry has then changed
   if and only if an update of some copy returned true. What `edge` returns is combined over the arcs of a segment, a row's
   arcs in the tile, and the result is combined into the row's total by an atomic operation; so the order is free. Totals
   begin before (begin_rows), and rows end behind (end_rows of rows.cuh).

   Sources: Zhang, Kiriansky, Mendis, Amarasinghe, Zaharia, Making Caches Work for Graph Analytics (2017); Beamer, Asanovic,
   Patterson, Reducing Pagerank Communication via Propagation Blocking (IPDPS 2017). */
#include "library/operators/gpu/tiles/chunk.cuh"

/* Report a failure, for which the row and the number of the arc are searched, unless a smaller one is known. */
__device__ __forceinline__ void report_found(
    const Sweep& sweep, Failure failure, int64_t row, ROW neighbour, WEIGHT weight) {
    volatile int64_t* const kept = failure.record;
    failure.row = row;
    const int64_t launch = kept[LAUNCH], smallest = kept[ROW_FAILED], known = kept[ARC_FAILED];
    if (launch != 0 && (launch < failure.launch || smallest < row)) {
        return;
    }
    int64_t end = sweep.offsets[row + 1];
    end = launch != 0 && smallest == row && known >= 0 && known < end ? known : end;
    for (int64_t arc = sweep.offsets[row]; arc < end; ++arc) {
        if (sweep.indices[arc] == neighbour && (!READS_WEIGHTS || sweep.weights[arc] == weight)) {
            report(failure, 1, arc);
            return;
        }
    }
}

/* Call `edge` for a lane's arcs. The results of the segments that end in them are written to `staged`; returned is that of
   the arcs behind. */
template <bool WHOLE>
__device__ __forceinline__ TOTAL visit_lane(
    const Sweep& sweep, const Tiles& tiles, int64_t tile, int64_t first_segment, const Lane& mine, TOTAL* staged) {
    Sweep here = sweep;
    TOTAL total = sweep.start;
    const ROW* rows = tiles.rows + first_segment; /* of the arc's segment on */
    uint32_t active = mine.active;
    Failure first_failure = no_failure(sweep.record, sweep.launch, -1);
    const ROW* failed_row = rows;
    ROW failed_head = 0;
    WEIGHT failed_weight = 0;
    int64_t row = TAKES_ROW && (WHOLE || mine.size > 0) ? *rows : -1;
    OWN own = TAKES_ROW && HAS_BEFORE && row >= 0 ? sweep.owns[row] : (OWN)0;
#pragma unroll
    for (int k = 0; k < LANE_ARCS; ++k) {
        const uint32_t place = (k & 1 ? mine.words[k >> 1] >> 16 : mine.words[k >> 1]) & 0x7fff;
        const uint32_t ends = mine.words[k >> 1] >> (k & 1 ? 31 : 15) & 1;
        if ((WHOLE || k < mine.size) && (INPUT != DENSE || (active & 1) != 0)) {
            const ROW head = (ROW)(tile + place);
            const WEIGHT weight = READS_WEIGHTS ? weight_of(mine.weights, k, (WEIGHT)0) : (WEIGHT)1;
            Failure failure = no_failure(sweep.record, sweep.launch, row);
            here.functions.edge_.place = place;
            const TOTAL value = call_edge(here, row, -1, -1, head, weight, own, failure);
            total = HOW ? combine(total, value) : total;
            if (CAN_FAIL && failure.site > 0) { /* later arcs have greater rows, or greater numbers */
                first_failure = failure;
                failed_row = rows;
                failed_head = head;
                failed_weight = weight;
                break;
            }
        }
        if (HOW) {
            if (ends) {
                *staged = total;
                total = sweep.start;
            }
            staged += ends;
        }
        if (NEEDS_SEGMENTS) {
            active >>= ends;
            rows += ends;
        }
        if (TAKES_ROW && ends && k + 1 < LANE_ARCS && (WHOLE || k + 1 < mine.size)) {
            row = *rows;
            own = HAS_BEFORE ? sweep.owns[row] : (OWN)0;
        }
    }
    if (CAN_FAIL && first_failure.site > 0) {
        report_found(sweep, first_failure, *failed_row, failed_head, failed_weight);
    }
    return total;
}

/* What a lane needs for the round that begins at `round`, of which it has the words. The first segment is `segment`. */
__device__ __forceinline__ void begin_round(
    const Sweep& sweep, const Tiles& tiles, const Task& task, const uint32_t* activity, int round, int segment, Lane& mine) {
    const int lane = threadIdx.x & 31, at = round + lane * LANE_ARCS;
    mine.size = task.count - at;
    mine.marks = mine.before = mine.ends = 0;
    mine.segment = segment;
    mine.active = FULL_WARP;
    if (NEEDS_SEGMENTS) {
        mine.marks = marks_of(mine.words);
        mine.before = sum_up_to_lane(mine.marks) - mine.marks;
        mine.ends = __shfl_sync(FULL_WARP, mine.before + mine.marks, 31);
    }
    if (INPUT == DENSE) {
        const int bit = segment + mine.before, word = bit >> 5;
        const uint64_t two = (uint64_t)activity[word + 1] << 32 | activity[word];
        mine.active = (uint32_t)(two >> (bit & 31)) & ((2u << mine.marks) - 1);
    }
    if (AHEAD && mine.size > 0 && mine.active != 0) {
        load_weights(tiles.weights + task.first_arc + at, mine.weights);
    }
#pragma unroll
    for (int k = 0; HOW && k < ROWS_AHEAD; ++k) {
        const int place = lane + 32 * k;
        mine.rows[k] = place < mine.ends ? __ldg(tiles.rows + task.first_segment + segment + place) : 0;
    }
}

/* Visit the arcs of a chunk: a warp takes TILE_ROUND of them at a time, and a lane eight that follow each other. What a round
   reads is on its way while the round before is visited. */
__device__ __forceinline__ void visit_task(
    const Sweep& sweep, const Tiles& tiles, const Task& task, TOTAL* staged, uint32_t* activity) {
    const int lane = threadIdx.x & 31, count = task.count;
    const int64_t tile = task.tile * TILE;
    const uint32_t* const arcs = (const uint32_t*)(tiles.arcs + task.first_arc);
    Lane mine;
    uint32_t coming[4];
    load_round(arcs, lane * LANE_ARCS, count, mine.words);
    load_round(arcs, lane * LANE_ARCS + TILE_ROUND, count, coming);
    if (INPUT == DENSE && !find_active(sweep, tiles.rows + task.first_segment, task.num_segments, activity)) {
        return;
    }
    begin_round(sweep, tiles, task, activity, 0, 0, mine);
#if HOW
    TOTAL carry = sweep.start;
#endif
    for (int round = 0; round < count; round += TILE_ROUND) {
        Lane next;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            next.words[k] = coming[k];
        }
        const int at = round + lane * LANE_ARCS;
        load_round(arcs, at + 2 * TILE_ROUND, count, coming);
        begin_round(sweep, tiles, task, activity, round + TILE_ROUND, mine.segment + mine.ends, next);
        if (!AHEAD && READS_WEIGHTS && mine.size > 0 && mine.active != 0) {
            load_weights(tiles.weights + task.first_arc + at, mine.weights);
        }
        const int64_t segment = task.first_segment + mine.segment + mine.before;
        const bool whole = round + TILE_ROUND <= count;
        TOTAL rest = whole ? visit_lane<true>(sweep, tiles, tile, segment, mine, staged + mine.before)
                           : visit_lane<false>(sweep, tiles, tile, segment, mine, staged + mine.before);
#if HOW
        __syncwarp();
        const uint32_t marked = __ballot_sync(FULL_WARP, mine.marks > 0), lanes_before = (1u << lane) - 1;
        rest = combine_open(rest, marked & (lanes_before << 1 | 1));
        const TOTAL previous = __shfl_up_sync(FULL_WARP, rest, 1);
        if (mine.marks > 0) {
            const TOTAL earlier = lane ? previous : sweep.start;
            staged[mine.before] = combine(marked & lanes_before ? earlier : combine(carry, earlier), staged[mine.before]);
        }
        rest = __shfl_sync(FULL_WARP, rest, 31);
        carry = marked ? rest : combine(carry, rest);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < ROWS_AHEAD; ++k) {
            if (lane + 32 * k < mine.ends) {
                fold_in(sweep.totals + mine.rows[k], staged[lane + 32 * k]);
            }
        }
        for (int place = lane + 32 * ROWS_AHEAD; place < mine.ends; place += 32) {
            fold_in(sweep.totals + tiles.rows[task.first_segment + mine.segment + place], staged[place]);
        }
        __syncwarp();
#endif
        mine = next;
    }
    __syncwarp(); /* before the next chunk changes `activity` */
}

template <typename Entry>
__device__ __forceinline__ void copy_tile(Entry* to, const Entry* from, int size) {
#pragma unroll 8
    for (int head = threadIdx.x; head < size; head += TILE_THREADS) {
        to[head] = from[head];
    }
}

/* Blocks take jobs one after the other: chunks of one tile, which the block's warps take one after the other. */
extern "C" __global__ void __launch_bounds__(TILE_THREADS, 1) sweep_tiles(
    SWEEP_PARAMETERS, const Task* tasks, const int64_t* jobs, int64_t num_jobs, const uint16_t* arcs, const WEIGHT* tile_weights,
    const ROW* segment_rows, uint64_t* jobs_taken, int64_t num_rows CAPTURED_PARAMETERS) {
    SWEEP_VALUES
    const Tiles tiles{tasks, jobs, num_jobs, arcs, tile_weights, segment_rows, jobs_taken, num_rows};
    extern __shared__ int64_t memory[];
    __shared__ int64_t job;
    __shared__ unsigned taken;
    char* const copies = (char*)memory;
    const int warp = threadIdx.x >> 5;
    TOTAL* const all_staged = (TOTAL*)(copies + HELD_BYTES * TILE);
    TOTAL* const staged = all_staged + (HOW ? warp * TILE_ROUND : 0);
    uint32_t* const activity = (uint32_t*)(all_staged + (HOW ? TILE_THREADS / 32 * TILE_ROUND : 0)) + warp * ACTIVITY_WORDS;
#define PLACE(name, type, bytes) sweep.functions.edge_.held_##name = (type*)(copies + (bytes) * TILE);
    HELD_ARRAYS(PLACE)
    int64_t tile = -1, first_head = 0; /* of what the block holds */
    int heads = 0;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            job = (int64_t)atomicAdd(jobs_taken, (uint64_t)1);
            taken = 0;
        }
        __syncthreads();
        const int64_t first = job < num_jobs ? jobs[job] : -1, end = first < 0 ? -1 : jobs[job + 1];
        const int64_t next = first < 0 ? -1 : tasks[first].tile;
        if (next != tile) {
#define MERGE(name, update)                                                                                   \
    for (int head = threadIdx.x; head < heads; head += TILE_THREADS) {                                        \
        update(&sweep.functions.edge_.a_##name[first_head + head], sweep.functions.edge_.held_##name[head]);        \
    }
            CHANGED_ARRAYS(MERGE)
            __syncthreads();
            tile = next;
            first_head = tile * TILE;
            heads = tile < 0 ? 0 : (int)min((int64_t)TILE, num_rows - first_head);
#define COPY(name, type, bytes) \
    copy_tile(sweep.functions.edge_.held_##name, sweep.functions.edge_.a_##name + first_head, heads);
            HELD_ARRAYS(COPY)
            __syncthreads();
        }
        if (first < 0) {
            return;
        }
        for (;;) {
            const int64_t place = next_task(first, &taken);
            if (place >= end) {
                break;
            }
            visit_task(sweep, tiles, tasks[place], staged, activity);
        }
    }
}
