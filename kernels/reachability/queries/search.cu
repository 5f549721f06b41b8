/* The queries that no label decides, one warp each: a search from both nodes of the query, until the two sides meet or one has no
   more nodes to expand. Labels decide about every node that is found: it is dropped if it and the other side's node do not reach
   each other, and it ends the search if they do.

   First the sides take turns, breadth-first. When the backward side has found BALL nodes it stops, and the forward side continues
   depth-first. Let L be the largest level of the nodes in the backward queue. Every node of level L or more that reaches the
   destination has been found: the last node of a path that was not found would be the parent of a queued node, so below level L.
   Therefore the forward side drops nodes of level L or more that the backward side has not found.

   A search keeps its nodes in shared memory. One that finds too many nodes, or reads too many arcs, is left to fewer warps with
   more memory each, and then to wide_search.cu.

   Encodings: `keys` is a hash table with open addressing of 2 * node + side, and EMPTY in free slots.

   ROW is the type of a row and of a node. */
#include "reachability/queries/paths.cuh"

typedef UnsignedOf<sizeof(ROW)>::type Key;
#define EMPTY ((Key)-1)

/* The buffers of one search. */
template <int LOG_SLOTS>
struct Found {
    static const uint32_t SLOTS = 1u << LOG_SLOTS;
    /* of the queue of a side, including nodes that were expanded breadth-first */
    static const uint32_t CAPACITY = SLOTS / 8 * 3;
    static const uint32_t BALL = CAPACITY / 2;
    static const uint32_t MOST_NODES = SLOTS / 4 * 3; /* found */
    static const uint32_t MOST_ARCS = 8 * SLOTS;      /* read */
    Key keys[SLOTS];
    ROW queue[2][CAPACITY];
    uint32_t length[2];
    uint32_t size; /* nodes found */
    uint32_t met_from; /* side */
    ROW met;           /* node that ended the search */

    __device__ static uint32_t slot_of(Key key) { return (uint32_t)key * 0x9e3779b1u >> (32 - LOG_SLOTS); }
};

template <int LOG_SLOTS>
__device__ __forceinline__ bool holds(const Found<LOG_SLOTS>& found, Key key) {
    for (uint32_t slot = found.slot_of(key);; slot = (slot + 1) % found.SLOTS) {
        const Key stored = *(volatile const Key*)&found.keys[slot];
        if (stored == key || stored == EMPTY) {
            return stored == key;
        }
    }
}

/* Whether the key is new. */
template <int LOG_SLOTS>
__device__ __forceinline__ bool insert(Found<LOG_SLOTS>& found, Key key) {
    for (uint32_t slot = found.slot_of(key);; slot = (slot + 1) % found.SLOTS) {
        const Key stored = atomicCAS(&found.keys[slot], EMPTY, key);
        if (stored == EMPTY || stored == key) {
            return stored == EMPTY;
        }
    }
}

#define FEW 64  /* nodes of the forward side before only the backward side is expanded */
#define DEEP 8  /* nodes that are expanded at a time, depth-first */

enum Outcome { OPEN, YES, NO, TOO_MUCH };

struct Search {
    Index index;
    Arcs sides[2];
    ROW ends[2];
    const Record* records[2]; /* of the two nodes */
};

/* Expand `count` nodes of a side, from `place` of its queue on; with `is_stack` they leave the queue. The forward side drops
   nodes of level `nearest` or more unless the backward side has found them. */
template <int LOG_SLOTS>
__device__ Outcome expand(
    const Search& search, Found<LOG_SLOTS>& found, int side, uint32_t place, uint32_t count, bool is_stack, int32_t nearest,
    uint32_t& arcs_read) {
    const int lane = threadIdx.x & 31;
    const Arcs arcs = search.sides[side];
    int64_t begin = 0;
    uint32_t degree = 0;
    if (lane < count) {
        const ROW node = found.queue[side][place + lane];
        begin = arcs.offsets[node];
        const int64_t all = arcs.offsets[node + 1] - begin;
        degree = all < found.MOST_ARCS ? (uint32_t)all : found.MOST_ARCS;
    }
    __syncwarp();
    if (is_stack && lane == 0) {
        found.length[side] = place;
    }
    __syncwarp();
    uint32_t sum = degree;
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t lower = __shfl_up_sync(FULL_WARP, sum, step);
        sum += lane >= step ? lower : 0;
    }
    const uint32_t total = __shfl_sync(FULL_WARP, sum, 31);
    arcs_read += total;
    if (arcs_read >= found.MOST_ARCS) {
        return TOO_MUCH;
    }
    for (uint32_t base = 0; base < total; base += 32) {
        const uint32_t turn = base + lane;
        int owner = 0; /* the first lane whose running sum is beyond the turn */
        for (int step = 16; step > 0; step >>= 1) {
            owner += __shfl_sync(FULL_WARP, sum, owner + step - 1) <= turn ? step : 0;
        }
        const uint32_t before = __shfl_sync(FULL_WARP, sum - degree, owner & 31);
        const int64_t row_begin = __shfl_sync(FULL_WARP, begin, owner & 31);
        bool met = false, full = false;
        if (turn < total) {
            const ROW node = arcs.indices[row_begin + (turn - before)];
            const Key key = (Key)node * 2 + side;
            met = holds(found, key ^ 1);
            if (!met && !holds(found, key)) {
                const Record record = load_whole(search.index.records + node);
                const Record end = load_whole(search.records[!side]);
                const Decision decision = side ? decide(search.index, search.ends[0], node, end, record)
                                               : decide(search.index, node, search.ends[1], record, end);
                met = decision == PositiveCut;
                const bool is_near = side == 0 && record.spans.level >= nearest;
                if (decision == Undecided && !is_near && insert(found, key)) {
                    const uint32_t at = atomicAdd(&found.length[side], 1u);
                    full = at >= found.CAPACITY || atomicAdd(&found.size, 1u) >= found.MOST_NODES;
                    if (!full) {
                        found.queue[side][at] = node;
                    }
                }
            }
            if (met) {
                found.met = node;
                found.met_from = side;
            }
        }
        __syncwarp();
        if (__any_sync(FULL_WARP, met)) {
            return YES;
        }
        if (__any_sync(FULL_WARP, full)) {
            return TOO_MUCH;
        }
    }
    return OPEN;
}

/* The largest level of the nodes in the backward queue. */
template <int LOG_SLOTS>
__device__ int32_t nearest_waiting(const Search& search, const Found<LOG_SLOTS>& found, uint32_t head, uint32_t length) {
    int32_t level = -1;
    for (uint32_t place = head + (threadIdx.x & 31); place < length; place += 32) {
        level = max(level, search.index.records[found.queue[1][place]].spans.level);
    }
    return __reduce_max_sync(FULL_WARP, level);
}

/* Search from both nodes, which are in the table and in the queues. */
template <int LOG_SLOTS>
__device__ __forceinline__ Outcome meet(const Search& search, Found<LOG_SLOTS>& found) {
    uint32_t ahead_from = 0, behind_from = 0, arcs_read = 0;
    int32_t nearest = 0x7fffffff;
    bool has_stopped = false;
    for (Outcome outcome = OPEN;;) {
        const uint32_t length = *(volatile uint32_t*)&found.length[0], length_behind = *(volatile uint32_t*)&found.length[1];
        const uint32_t ahead = length - ahead_from, behind = length_behind - behind_from;
        if (outcome != OPEN || ahead == 0 || behind == 0) {
            return outcome == OPEN ? NO : outcome;
        }
        if (!has_stopped && length_behind >= found.BALL) {
            has_stopped = true;
            nearest = nearest_waiting(search, found, behind_from, length_behind);
        }
        __syncwarp();
        if (has_stopped) {
            const uint32_t count = min(ahead, DEEP);
            outcome = expand(search, found, 0, length - count, count, true, nearest, arcs_read);
        } else if (ahead <= behind && length < FEW) {
            const uint32_t count = min(ahead, 32);
            outcome = expand(search, found, 0, ahead_from, count, false, nearest, arcs_read);
            ahead_from += count;
        } else {
            const uint32_t count = min(behind, 32);
            outcome = expand(search, found, 1, behind_from, count, false, nearest, arcs_read);
            behind_from += count;
        }
        __syncwarp();
    }
}

/* Writes the queries that are too large to `rest`; `control` [0] is the next query, [1] the number of those in `rest`. */
template <int LOG_SLOTS>
__device__ __forceinline__ void search_all(
    Search search, Found<LOG_SLOTS>& found, const ROW* nodes, const ROW* src, const ROW* dst, const uint32_t* queries,
    const uint64_t* num_queries, bool* reachable, const Paths& paths, uint32_t* rest, uint64_t* control) {
    const Record* const records = search.index.records;
    const int lane = threadIdx.x & 31;
    const uint64_t count = *num_queries;
    while (true) {
        uint64_t place = 0;
        if (lane == 0) {
            place = atomicAdd(control, (uint64_t)1);
        }
        place = __shfl_sync(FULL_WARP, place, 0);
        if (place >= count) {
            return;
        }
        const uint32_t query = queries[place];
        for (int slot = lane; slot < found.SLOTS; slot += 32) {
            found.keys[slot] = EMPTY;
        }
        for (int side = 0; side < 2; ++side) {
            const ROW end = nodes[(side ? dst : src)[query]];
            search.ends[side] = end;
            search.records[side] = records + end;
            if (lane == 0) {
                found.queue[side][0] = end;
                found.length[side] = 1;
                found.size = 2;
            }
        }
        __syncwarp();
        if (lane == 0) {
            insert(found, (Key)search.ends[0] * 2);
            insert(found, (Key)search.ends[1] * 2 + 1);
        }
        __syncwarp();
        const Outcome outcome = meet(search, found);
        if (outcome == YES && paths.nodes) {
            const Found<LOG_SLOTS>& table = found;
            write_path(paths, query, search.index, search.sides, search.ends[0], search.ends[1], found.met, (int)found.met_from,
                [&](int side, ROW node) { return holds(table, (Key)node * 2 + side); });
        }
        if (lane == 0) {
            reachable[query] = outcome == YES;
            if (outcome == TOO_MUCH) {
                rest[atomicAdd(control + 1, (uint64_t)1)] = query;
            }
        }
        __syncwarp();
    }
}

#define ARGUMENTS                                                                                                          \
    const Record *records, int64_t num_nodes, int dimensions, bool alternating, const ROW *low, const ROW *post,           \
        const int64_t *child_offsets, const ROW *children, const int64_t *parent_offsets, const ROW *parents,              \
        const ROW *nodes, const ROW *src, const ROW *dst, const uint32_t *queries, const uint64_t *num_queries,            \
        bool *reachable, const int64_t *begins, int64_t *lengths, ROW *path_nodes, const ROW *supports, uint32_t *rest,      \
        uint64_t *control
#define SEARCH_ALL(LOG_SLOTS)                                                                                              \
    extern __shared__ __align__(16) unsigned char shared[];                                                                \
    search_all(Search{Index{records, num_nodes, dimensions, alternating, low, post},                                       \
                      {{child_offsets, children}, {parent_offsets, parents}}},                                             \
               ((Found<LOG_SLOTS>*)shared)[threadIdx.x >> 5], nodes, src, dst, queries, num_queries, reachable,              \
               Paths{begins, lengths, path_nodes, supports}, rest, control)

extern "C" __global__ void __launch_bounds__(SMALL_SEARCH_THREADS, sizeof(ROW) == 4 ? 3 : 1) search_in_little(ARGUMENTS) {
    SEARCH_ALL(SMALL_SEARCH_LOG_SLOTS);
}

extern "C" __global__ void __launch_bounds__(LARGE_SEARCH_THREADS, sizeof(ROW) == 4 ? 2 : 1) search_in_much(ARGUMENTS) {
    SEARCH_ALL(LARGE_SEARCH_LOG_SLOTS);
}
