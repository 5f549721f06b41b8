/* Shortest paths over shards of graphs with many arcs per row and short paths (social networks, webs): a rank's work between two
   exchanges, with the queues of kernels/sssp/queues.cuh by local rows. Ghosts have no arcs, so a queue never holds one.

   All ranks settle the same bucket at a time, and follow no arc to a length of `cap` or more. `known[g]` is the least length of
   ghost g that its owner has. SUM, WEIGHT, ROW: kernels/paths/lengths.cuh. */
#include "sssp/buckets.cuh"

/* A length of a row of the whole graph, for its owner: one word or two, without padding. */
template <bool NARROW>
struct alignas(16) ProposalOf {
    uint64_t length;
    int64_t row;
};
template <>
struct alignas(8) ProposalOf<true> {
    uint32_t length;
    int32_t row;
};
typedef ProposalOf<sizeof(Length) == 4 && sizeof(ROW) == 4> Proposal;

/* State that the next launch continues from. */
struct Progress {
    int turn, parity;
    uint64_t left; /* rows and chunks in the queue */
};
static_assert(sizeof(Progress) == PROGRESS_WORDS * 8, "PROGRESS_WORDS is wrong");

struct Ghosts {
    const ROW* rows;
    const int64_t* bounds; /* rank r owns the ghosts bounds[r] to bounds[r + 1] - 1 */
    int64_t count;
    Length* known;
    Proposal* proposals;  /* to rank r from bounds[r] on */
    uint64_t* counts; /* number of proposals to each rank; zero before */
};

/* Lower own rows to what other ranks propose, and queue those of this bucket. */
__device__ __forceinline__ void take_proposals(
    const Search& search, Stages& stages, const Proposal* proposals, int64_t count, int64_t first_row) {
    const int lane = threadIdx.x & 31;
    for (int64_t place = global_thread(); place - lane < count; place += num_threads()) {
        ROW row = 0;
        bool wanted = false;
        if (place < count) {
            row = (ROW)(proposals[place].row - first_row);
            wanted = improve(search, row, (Length)proposals[place].length);
        }
        enqueue(search, stages, search.out, wanted, row);
    }
}

/* Propose the length of every ghost that is nearer than at its owner. */
__device__ __forceinline__ void propose(const Search& search, const Ghosts& ghosts, int64_t num_own) {
    const int lane = threadIdx.x & 31;
    for (int64_t ghost = global_thread(); ghost - lane < ghosts.count; ghost += num_threads()) {
        const Length length = ghost < ghosts.count ? __ldcg(search.lengths + num_own + ghost) : FAR;
        const bool nearer = ghost < ghosts.count && length < ghosts.known[ghost];
        uint32_t open = __ballot_sync(FULL_WARP, nearer);
        if (!open) {
            continue;
        }
        int owner = 0;
        while (nearer && ghosts.bounds[owner + 1] <= ghost) {
            owner += 1;
        }
        while (open) { /* rarely do the ghosts of a warp have two owners */
            const int leader = __ffs(open) - 1;
            const int of = __shfl_sync(FULL_WARP, owner, leader);
            const uint32_t same = __ballot_sync(FULL_WARP, nearer && owner == of);
            uint64_t first = 0;
            if (lane == leader) {
                first = atomicAdd(ghosts.counts + of, (uint64_t)__popc(same));
            }
            first = __shfl_sync(FULL_WARP, first, leader);
            if (same >> lane & 1) {
                ghosts.known[ghost] = length;
                Proposal* const place = ghosts.proposals + ghosts.bounds[of] + first + __popc(same & ((1u << lane) - 1));
                *place = Proposal{length, ghosts.rows[ghost]};
            }
            open &= ~same;
        }
    }
}

/* Settle the received proposals, the rest of the queue, and the own rows with lengths from `from` on: all rows nearer than
   `limit`, or until the queue is `enough` work (short_paths.cu). */
// spills: a few words, by choice, as in kernels/sssp/short_paths.cu: more warps fit a processor
extern "C" __global__ void __launch_bounds__(THREADS, 2) settle_bucket(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_own, int64_t first_row, Length* lengths,
    ROW* rows, Chunk* chunks, int64_t most_chunks, uint32_t* queued, const ROW* ghost_rows, const int64_t* bounds,
    int64_t num_ghosts, Length* known, Proposal* proposals, uint64_t* counts, const Proposal* received, int64_t num_received,
    Length from, Length limit, Length cap, int64_t enough, Control* control, Progress* progress) {
    const Arcs arcs{offsets, indices, weights};
    Search search{arcs, arcs, num_own + num_ghosts, lengths, rows, chunks, most_chunks, queued, control, progress->turn,
                  progress->parity, limit, cap};
    Stages stages{0, 0};
    int64_t in_rows = (int64_t)__ldcg(&control->rows[search.turn]), in_chunks = (int64_t)__ldcg(&control->chunks[search.turn]);
    for (bool first = true; first || (in_rows + in_chunks > 0 && in_chunks + in_rows / 16 < enough); first = false) {
        take_chunks<false>(search, stages, in_chunks);
        take_rows<false>(search, stages, in_rows);
        if (first) {
            take_proposals(search, stages, received, num_received, first_row);
            if (from < limit) {
                queue_between(search, stages, search.out, num_own, from, limit - 1);
            }
        }
        end_turn(search, stages);
        in_rows = (int64_t)__ldcg(&control->rows[search.turn]);
        in_chunks = (int64_t)__ldcg(&control->chunks[search.turn]);
    }
    propose(search, Ghosts{ghost_rows, bounds, num_ghosts, known, proposals, counts}, num_own);
    if (global_thread() == 0) {
        *progress = Progress{search.turn, search.parity, (uint64_t)(in_rows + in_chunks)};
    }
}

/* Lower every own row at `cap` or beyond over its in-arcs. */
extern "C" __global__ void __launch_bounds__(THREADS, 2) pull_beyond(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_own, int64_t num_ghosts, Length* lengths,
    ROW* rows, Chunk* chunks, int64_t most_chunks, uint32_t* queued, Length cap, Control* control, Progress* progress) {
    const Arcs arcs{offsets, indices, weights};
    Search search{arcs, arcs, num_own + num_ghosts, lengths, rows, chunks, most_chunks, queued, control, progress->turn,
                  progress->parity, cap, FAR};
    Stages stages{0, 0};
    pull_rows(search, stages, num_own, cap);
    if (global_thread() == 0) {
        progress->turn = search.turn;
        progress->parity = search.parity;
    }
}

/* The least length of an own row that is `from` at least; `nearest` is all ones before. */
extern "C" __global__ void find_nearest(const Length* lengths, int64_t num_own, Length from, uint64_t* nearest) {
    uint64_t least = ~(uint64_t)0;
    for (int64_t row = global_thread(); row < num_own; row += num_threads()) {
        const Length length = lengths[row];
        least = length >= from && length < least ? (uint64_t)length : least;
    }
    least = least_of_warp(least);
    if ((threadIdx.x & 31) == 0 && least != ~(uint64_t)0) {
        atomicMin(nearest, least);
    }
}
