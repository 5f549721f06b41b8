/* Breadth-first search of graphs with many levels and few arcs per row (roads, grids): levels from a source.

   A level costs the chain of its dependent steps, so the chain is kept short. One cooperative launch does the whole search. While
   the frontier is small, one team of blocks (a cluster) searches, the other blocks wait, and the frontier is in the team's shared
   memory. A larger frontier goes through a queue in device memory to all blocks. A row is one load of four slots, prefetched into
   L2 when the row is found. The bitmap of found rows is in the team's shared memory while the team searches, if it is small
   enough, and otherwise in L2.

   A team has no barrier, because the fence of a barrier costs as much as the work of a level. Instead, the values that blocks
   pass to each other show whether they have arrived: a count carries its level, and a row is exchanged for NO_ROW, repeatedly
   until it is present. So all these accesses are relaxed.

   ROW is the type of a row number.

   Source: Merrill, Garland, Grimshaw, Scalable GPU Graph Traversal (PPoPP 2012), for queues with aggregated appends. */
#include "bfs/slots.cuh"

#define WARPS (THREADS / 32)
#define CAPACITY (16384u / (uint32_t)sizeof(ROW)) /* rows of a level that one block of the team keeps in shared memory */
#define TEAM_LIMIT (TEAM_BLOCKS > 8 ? 2 * CAPACITY : CAPACITY) /* rows of a level beyond which all blocks are faster */
#define GROUP 8                        /* rows of a part that a warp takes before the next warp does */
#define SHARERS (WARPS / TEAM_BLOCKS) /* warps of a block that read the same part */

/* Write the heads of a row's arcs to slots. */
__device__ __forceinline__ void slot_row(
    const int64_t* offsets, const ROW* indices, int64_t row, int64_t num_rows, Quad* quads, uint64_t* used) {
    int64_t arc = offsets[row];
    int64_t left = offsets[row + 1] - arc;
    if (left > CHAINED_ARCS) {
        quads[row] = Quad{{HUB, (ROW)row, (ROW)row, (ROW)row}};
        return;
    }
    for (int64_t at = row; at >= 0;) {
        const bool last = left <= SLOTS;
        Quad quad;
        for (int k = 0; k < SLOTS; ++k) {
            quad.slot[k] = k < left ? indices[arc + k] : (ROW)row;
        }
        const int64_t next = last ? -1 : num_rows + (int64_t)atomicAdd(used, (uint64_t)1);
        if (!last) {
            quad.slot[SLOTS - 1] = (ROW)~next;
        }
        quads[at] = quad;
        arc += SLOTS - 1;
        left -= SLOTS - 1;
        at = next;
    }
}

/* Initialise a search. */
extern "C" __global__ void prepare(
    const int64_t* offsets, const ROW* indices, int64_t num_rows, int64_t source, Quad* quads, uint32_t* visited, ROW* levels,
    ROW* queue, Control* control) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        levels[row] = -1;
        slot_row(offsets, indices, row, num_rows, quads, &control->quads);
    }
    const int64_t words = (num_rows + 31) / 32;
    for (int64_t word = global_thread(); word < words; word += num_threads()) {
        visited[word] = word == source >> 5 ? 1u << (source & 31) : 0;
    }
    if (global_thread() == 0) {
        queue[0] = (ROW)source;
    }
}

/* Keeps rows in the queue in device memory. */
struct ForGrid {
    typedef uint64_t Index;
    ROW* queue;
    uint64_t* length;
    __device__ bool claim(const Search& search, ROW row, bool wanted) { return ::claim(search.visited, row, wanted); }
    __device__ Index reserve(uint32_t count) { return atomicAdd(length, (uint64_t)count); }
    __device__ void put(Index place, ROW row, bool found) {
        if (found) {
            queue[place] = row;
        }
    }
};

extern __shared__ uint32_t team_bits[]; /* this block's words of the bitmap, if the team's shared memory holds it */

/* The word of the bitmap that this block has as word `here`. */
__device__ __forceinline__ int64_t word_of(uint32_t here) {
    return ((int64_t)(here / 32) * TEAM_BLOCKS + team_rank()) * 32 + here % 32;
}

struct Shared {
    ROW found[2][CAPACITY];          /* this block's part of the frontier and of the next one; NO_ROW where there is none */
    uint64_t counts[2][TEAM_BLOCKS]; /* level + 1 << 32 | length of each block's part */
    /* this block's lengths: entry `level & 3` is this level's; the entry after the next is zero */
    uint32_t mine[4];
};

/* Keeps rows in this block's shared memory, and rows beyond its capacity in the queue. */
template <bool BITS_IN_TEAM>
struct ForTeam {
    typedef uint32_t Index;
    uint32_t found_here; /* address in shared memory */
    uint32_t* length;
    ROW* queue;
    uint64_t* spilled;
    uint32_t bits; /* address in shared memory */
    __device__ bool claim(const Search& search, ROW row, bool wanted) {
        return BITS_IN_TEAM ? claim_in_team(bits, row, wanted) : ::claim(search.visited, row, wanted);
    }
    __device__ Index reserve(uint32_t count) { return atomicAdd(length, count); }
    __device__ void put(Index place, ROW row, bool found) {
        team_put(found_here + (place < CAPACITY ? place : 0) * (uint32_t)sizeof(ROW), row, found && place < CAPACITY);
        if (found && place >= CAPACITY) {
            queue[atomicAdd(spilled, (uint64_t)1)] = row;
        }
    }
};

/* End a level: send the number of rows that this block found to every block of the team, and return that of block i to lane i.
   `there` is the address of this block's count in block `threadIdx.x` of the team. */
__device__ __forceinline__ uint32_t exchange_counts(const Shared& shared, uint32_t there, uint32_t level) {
    const int lane = threadIdx.x & 31;
    const uint32_t tag = level + 1, parity = level & 1;
    __syncthreads();
    if (threadIdx.x < TEAM_BLOCKS) {
        team_store(there + parity * (uint32_t)sizeof(shared.counts[0]), (uint64_t)tag << 32 | shared.mine[level & 3]);
    }
    const uint64_t* count = &shared.counts[parity][lane % TEAM_BLOCKS];
    uint64_t received;
    do {
        received = team_load(count);
    } while (!__all_sync(FULL_WARP, (uint32_t)(received >> 32) == tag));
    return lane < TEAM_BLOCKS ? (uint32_t)received : 0;
}

/* Pass the frontier in shared memory to the grid, behind the rows that were spilled. */
__device__ void hand_over(const Search& search, const Shared& shared, int64_t head, int64_t level) {
    int64_t size = 0, spilled = 0, before = 0;
    for (int block = 0; block < TEAM_BLOCKS; ++block) {
        const int64_t count = (uint32_t)shared.counts[level & 1][block];
        size += count;
        spilled += count > (int64_t)CAPACITY ? count - CAPACITY : 0;
        before += block < team_rank() ? (count > (int64_t)CAPACITY ? CAPACITY : count) : 0;
    }
    const int64_t mine = (uint32_t)shared.counts[level & 1][team_rank()];
    for (int64_t place = threadIdx.x; place < (mine > (int64_t)CAPACITY ? CAPACITY : mine); place += THREADS) {
        search.queue[head + spilled + before + place] = shared.found[level & 1][place];
    }
    for (uint32_t here = threadIdx.x; size > 0 && here < search.team_words; here += THREADS) {
        if (word_of(here) < search.words) {
            search.visited[word_of(here)] = team_bits[here];
        }
    }
    if (team_rank() == 0 && threadIdx.x == 0) {
        search.control->head = head;
        search.control->size = size;
        search.control->level = level;
        search.control->spilled = 0;
    }
}

/* Put this block's share of the frontier `queue[head:head + size]` into shared memory. */
__device__ void take_over(const Search& search, Shared& shared, int64_t head, int64_t size, int64_t level) {
    const int64_t share = (size + TEAM_BLOCKS - 1 - team_rank()) / TEAM_BLOCKS;
    for (int64_t place = threadIdx.x; place < CAPACITY; place += THREADS) {
        shared.found[level & 1][place] = place < share ? __ldcg(search.queue + head + place * TEAM_BLOCKS + team_rank()) : NO_ROW;
        shared.found[level + 1 & 1][place] = NO_ROW;
    }
    for (uint32_t here = threadIdx.x; here < search.team_words; here += THREADS) {
        team_bits[here] = word_of(here) < search.words ? __ldcg(search.visited + word_of(here)) : 0;
    }
    if (threadIdx.x < TEAM_BLOCKS) {
        shared.counts[0][threadIdx.x] = shared.counts[1][threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) {
        shared.mine[level & 3] = (uint32_t)share;
        shared.mine[level + 1 & 3] = 0;
    }
    team_barrier();
}

/* Search with one team from the frontier `queue[head:head + size]` until it is empty or too large, or `thin` levels of all
   turns exceed `most_thin`: then the search is given up. */
template <bool BITS_IN_TEAM>
__device__ __forceinline__ void search_in_team(
    const Search& search, Shared& shared, int64_t head, int64_t size, int64_t level, int64_t& thin, int64_t most_thin) {
    const int lane = threadIdx.x & 31;
    const uint32_t warp = threadIdx.x >> 5;
    /* A warp reads the part of one block, in groups of eight rows; warps of that block come first. */
    const uint32_t owner = warp % TEAM_BLOCKS;
    const uint32_t turn = ((team_rank() - owner) % TEAM_BLOCKS) * SHARERS + warp / TEAM_BLOCKS;
    const uint32_t first = turn * GROUP + lane % GROUP + lane / GROUP * (GROUP * TEAM_BLOCKS * SHARERS);
    const uint32_t parts = team_address(shared.found[0], owner) + first * (uint32_t)sizeof(ROW);
    const uint32_t there = team_address(&shared.counts[0][team_rank()], threadIdx.x % TEAM_BLOCKS);
    take_over(search, shared, head, size, level);
    head += size;
    for (;; ++level) {
        const uint32_t of_lane = exchange_counts(shared, there, (uint32_t)level);
        const uint32_t length = __shfl_sync(FULL_WARP, of_lane, owner);
        const uint32_t total = __reduce_add_sync(FULL_WARP, of_lane);
        if (total - 1 >= CAPACITY && (total - 1 >= TEAM_LIMIT || __any_sync(FULL_WARP, of_lane > CAPACITY))) {
            hand_over(search, shared, head, level);
            return;
        }
        thin += total < THIN_ROUND;
        if (thin > most_thin) {
            search.control->deep = 1;
            return;
        }
        const uint32_t parity = (uint32_t)level & 1;
        if (threadIdx.x == 0) {
            shared.mine[level + 2 & 3] = 0;
        }
        ForTeam<BITS_IN_TEAM> keep{(uint32_t)__cvta_generic_to_shared(shared.found[parity ^ 1]), &shared.mine[level + 1 & 3],
                                   search.queue + head, &search.control->spilled,
                                   (uint32_t)__cvta_generic_to_shared(team_bits)};
        uint32_t part = parts + parity * (uint32_t)sizeof(shared.found[0]);
        for (uint32_t place = first; __any_sync(FULL_WARP, place < length); place += 32 * TEAM_BLOCKS * SHARERS) {
            ROW row = NO_ROW;
            if (place < length) {
                do {
                    row = team_exchange(part, NO_ROW);
                } while (row == NO_ROW);
                search.levels[row] = (ROW)level;
            }
            expand(search, row, keep);
            part += 32 * TEAM_BLOCKS * SHARERS * (uint32_t)sizeof(ROW);
        }
    }
}

/* Expand one level with all blocks. */
__device__ __forceinline__ void expand_in_grid(const Search& search, int64_t head, int64_t size, int64_t level, uint64_t* found) {
    ForGrid keep{search.queue + head + size, found};
    const int lane = threadIdx.x & 31;
    for (int64_t place = global_thread(); place - lane < size; place += num_threads()) {
        ROW row = NO_ROW;
        if (place < size) {
            row = __ldcg(search.queue + head + place);
            search.levels[row] = (ROW)level;
        }
        expand(search, row, keep);
    }
}

extern "C" __global__ void TEAM __launch_bounds__(THREADS, 1) search_levels(
    const Quad* rows, const int64_t* offsets, const ROW* indices, uint32_t* visited, ROW* levels, ROW* queue,
    Control* control, int64_t words, uint32_t team_words, int64_t most_thin) {
    __shared__ Shared shared;
    const Search search{rows, offsets, indices, visited, levels, queue, control, words, team_words};
    int64_t head = 0, size = 1, level = 0, thin = 0;
    bool from_team = false; /* then the grid expands a level first, so that no block reads `control` late */
    for (int turn = 0; size > 0;) {
        if (!from_team && size <= TEAM_LIMIT / 2) {
            if (blockIdx.x < TEAM_BLOCKS) {
                if (team_words > 0) {
                    search_in_team<true>(search, shared, head, size, level, thin, most_thin);
                } else {
                    search_in_team<false>(search, shared, head, size, level, thin, most_thin);
                }
            }
            grid_barrier(&control->barrier);
            if (__ldcg(&control->deep)) {
                return;
            }
            head = __ldcg(&control->head);
            size = __ldcg(&control->size);
            level = __ldcg(&control->level);
            from_team = true;
        } else {
            uint64_t* found = &control->found[(turn + 1) % 3];
            expand_in_grid(search, head, size, level, found);
            if (global_thread() == 0) {
                control->found[(turn + 2) % 3] = 0;
            }
            grid_barrier(&control->barrier);
            head += size;
            size = (int64_t)__ldcg(found);
            level += 1;
            turn = (turn + 1) % 3;
            from_team = false;
        }
    }
}
