/* The queries that no label decides, a warp each: breadth-first from both ends, the side of fewer waiting nodes first, until the
   two meet or one side has no more. Labels decide every node that is found: it is dropped if they say that the other end and it
   do not reach each other, and ends the search if they say that they do. What a search has found lies in shared memory; one that
   finds too much, or reads too many arcs, is left to others: to fewer warps with more memory each, and then to wide_search.cu.

   Encodings: `keys` is a hash table, open addressing, of 2 * node + side; EMPTY where none is.

   ROW is the type of a row number and of a node's. */
#include "reachability/records.cuh"

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
    static const uint32_t CAPACITY = SLOTS / 8 * 3; /* nodes of a side */
    static const uint32_t MOST_ARCS = 8 * SLOTS;    /* read */
    Key keys[SLOTS];
    ROW queue[2][CAPACITY];
    uint32_t length[2];

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

enum Outcome { OPEN, YES, NO, TOO_MUCH };

struct Search {
    Index index;
    Arcs sides[2];
    ROW ends[2];
    const Record* records[2]; /* of the ends */
};

/* Expand up to 32 nodes of one side. */
template <int LOG_SLOTS>
__device__ Outcome expand(const Search& search, Found<LOG_SLOTS>& found, int side, uint32_t& head, uint32_t& arcs_read) {
    const int lane = threadIdx.x & 31;
    const Arcs arcs = search.sides[side];
    const uint32_t length = *(volatile uint32_t*)&found.length[side];
    const uint32_t count = length - head < 32 ? length - head : 32;
    int64_t begin = 0;
    uint32_t degree = 0;
    if (lane < count) {
        const ROW node = found.queue[side][head + lane];
        begin = arcs.offsets[node];
        const int64_t all = arcs.offsets[node + 1] - begin;
        degree = all < found.MOST_ARCS ? (uint32_t)all : found.MOST_ARCS;
    }
    head += count;
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
                if (decision == SEARCH && insert(found, key)) {
                    const uint32_t place = atomicAdd(&found.length[side], 1u);
                    full = place >= found.CAPACITY;
                    if (!full) {
                        found.queue[side][place] = node;
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
            }
        }
        __syncwarp();
        if (lane == 0) {
            insert(found, (Key)search.ends[0] * 2);
            insert(found, (Key)search.ends[1] * 2 + 1);
        }
        __syncwarp();
        uint32_t heads[2] = {0, 0}, arcs_read = 0;
        Outcome outcome = OPEN;
        while (outcome == OPEN) {
            const uint32_t ahead = *(volatile uint32_t*)&found.length[0] - heads[0];
            const uint32_t behind = *(volatile uint32_t*)&found.length[1] - heads[1];
            if (ahead == 0 || behind == 0) {
                outcome = NO;
            } else if (ahead <= behind) {
                outcome = expand(search, found, 0, heads[0], arcs_read);
            } else {
                outcome = expand(search, found, 1, heads[1], arcs_read);
            }
            __syncwarp();
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
        bool *reachable, uint32_t *rest, uint64_t *control
#define SEARCH_ALL(LOG_SLOTS)                                                                                              \
    extern __shared__ __align__(16) unsigned char shared[];                                                                \
    search_all(Search{Index{records, num_nodes, dimensions, alternating, low, post},                                       \
                      {{child_offsets, children}, {parent_offsets, parents}}},                                             \
               ((Found<LOG_SLOTS>*)shared)[threadIdx.x >> 5], nodes, src, dst, queries, num_queries, reachable, rest, control)

extern "C" __global__ void __launch_bounds__(256, sizeof(ROW) == 4 ? 3 : 1) search_in_little(ARGUMENTS) { SEARCH_ALL(10); }

extern "C" __global__ void __launch_bounds__(64, sizeof(ROW) == 4 ? 2 : 1) search_in_much(ARGUMENTS) { SEARCH_ALL(13); }
