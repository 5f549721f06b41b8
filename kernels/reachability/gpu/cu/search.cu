/* The queries that no label decides, a warp each: from both ends, until the two searches meet or one has no more to expand. Labels
   decide every node that is found: it is dropped if they say that the other end and it do not reach each other, and ends the search
   if they say that they do.

   First the searches take turns, breadth-first. When the backward one has found BALL nodes it rests, and the forward one goes on
   depth-first. All that reaches the destination from a level at least that of every node that still waits behind has been found (the
   last node on a path that was not found would be below one that waits): so from that level on, what is not found is dropped, and
   the forward search need not come nearer.

   What a search has found lies in shared memory; one that finds too much, or reads too many arcs, is left to others: to fewer warps
   with more memory each, and then to wide_search.cu.

   Encodings: `keys` is a hash table, open addressing, of 2 * node + side; EMPTY where none is.

   ROW is the type of a row number and of a node's. */
#include "reachability/gpu/cu/records.cuh"

typedef UnsignedOf<sizeof(ROW)>::type Key;
#define EMPTY ((Key)-1)

struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
};

/* Room for what one search finds. */
template <int LOG_SLOTS>
struct Found {
    static const uint32_t SLOTS = 1u << LOG_SLOTS;
    static const uint32_t CAPACITY = SLOTS / 8 * 3;  /* nodes that wait, of a side, those expanded breadth-first included */
    static const uint32_t BALL = CAPACITY / 2;
    static const uint32_t MOST_NODES = SLOTS / 4 * 3; /* found */
    static const uint32_t MOST_ARCS = 8 * SLOTS;      /* read */
    Key keys[SLOTS];
    ROW queue[2][CAPACITY];
    uint32_t length[2];
    uint32_t size; /* nodes found */

    __device__ static uint32_t slot_of(Key key) { return (uint32_t)key * 0x9e3779b1u >> (32 - LOG_SLOTS); }
};

template <int LOG_SLOTS>
__device__ __forceinline__ bool holds(const Found<LOG_SLOTS>& found, Key key) {
    for (uint32_t slot = found.slot_of(key);; slot = (slot + 1) % found.SLOTS) {
        const Key there = *(volatile const Key*)&found.keys[slot];
        if (there == key || there == EMPTY) {
            return there == key;
        }
    }
}

/* Whether the key is new. */
template <int LOG_SLOTS>
__device__ __forceinline__ bool insert(Found<LOG_SLOTS>& found, Key key) {
    for (uint32_t slot = found.slot_of(key);; slot = (slot + 1) % found.SLOTS) {
        const Key there = atomicCAS(&found.keys[slot], EMPTY, key);
        if (there == EMPTY || there == key) {
            return there == EMPTY;
        }
    }
}

#define FEW 64  /* nodes of the forward search before the backward one rests */
#define DEEP 8  /* nodes that are expanded at a time depth-first */

enum Outcome { OPEN, YES, NO, TOO_MUCH };

struct Search {
    Index index;
    Arcs sides[2];
    ROW ends[2];
    const Record* records[2]; /* of the ends */
};

/* Expand `count` nodes of a side, those at `place`; with `is_stack` they leave the queue. From `nearest` on, what a forward search
   finds is dropped unless the backward one has found it. */
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
                met = decision == POSITIVE_CUT;
                const bool is_near = side == 0 && record.spans.level >= nearest;
                if (decision == SEARCH && !is_near && insert(found, key)) {
                    const uint32_t at = atomicAdd(&found.length[side], 1u);
                    full = at >= found.CAPACITY || atomicAdd(&found.size, 1u) >= found.MOST_NODES;
                    if (!full) {
                        found.queue[side][at] = node;
                    }
                }
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

/* The largest level of the nodes that wait behind. */
template <int LOG_SLOTS>
__device__ int32_t nearest_waiting(const Search& search, const Found<LOG_SLOTS>& found, uint32_t head, uint32_t length) {
    int32_t level = -1;
    for (uint32_t place = head + (threadIdx.x & 31); place < length; place += 32) {
        level = max(level, search.index.records[found.queue[1][place]].spans.level);
    }
    return __reduce_max_sync(FULL_WARP, level);
}

/* Search from both ends; their nodes are found. */
template <int LOG_SLOTS>
__device__ __forceinline__ Outcome meet(const Search& search, Found<LOG_SLOTS>& found) {
    uint32_t ahead_from = 0, behind_from = 0, arcs_read = 0;
    int32_t nearest = 0x7fffffff;
    bool is_resting = false;
    for (Outcome outcome = OPEN;;) {
        const uint32_t length = *(volatile uint32_t*)&found.length[0], length_behind = *(volatile uint32_t*)&found.length[1];
        const uint32_t ahead = length - ahead_from, behind = length_behind - behind_from;
        if (outcome != OPEN || ahead == 0 || behind == 0) {
            return outcome == OPEN ? NO : outcome;
        }
        if (!is_resting && length_behind >= found.BALL) {
            is_resting = true;
            nearest = nearest_waiting(search, found, behind_from, length_behind);
        }
        __syncwarp();
        if (is_resting) {
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

/* `rest` gets the queries that are left to others, `control` [0] is the next query, [1] the number of those left. */
template <int LOG_SLOTS>
__device__ __forceinline__ void search_all(
    Search search, Found<LOG_SLOTS>& found, const ROW* nodes, const ROW* src, const ROW* dst, const uint32_t* queries,
    const uint64_t* num_queries, bool* reachable, uint32_t* rest, uint64_t* control) {
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
        bool *reachable, uint32_t *rest, uint64_t *control
#define SEARCH_ALL(LOG_SLOTS)                                                                                              \
    extern __shared__ __align__(16) unsigned char shared[];                                                                \
    search_all(Search{Index{records, num_nodes, dimensions, alternating, low, post},                                       \
                      {{child_offsets, children}, {parent_offsets, parents}}},                                             \
               ((Found<LOG_SLOTS>*)shared)[threadIdx.x >> 5], nodes, src, dst, queries, num_queries, reachable, rest, control)

extern "C" __global__ void __launch_bounds__(160, sizeof(ROW) == 4 ? 3 : 1) search_in_little(ARGUMENTS) { SEARCH_ALL(11); }

extern "C" __global__ void __launch_bounds__(64, sizeof(ROW) == 4 ? 2 : 1) search_in_much(ARGUMENTS) { SEARCH_ALL(13); }
