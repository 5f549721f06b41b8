/* `repeat_advance`: rounds of `advance` over lists, each over the rows that the round before found, in one cooperative launch.

   Rows are put into a list for each group of degrees as they are found, so a round of rows without hubs costs one barrier. Rounds
   use two lists and two sets of bits in turn, and three slots of counts: those of the frontier, of what is found, and of the next
   round, which are set to zero meanwhile. A failed call ends the search one round later, so that all blocks agree on it.

   A round of many arcs sets bits only, and its rows are listed behind another barrier (headers/lists.cuh).

   A round lasts as long as its slowest warp. So where nothing is collected, rows of 32 arcs or more are divided into pieces of
   PIECE arcs, which the warps of a block, or all warps for hubs, take in turn, unless each warp has MANY_ROWS rows.

   The generated text in front of this file is that of arcs.cuh, and LIMITED: whether rows and arcs of a round are counted. INPUT
   is SPARSE.

   Source: Merrill, Garland, Grimshaw, Scalable GPU Graph Traversal (PPoPP 2012). */
#include "library/operators/gpu/arcs.cuh"
#include "library/operators/gpu/headers/lists.cuh"

struct Slot {
    int64_t counts[GROUPS];
    int64_t work; /* rows and arcs, if LIMITED; stands where Found expects it */
    int64_t failed;
};
struct Control {
    Slot slots[3];
    uint64_t barrier;
};
static_assert(sizeof(Control) == CONTROL_WORDS * 8, "CONTROL_WORDS is wrong");

#if !HOW
/* Rows of one group or two: a block takes up to 32 of them at a time, and its warps their pieces. */
__device__ __forceinline__ void visit_in_pieces(const Sweep& sweep, int last_group) {
    __shared__ int64_t rows[32];
    __shared__ OWN owns[32];
    __shared__ int ends[32]; /* number of pieces of each row and those before it */
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int group = BLOCK_ROWS; group <= last_group; ++group) {
        const int64_t count = sweep.counts[group];
        const int64_t batch = count < 32 * gridDim.x ? ((uint32_t)count + gridDim.x - 1) / gridDim.x : 32;
        for (int64_t begin = blockIdx.x * batch; begin < count; begin += gridDim.x * batch) {
            const bool valid = warp == 0 && lane < batch && begin + lane < count;
            if (warp == 0) {
                const int64_t row = valid ? sweep.listed[sweep.starts[group] + begin + lane] : 0;
                rows[lane] = row;
                owns[lane] = valid ? begin_row(sweep, row) : 0;
                __syncwarp();
                ends[lane] = sum_up_to_lane(valid ? (int)((degree_of(sweep, row) + PIECE - 1) / PIECE) : 0);
            }
            __syncthreads();
            for (int piece = warp; piece < ends[31]; piece += blockDim.x >> 5) {
                const int place = __popc(__ballot_sync(FULL_WARP, ends[lane] <= piece));
                const int64_t row = rows[place], degree = degree_of(sweep, row);
                const int64_t first = (int64_t)(piece - (place ? ends[place - 1] : 0)) * PIECE;
                visit_chunk(sweep, row, first, degree < first + PIECE ? degree : first + PIECE, owns[place]);
            }
            __syncthreads();
            if (HAS_AFTER && valid) {
                end_row(sweep, rows[lane], sweep.start, owns[lane]);
            }
        }
    }
}
#endif

/* Whether a round of these rows may find so many that lists would keep threads waiting. */
__device__ __forceinline__ bool has_many(const int64_t* counts, int64_t num_rows) {
    const int64_t few = TEAM_LANES * counts[SHORT_ROWS] + 2 * WARP_DEGREE * counts[WARP_ROWS];
    const int64_t arcs = few + BLOCK_DEGREE * counts[BLOCK_ROWS] + HUB_DEGREE * counts[HUBS];
    return arcs > MARKED_ARCS && arcs > num_rows / MARKED_SHARE;
}

/* Advance from the `size` rows of `given`, or if they are not listed, those of `given_bits`, until nothing is found, at most
   `most` times, and LIMITED: until a round would have more than `most_work` rows and arcs. `listed` has space for all rows twice,
   `bits` is zero. ended[0] is the number of rounds, or -1 if there were more; ended[1] the number of rows left, whose bits
   are the first half of `bits` if the number of rounds is even, and otherwise the second. */
extern "C" __global__ void __launch_bounds__(REPEAT_THREADS, REPEAT_BLOCKS) repeat_arcs(
    const ROW* given, int64_t size, const uint32_t* given_bits, int64_t most, int64_t num_rows, ROW* listed, uint32_t* bits,
    const int64_t* starts, const int64_t* offsets, const ROW* indices, const WEIGHT* weights, OWN* hub_owns, TOTAL* hub_parts,
    TOTAL start, Control* control, int64_t most_work, int64_t* ended, int64_t* record, int64_t launch CAPTURED_PARAMETERS) {
    CAPTURED_VALUES
    __shared__ int64_t counts[GROUPS];
    uint32_t* barrier = (uint32_t*)&control->barrier;
    const int64_t words = (num_rows + 31) / 32;
    Sweep sweep{listed, starts, counts, 0, offsets, indices, weights, offsets, hub_owns, hub_parts, 0, 0, start, 0, 1, 0,
                Found{bits, listed, starts, offsets, (uint64_t*)control->slots[0].counts, false}, record, launch, functions};
    if (given_bits) {
        list_found(sweep.found, given_bits, words);
    }
    for (int64_t item = global_thread(); !given_bits && item < size; item += num_threads()) {
        enter(sweep.found, given[item]);
    }
    grid_barrier(barrier);
    for (int64_t round = 0;; ++round) {
        const Slot& now = control->slots[round % 3];
        Slot& next = control->slots[(round + 1) % 3];
        Slot& later = control->slots[(round + 2) % 3];
        if (threadIdx.x < GROUPS) {
            counts[threadIdx.x] = __ldcg(&now.counts[threadIdx.x]);
        }
        __syncthreads();
        const int64_t left = counts[0] + counts[1] + counts[2] + counts[3];
        const bool is_over = left == 0 || __ldcg(&now.failed) || (LIMITED && __ldcg(&now.work) > most_work);
        if (is_over || round == most) {
            if (global_thread() == 0) {
                ended[0] = is_over ? round : -1;
                ended[1] = left;
            }
            return;
        }
        if (global_thread() == 0) {
            next.failed = record[LAUNCH] != 0;
            later.work = 0;
            for (int group = 0; group < GROUPS; ++group) {
                later.counts[group] = 0;
            }
        }
        sweep.listed = listed + (round & 1) * num_rows;
        sweep.round = round + 1;
        sweep.found.listed = listed + (~round & 1) * num_rows;
        sweep.found.bits = bits + (~round & 1) * words;
        sweep.found.counts = (uint64_t*)next.counts;
        sweep.found.marked = has_many(counts, num_rows);
        uint32_t* spent = bits + (round & 1) * words;
        for (int group = 0; group < GROUPS; ++group) {
            for (int64_t item = global_thread(); item < counts[group]; item += num_threads()) {
                spent[sweep.listed[starts[group] + item] >> 5] = 0;
            }
        }
#if HOW != FIRST_OF
        if (HAS_BEFORE && counts[HUBS]) {
            begin_hub_rows(sweep);
            grid_barrier(barrier);
        }
#endif
#if HOW
        visit_wide(sweep);
#else
        visit_hubs(sweep);
        /* With many rows for each warp, none is left alone for long, and blocks need not wait for their pieces. */
        const bool many = counts[WARP_ROWS] >= MANY_ROWS * (num_threads() >> 5);
        visit_in_pieces(sweep, many ? BLOCK_ROWS : WARP_ROWS);
        if (many) {
            visit_by_warps(sweep, WARP_ROWS);
        }
#endif
        visit_short(sweep);
#if HOW != FIRST_OF
        if ((HOW || HAS_AFTER) && counts[HUBS]) {
            grid_barrier(barrier);
            end_hub_rows(sweep);
        }
#endif
        grid_barrier(barrier);
        if (sweep.found.marked) {
            list_found(sweep.found, sweep.found.bits, words);
            grid_barrier(barrier);
        }
    }
}
