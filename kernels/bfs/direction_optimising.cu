/* Breadth-first search of graphs of few levels and many arcs a row (social networks, webs): hops, and the unique predecessors.

   One cooperative launch. A small frontier is a queue and is expanded top-down: its arcs are divided evenly among all threads,
   whatever the degrees, by a search in the prefix sums of the degrees. A large frontier is a bitmap, and every unvisited row
   searches its in-arcs for the first one from it (bottom-up); in-arcs ascend by external id, so that is the unique predecessor.

   Encodings. During the search distance[row] is a key that only decreases, as unsigned integer:
     all ones                            not reached (and so -1 in the answer);
     level << POSITION_BITS | position   reached top-down; `position` is the least position, in the order of external ids, of the
                                         rows that reach it;
     level                               final: the source, and rows reached bottom-up.
   One atomic minimum sets the row's level and predecessor. The queue keeps all rows that were ever queued; at the end the keys
   among them are decoded. Row r is bit r % 32 of word r / 32 of a bitmap. ROW is the type of a row number.

   Sources: Beamer, Asanovic, Patterson, Direction-Optimizing Breadth-First Search (SC 2012); Merrill, Garland, Grimshaw, Scalable
   GPU Graph Traversal (PPoPP 2012), for dividing arcs evenly. */
#include "bfs/bottom_up.cuh"

#define ITEMS 8
#define WINDOW (THREADS * ITEMS) /* rows of the frontier whose arcs are divided at a time */
/* Top-down from frontiers of at most 1 / TOP_DOWN_ARCS of the arcs, because an atomic costs more than a read, and of at most one
   window or 1 / TOP_DOWN_ROWS of the rows, because every block passes over all of them. */
#define TOP_DOWN_ARCS 64
#define TOP_DOWN_ROWS 2048
#define UNSEEN_ROWS 64 /* or of at most 1 / UNSEEN_ROWS of the rows that are not found, which bottom-up would search */
#define POSITION_BITS (sizeof(ROW) == 4 ? 32 : 40)

/* Rows without in-arcs, and the bits behind the last row, which no search finds. */
extern "C" __global__ void find_closed(const int64_t* in_offsets, int64_t num_rows, int64_t num_words, uint32_t* closed) {
    for (int64_t row = global_thread(); row < num_words * 32; row += num_threads()) {
        const uint32_t word = __ballot_sync(FULL_WARP, row >= num_rows || in_offsets[row] == in_offsets[row + 1]);
        if ((threadIdx.x & 31) == 0) {
            closed[row >> 5] = word;
        }
    }
}

/* Initialise a search. */
extern "C" __global__ void prepare(
    int64_t num_rows, int64_t num_words, int64_t source, const uint32_t* closed, uint32_t* visited, int64_t* distance,
    ROW* predecessor, ROW* queue, Control* control) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        distance[row] = row == source ? 0 : -1;
        predecessor[row] = -1;
    }
    for (int64_t word = global_thread(); word < num_words; word += num_threads()) {
        visited[word] = closed[word] | (word == source >> 5 ? 1u << (source & 31) : 0);
    }
    if (global_thread() == 0) {
        *control = Control{};
        queue[0] = (ROW)source;
    }
}

/* Sum of `value` over the block's threads before this one; `total` becomes the sum over all. */
__device__ __forceinline__ uint64_t sum_before(uint64_t value, uint64_t* sums, uint64_t* total) {
    const int warp = threadIdx.x >> 5;
    const uint64_t sum = sum_up_to_lane(value);
    if ((threadIdx.x & 31) == 31) {
        sums[warp] = sum;
    }
    __syncthreads();
    uint64_t before = 0, all = 0;
    for (int other = 0; other < THREADS / 32; ++other) {
        before += other < warp ? sums[other] : 0;
        all += sums[other];
    }
    *total = all;
    return before + sum - value;
}

/* Reach the head of an arc; returns its out-degree if it is new. */
__device__ __forceinline__ uint64_t reach(const Search& search, ROW row, uint64_t key, ROW* next, uint64_t* found) {
    if (search.visited[row >> 5] >> (row & 31) & 1) {
        /* found on this level or before; on this level its position may still be lowered */
        if ((uint64_t)search.distance[row] > key) {
            atomicMin((uint64_t*)search.distance + row, key);
        }
        return 0;
    }
    if (atomicMin((uint64_t*)search.distance + row, key) != ~(uint64_t)0) {
        return 0;
    }
    atomicOr(search.visited + (row >> 5), 1u << (row & 31));
    next[append(found)] = row;
    return (uint64_t)(search.out_offsets[row + 1] - search.out_offsets[row]);
}

/* Expand the frontier `queue[head:head + size]`. Every block sums the degrees of a window and takes its share of the arcs. */
__device__ void expand_top_down(
    const Search& search, uint64_t* prefix, uint64_t* sums, int64_t head, int64_t size, uint64_t level, Level* counts) {
    uint64_t arcs_found = 0;
    ROW* next = search.queue + head + size;
    for (int64_t window = head; window < head + size; window += WINDOW) {
        const int64_t rows = head + size - window < WINDOW ? head + size - window : WINDOW;
        uint64_t degrees[ITEMS];
        uint64_t mine = 0, total;
        for (int k = 0; k < ITEMS; ++k) {
            const int64_t entry = (int64_t)k * THREADS + threadIdx.x;
            degrees[k] = 0;
            if (entry < rows) {
                const ROW row = __ldcg(search.queue + window + entry);
                degrees[k] = (uint64_t)(search.out_offsets[row + 1] - search.out_offsets[row]);
            }
            mine += degrees[k];
        }
        uint64_t before = sum_before(mine, sums, &total);
        for (int k = 0; k < ITEMS; ++k) {
            prefix[threadIdx.x * ITEMS + k] = before;
            before += degrees[k];
        }
        __syncthreads();
        for (uint64_t arc = (uint64_t)global_thread(); arc < total; arc += (uint64_t)num_threads()) {
            int item = 0; /* the last one with prefix <= arc; rows without arcs come before it */
            for (int step = WINDOW / 2; step > 0; step >>= 1) {
                item += prefix[item + step] <= arc ? step : 0;
            }
            const ROW row = __ldcg(search.queue + window + (int64_t)(item % ITEMS) * THREADS + item / ITEMS);
            const ROW far = search.out_indices[search.out_offsets[row] + (int64_t)(arc - prefix[item])];
            arcs_found += reach(search, far, level << POSITION_BITS | (uint64_t)search.positions[row], next, &counts->found);
        }
        __syncthreads();
    }
    add_of_warp(&counts->arcs, arcs_found);
}

/* Turn the queue into a bitmap. */
__device__ void mark_frontier(const Search& search, uint32_t* frontier, int64_t head, int64_t size) {
    const int64_t words = (search.num_rows + 31) / 32;
    for (int64_t word = global_thread(); word < words; word += num_threads()) {
        frontier[word] = 0;
    }
    grid_barrier(search.barrier);
    for (int64_t place = global_thread(); place < size; place += num_threads()) {
        const ROW row = __ldcg(search.queue + head + place);
        atomicOr(frontier + (row >> 5), 1u << (row & 31));
    }
    grid_barrier(search.barrier);
}

/* Turn the bitmap into a queue. */
__device__ void queue_frontier(const Search& search, const uint32_t* frontier, int64_t tail, uint64_t* queued) {
    const int64_t words = (search.num_rows + 31) / 32;
    for (int64_t word = global_thread(); word < words; word += num_threads()) {
        uint32_t bits = frontier[word];
        if (bits) {
            uint64_t place = tail + atomicAdd(queued, (uint64_t)__popc(bits));
            for (; bits; bits &= bits - 1) {
                search.queue[place++] = (ROW)(word * 32 + __ffs(bits) - 1);
            }
        }
    }
    grid_barrier(search.barrier);
}

/* Decode the keys of the rows that were reached top-down. */
__device__ void decode_keys(const Search& search, const ROW* rows_by_id, int64_t queued) {
    for (int64_t place = global_thread(); place < queued; place += num_threads()) {
        const ROW row = __ldcg(search.queue + place);
        const uint64_t key = (uint64_t)__ldcg(search.distance + row);
        if (key >> POSITION_BITS) {
            search.distance[row] = (int64_t)(key >> POSITION_BITS);
            search.predecessor[row] = rows_by_id[key & (((uint64_t)1 << POSITION_BITS) - 1)];
        }
    }
}

// spills: two registers on sm_86 and sm_89; two blocks per multiprocessor are faster
extern "C" __global__ void __launch_bounds__(THREADS, 2) search_both_ways(
    const int64_t* out_offsets, const ROW* out_indices, const int64_t* in_offsets, const ROW* in_indices, const ROW* positions,
    const ROW* rows_by_id, int64_t num_rows, int64_t num_arcs, int64_t source, uint32_t* visited, uint32_t* frontier,
    uint32_t* next, int64_t* distance, ROW* predecessor, ROW* queue, ROW* for_warps, ROW* for_blocks,
    Control* control, int64_t most_thin) {
    __shared__ uint64_t prefix[WINDOW];
    __shared__ uint64_t sums[THREADS / 32];
    __shared__ int64_t best;
    const Search search{out_offsets, out_indices, in_offsets, in_indices, positions, num_rows, visited, distance, predecessor,
                        queue, for_warps, for_blocks, &control->barrier};
    const int64_t most_rows = num_rows / TOP_DOWN_ROWS > WINDOW ? num_rows / TOP_DOWN_ROWS : WINDOW;
    int64_t head = 0, tail = 1; /* `queue[:tail]` are all rows ever queued, `queue[head:tail]` the last frontier */
    int64_t size = 1, arcs = out_offsets[source + 1] - out_offsets[source], unseen = num_rows;
    int64_t thin = 0;   /* levels of few rows so far; after too many of them the search is given up */
    bool queued = true; /* whether the frontier is `queue[head:tail]` or a bitmap */
    for (int64_t level = 1, turn = 0; size > 0; ++level, turn = (turn + 1) % 3) {
        Level* counts = &control->levels[(turn + 1) % 3];
        if (global_thread() == 0) {
            control->levels[(turn + 2) % 3] = Level{};
        }
        unseen -= size;
        thin += size < THIN_ROUND;
        if (thin > most_thin) {
            control->deep = 1;
            return;
        }
        const bool top_down = (size <= most_rows || size <= unseen / UNSEEN_ROWS) && arcs <= num_arcs / TOP_DOWN_ARCS;
        if (top_down && !queued) {
            queue_frontier(search, frontier, tail, &control->queued);
            head = tail;
            tail += size;
        } else if (!top_down && queued) {
            mark_frontier(search, frontier, head, size);
        }
        queued = top_down;
        if (top_down) {
            expand_top_down(search, prefix, sums, head, size, level, counts);
            grid_barrier(&control->barrier);
            head = tail;
            tail += (int64_t)__ldcg(&counts->found);
        } else {
            if (global_thread() == 0) {
                control->queued = 0;
            }
            if (search_level(search, frontier, next, level, &best, counts)) {
                grid_barrier(&control->barrier);
            }
            uint32_t* other = frontier;
            frontier = next;
            next = other;
        }
        size = (int64_t)__ldcg(&counts->found);
        arcs = (int64_t)__ldcg(&counts->arcs);
    }
    decode_keys(search, rows_by_id, tail);
}
