/* Breadth-first search over shards, one or two launches per level: hops, and the unique predecessors as local rows.

   The frontier is a bitmap of own rows and ghosts, so every rank knows the part of it that touches its rows. If it is large,
   every unvisited own row searches its in-arcs for the first one from it (kernels/bfs/bottom_up.cuh). If it is small, and many
   arcs are unseen, `push` first marks the heads of its out-arcs, and marks of ghosts are sent to their owners; then only the
   marked rows search their in-arcs. In-arcs ascend by external id, so the first one gives the unique predecessor.

   Local row r, own rows first, then ghosts, is bit r % 32 of word r / 32 of a bitmap. In `visited` the bits behind the last own
   row are set, and those of rows without in-arcs; a pull begins by adding the frontier. ROW is the type of a row number.

   Sources: Beamer, Asanovic, Patterson, Direction-Optimizing Breadth-First Search (SC 2012); Beamer, Buluc, Asanovic, Patterson,
   Distributed Memory Breadth-First Search Revisited (MTAAP 2013). */
#include "bfs/bottom_up.cuh"

#define LANE_ROW 32   /* out-arcs that one lane pushes */
#define CHUNK 2048    /* arcs of a larger row that a block takes at a time */

/* Initialise a search; the own rows begin at `first_row`, and `frontier` is zero before. */
extern "C" __global__ void prepare(
    int64_t num_own, int64_t first_row, const ROW* ghosts, int64_t num_ghosts, int64_t source_row, const uint32_t* closed,
    uint32_t* visited, uint32_t* frontier, int64_t* distance, ROW* predecessor) {
    const int64_t source = source_row - first_row;
    for (int64_t row = global_thread(); row < num_own; row += num_threads()) {
        distance[row] = row == source ? 0 : -1;
        predecessor[row] = -1;
    }
    for (int64_t word = global_thread(); word < (num_own + 31) / 32; word += num_threads()) {
        visited[word] = closed[word];
    }
    if (global_thread() == 0) {
        const int64_t ghost = find(ghosts, 0, num_ghosts, (ROW)source_row);
        const int64_t local = source >= 0 && source < num_own ? source : ghost == num_ghosts ? -1 : num_own + ghost;
        if (local >= 0) {
            frontier[local >> 5] = 1u << (local & 31);
        }
    }
}

struct Push {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    int64_t num_own;
    const uint32_t* __restrict__ visited;
    uint32_t* marks;
};

__device__ __forceinline__ void mark(const Push& push, int64_t arc) {
    const ROW row = push.indices[arc];
    const uint32_t bit = 1u << (row & 31);
    const bool seen = row < push.num_own && (push.visited[row >> 5] & bit);
    if (!seen && !(push.marks[row >> 5] & bit)) {
        atomicOr(push.marks + (row >> 5), bit);
    }
}

/* Mark the heads of the arcs of the frontier's own rows. `large` has space for every row of more than `WARP_ROW` arcs. */
extern "C" __global__ void __launch_bounds__(THREADS, 2) push(
    const int64_t* offsets, const ROW* indices, int64_t num_own, const uint32_t* visited, const uint32_t* frontier,
    uint32_t* marks, ROW* large, Control* control) {
    const Push push{offsets, indices, num_own, visited, marks};
    const int lane = threadIdx.x & 31;
    const int64_t words = (num_own + 31) / 32;
    for (int64_t first = global_thread(); first - lane < words; first += num_threads()) {
        const uint32_t mine = first < words ? frontier[first] : 0;
        for (uint32_t open = __ballot_sync(FULL_WARP, mine); open; open &= open - 1) {
            const int of = __ffs(open) - 1;
            const int64_t row = (first - lane + of) * 32 + lane;
            int64_t arc = 0, end = 0;
            if (__shfl_sync(FULL_WARP, mine, of) >> lane & 1 && row < num_own) {
                arc = offsets[row];
                end = offsets[row + 1];
            }
            for (int64_t at = arc; end - arc <= LANE_ROW && at < end; ++at) {
                mark(push, at);
            }
            if (end - arc > WARP_ROW) {
                large[append(&control->queued)] = (ROW)row;
            }
            uint32_t medium = __ballot_sync(FULL_WARP, end - arc > LANE_ROW && end - arc <= WARP_ROW);
            for (; medium; medium &= medium - 1) {
                const int64_t last = __shfl_sync(FULL_WARP, end, __ffs(medium) - 1);
                for (int64_t at = __shfl_sync(FULL_WARP, arc, __ffs(medium) - 1) + lane; at < last; at += 32) {
                    mark(push, at);
                }
            }
        }
    }
    grid_barrier(&control->barrier);
    const int64_t count = (int64_t)__ldcg(&control->queued);
    for (int64_t place = 0; place < count; ++place) {
        const ROW row = __ldcg(large + place);
        const int64_t turn = (blockIdx.x + gridDim.x - place % gridDim.x) % gridDim.x; /* each row begins with another block */
        for (int64_t first = offsets[row] + turn * CHUNK; first < offsets[row + 1]; first += (int64_t)gridDim.x * CHUNK) {
            const int64_t end = first + CHUNK < offsets[row + 1] ? first + CHUNK : offsets[row + 1];
            for (int64_t at = first + threadIdx.x; at < end; at += THREADS) {
                mark(push, at);
            }
        }
    }
}

/* Search the own rows that are not visited, after a push only those that are marked; the rows that the frontier reaches are
   `found`. Marks are cleared for the next push. */
extern "C" __global__ void __launch_bounds__(THREADS, 2) pull(
    const int64_t* in_offsets, const ROW* in_indices, const int64_t* out_offsets, int64_t num_own, int64_t num_words, bool pushed,
    const uint32_t* frontier, uint32_t* visited, uint32_t* marks, uint32_t* skipped, uint32_t* found, int64_t* distance,
    ROW* predecessor, ROW* for_warps, ROW* for_blocks, int64_t level, Control* control) {
    __shared__ int64_t best;
    for (int64_t word = global_thread(); word < num_words; word += num_threads()) {
        if (word < (num_own + 31) / 32) {
            const uint32_t seen = visited[word] | frontier[word];
            visited[word] = seen;
            skipped[word] = pushed ? seen | ~marks[word] : seen;
        }
        marks[word] = 0;
        found[word] = 0;
    }
    grid_barrier(&control->barrier);
    const Search search{out_offsets, nullptr, in_offsets, in_indices, nullptr, num_own, skipped, distance, predecessor, nullptr,
                        for_warps, for_blocks, &control->barrier};
    search_level(search, frontier, found, level, &best, &control->levels[0]);
}
