/* Minimum spanning forest of a symmetric graph. Returns the edges that the order (weight, smaller external id, larger external
   id) makes lightest, ascending by their external ids, and for every row the row of smallest external id in its tree.

   Method: Boruvka's, in three launches, the last for all rounds but the first. In the first round every row finds its lightest arc by itself, without atomics. The
   edges between different trees are then listed; a round finds each tree's lightest edge by 64-bit minima, links trees by them,
   and closes the gaps of edges that became internal, in place, each warp in its own part of the list (the worklist of ECL-MST:
   Fallin, Gonzalez, Seo, Burtscher, A High-Performance MST Implementation for GPUs, SC 2023). On dense graphs only light
   edges are listed at first; after that one tree holds nearly all rows, and heavy edges are read from the rows outside it only
   (the filter of Osipov, Sanders, Singler, ALENEX 2009, with the skip of Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018).

   Encodings: edges are numbered by (smaller rank, larger rank); the edges of row v to larger ranks are its arcs from `tails[v]` on,
   numbered from `first_edge[ranks[v]]`. Weights are never negative, so their bits, read as an unsigned number, have their
   order. An edge's key is (weight, number): packed into 64 bits with a 32-bit EDGE, in two steps (WIDE) with a 64-bit one.
   `marks` is a bitmap of edges. `labels` holds parents until the last phase, `scratch` first the place of each row's lightest
   arc and then the smallest rank of a root's tree. Rows of CHUNK arcs and more are read in chunks, each by a warp. */
#include "union_find.cuh"

#define THREADS 512
#define WARPS (THREADS / 32)
#define CHUNK 1024
#define STAGED_BYTES 2048
#define LIGHT_ARCS (WIDE ? 2 : 3)
#define HEAVY_ARCS (WIDE ? 1 : 2)
typedef unsigned short uint16_t;

#define WIDE (sizeof(EDGE) == 8)

template <int BYTES>
struct Unsigned {
    typedef uint32_t type;
};
template <>
struct Unsigned<8> {
    typedef uint64_t type;
};
typedef Unsigned<sizeof(EDGE)>::type Bits;

struct Key {
    Bits weight, edge;
};

struct __align__(8) Item {
    ROW near, far;
    Key key;
};

#define STAGED (STAGED_BYTES / (int)sizeof(Item))

struct Control {
    uint32_t barrier;
    uint32_t alive[3];
    unsigned long long listed[2];
    int64_t giant;
    int64_t total;
};

struct Edges {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const WEIGHT* __restrict__ weights;
    const ROW* __restrict__ ranks;
    const ROW* __restrict__ rows_by_id;
    const ROW* __restrict__ tails;
    const EDGE* __restrict__ first_edge;
    const ROW* __restrict__ chunk_rows;
    const int64_t* __restrict__ chunk_firsts;
    int64_t num_rows, num_edges, num_chunks;
};

/* Each tree's lightest key. `edge` is used by WIDE alone. */
struct Minima {
    unsigned long long* weight;
    unsigned long long* edge;
};

__device__ __forceinline__ Bits bits_of(int32_t weight) {
    return (Bits)weight;
}
__device__ __forceinline__ Bits bits_of(int64_t weight) {
    return (Bits)weight;
}
__device__ __forceinline__ Bits bits_of(float weight) {
    return __float_as_uint(weight) & 0x7fffffffu;  // -0 becomes 0
}
__device__ __forceinline__ Bits bits_of(double weight) {
    return (Bits)(__double_as_longlong(weight) & 0x7fffffffffffffffll);
}

__device__ __forceinline__ Bits weight_of(const Edges& g, int64_t arc) {
    return g.weights == nullptr ? 1 : bits_of(g.weights[arc]);
}

__device__ __forceinline__ bool before(Key a, Key b) {
    return a.weight < b.weight || (a.weight == b.weight && a.edge < b.edge);
}

__device__ __forceinline__ unsigned long long packed(Key key) {
    return WIDE ? (unsigned long long)key.weight : (unsigned long long)key.weight << 32 | key.edge;
}

/* A look before the store: many edges end in one tree, and stores to one place wait for each other. */
__device__ __forceinline__ void reset(Minima minima, ROW tree) {
    if (minima.weight[tree] != ~0ull) {
        minima.weight[tree] = ~0ull;
    }
    if (WIDE && minima.edge[tree] != ~0ull) {
        minima.edge[tree] = ~0ull;
    }
}

__device__ __forceinline__ void offer(Minima minima, ROW tree, Key key) {
    const unsigned long long value = packed(key);
    if (value < __ldcg(&minima.weight[tree])) {
        atomicMin(&minima.weight[tree], value);
    }
}

/* WIDE alone, when all weights are in: the smallest edge among the lightest. */
__device__ __forceinline__ void offer_edge(Minima minima, ROW tree, Key key) {
    if (key.weight == minima.weight[tree] && key.edge < __ldcg(&minima.edge[tree])) {
        atomicMin(&minima.edge[tree], (unsigned long long)key.edge);
    }
}

__device__ __forceinline__ bool wins(Minima minima, ROW tree, Key key) {
    return packed(key) == minima.weight[tree] && (!WIDE || key.edge == minima.edge[tree]);
}

/* Number of an arc's edge: of an arc to a smaller rank it is found in the other end's row. */
__device__ Bits edge_of(const Edges& g, ROW row, ROW far, int64_t place) {
    const ROW rank = g.ranks[row];
    if (place >= g.tails[row]) {
        return (Bits)g.first_edge[rank] + (Bits)(place - g.tails[row]);
    }
    const int64_t begin = g.offsets[far] + g.tails[far];
    int64_t low = begin, high = g.offsets[far + 1];
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (g.ranks[g.indices[middle]] < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (Bits)g.first_edge[g.ranks[far]] + (Bits)(low - begin);
}

__device__ __forceinline__ void mark(uint32_t* marks, Bits edge) {
    atomicOr(&marks[edge >> 5], 1u << (edge & 31));
}

/* The lightest of the keys of all lanes, in all lanes. */
__device__ __forceinline__ Key lightest_of_warp(Key key) {
    for (int step = 16; step > 0; step /= 2) {
        const Key other = {__shfl_xor_sync(FULL_WARP, key.weight, step), __shfl_xor_sync(FULL_WARP, key.edge, step)};
        key = before(other, key) ? other : key;
    }
    return key;
}

/* Lightest of the arcs `first`, `first + 32`, ... before `end`; its place in the row stands for the edge. The other ends ascend in
   rank, so of a row's arcs of equal weight the first is the lightest edge. */
__device__ __forceinline__ Key lightest_arc(const Edges& g, int64_t start, int64_t first, int64_t end, int step) {
    Key least = {~(Bits)0, ~(Bits)0};
#pragma unroll 4
    for (int64_t arc = first; arc < end; arc += step) {
        const Key key = {weight_of(g, arc), (Bits)(arc - start)};
        least = before(key, least) ? key : least;
    }
    return least;
}

__device__ __forceinline__ void propose(const Edges& g, ROW row, int64_t place, ROW* parent, ROW* places) {
    places[row] = (ROW)place;
    parent[row] = g.indices[g.offsets[row] + place];
}

/* Point every row to the end of its lightest arc; large rows later, from the minima of their chunks. */
__device__ void propose_rows(const Edges& g, ROW* parent, ROW* places, Minima minima) {
    const int lane = threadIdx.x & 31;
    for (int64_t tile = global_thread() - lane; tile < g.num_rows; tile += num_threads()) {
        const ROW row = (ROW)(tile + lane);
        int64_t first = 0, end = 0;
        if (tile + lane < g.num_rows) {
            first = g.offsets[row];
            end = g.offsets[row + 1];
            minima.weight[row] = ~0ull;
            if (WIDE) {
                minima.edge[row] = ~0ull;
            }
            if (first == end) {
                parent[row] = row;
            }
        }
        if (first < end && end - first < 32) {
            propose(g, row, (int64_t)lightest_arc(g, first, first, end, 1).edge, parent, places);
        }
        __syncwarp();
        uint32_t wide = __ballot_sync(FULL_WARP, end - first >= 32 && end - first < CHUNK);
        for (; wide != 0; wide &= wide - 1) {
            const int owner = __ffs(wide) - 1;
            const int64_t start = __shfl_sync(FULL_WARP, first, owner);
            const int64_t stop = __shfl_sync(FULL_WARP, end, owner);
            const Key least = lightest_of_warp(lightest_arc(g, start, start + lane, stop, 32));
            if (lane == 0) {
                propose(g, (ROW)(tile + owner), (int64_t)least.edge, parent, places);
            }
        }
    }
}

__device__ void propose_chunks(const Edges& g, ROW* parent, ROW* places, Minima minima, Control* control) {
    const int lane = threadIdx.x & 31;
    for (int step = 0; step < (WIDE ? 2 : 1); ++step) {
        for (int64_t chunk = global_thread() / 32; chunk < g.num_chunks; chunk += num_threads() / 32) {
            const ROW row = g.chunk_rows[chunk];
            const int64_t start = g.offsets[row], first = g.chunk_firsts[chunk];
            const int64_t end = min(first + CHUNK, g.offsets[row + 1]);
            const Key least = lightest_of_warp(lightest_arc(g, start, first + lane, end, 32));
            if (lane == 0 && step == 0) {
                offer(minima, row, least);
            }
            if (lane == 0 && step == 1) {
                offer_edge(minima, row, least);
            }
        }
        grid_barrier(&control->barrier);
    }
    for (int64_t chunk = global_thread(); chunk < g.num_chunks; chunk += num_threads()) {
        const ROW row = g.chunk_rows[chunk];
        if (g.chunk_firsts[chunk] == g.offsets[row]) {
            propose(g, row, WIDE ? (int64_t)minima.edge[row] : (int64_t)(uint32_t)minima.weight[row], parent, places);
            reset(minima, row);
        }
    }
    grid_barrier(&control->barrier);
}

/* Of two rows that propose each other, the smaller becomes a root; every other row's edge is in the forest. A row that reads
   its neighbour's proposal reads the same before and after that neighbour became a root. */
__device__ void accept_proposals(const Edges& g, ROW* parent, const ROW* places, uint32_t* marks) {
    for (int64_t v = global_thread(); v < g.num_rows; v += num_threads()) {
        const ROW row = (ROW)v, far = parent[row];
        if (far == row) {
            continue;
        }
        if (row < far && parent[far] == row) {
            parent[row] = row;
        } else {
            mark(marks, edge_of(g, row, far, places[row]));
        }
    }
}

/* Give every row its root; long chains have to be shortened before. */
__device__ void flatten(ROW* parent, int64_t num_rows) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const ROW root = root_of(parent, (ROW)v);
        if (root != parent[v]) {
            parent[v] = root;
        }
    }
}

/* A warp's buffer in front of the list of edges: one atomic for a buffer full. */
struct Stage {
    Item* slots;
    int count;
    Item* items;
    unsigned long long* listed;
    int64_t capacity;

    __device__ __forceinline__ void push(bool take, const Item& item) {
        const uint32_t taken = __ballot_sync(FULL_WARP, take);
        if (taken == 0) {
            return;
        }
        if (take) {
            slots[count + __popc(taken & ((1u << (threadIdx.x & 31)) - 1))] = item;
        }
        count += __popc(taken);
        __syncwarp();
        if (count > STAGED - 32) {
            flush();
        }
    }

    __device__ void flush() {
        const int lane = threadIdx.x & 31;
        unsigned long long first = 0;
        if (lane == 0 && count > 0) {
            first = atomicAdd(listed, (unsigned long long)count);
        }
        first = __shfl_sync(FULL_WARP, first, 0);
        for (int slot = lane; slot < count; slot += 32) {
            if ((int64_t)first + slot < capacity) {
                items[first + slot] = slots[slot];
            }
        }
        __syncwarp();
        count = 0;
    }
};

/* The arcs to list of one row: the light ones to larger ranks, or, of a row outside the giant tree, all the heavy ones. */
template <bool HEAVY>
struct Lister {
    const Edges& g;
    const ROW* trees;
    Key limit;
    bool all_light;
    ROW giant;
    Minima minima;
    Stage stage;

    struct Row {
        ROW row, tree;
        int64_t start, first, end;
        Bits number;
    };

    __device__ __forceinline__ Row open(int64_t v) const {
        Row opened = {(ROW)v, 0, 0, 0, 0, 0};
        if (v >= g.num_rows) {
            return opened;
        }
        opened.start = g.offsets[v];
        opened.end = g.offsets[v + 1];
        opened.first = opened.start + (HEAVY ? 0 : g.tails[v]);
        opened.tree = trees[v];
        if (HEAVY && opened.tree == giant) {
            opened.first = opened.end;
        }
        if (!HEAVY && opened.first < opened.end) {
            opened.number = (Bits)g.first_edge[g.ranks[v]];
        }
        return opened;
    }

    /* ARCS arcs a lane, STEP apart, from `arc` on. */
    template <int ARCS, int STEP>
    __device__ __forceinline__ void list(const Row& row, int64_t arc, int64_t end) {
        Key keys[ARCS];
        ROW fars[ARCS], trees_of[ARCS];
        bool takes[ARCS];
#pragma unroll
        for (int i = 0; i < ARCS; ++i) {
            const int64_t one = arc + STEP * i;
            takes[i] = one < end;
            if (takes[i] && (HEAVY || !all_light)) {
                keys[i].weight = weight_of(g, one);
            }
        }
#pragma unroll
        for (int i = 0; i < ARCS; ++i) {
            const int64_t one = arc + STEP * i;
            keys[i].edge = HEAVY ? 0 : row.number + (Bits)(one - row.first);
            if (HEAVY) {
                takes[i] = takes[i] && keys[i].weight >= limit.weight;
            } else if (!all_light) {
                takes[i] = takes[i] && !before(limit, keys[i]);
            }
            if (takes[i]) {
                fars[i] = g.indices[one];
            }
        }
#pragma unroll
        for (int i = 0; i < ARCS; ++i) {
            if (takes[i]) {
                trees_of[i] = trees[fars[i]];
                takes[i] = trees_of[i] != row.tree;
            }
        }
#pragma unroll
        for (int i = 0; i < ARCS; ++i) {
            const int64_t one = arc + STEP * i;
            if (HEAVY && takes[i]) {
                takes[i] = trees_of[i] == giant || one - row.start >= g.tails[row.row];
            }
            if (HEAVY && takes[i]) {
                keys[i].edge = edge_of(g, row.row, fars[i], one - row.start);
                takes[i] = before(limit, keys[i]);
            }
            if (HEAVY && takes[i]) {
                reset(minima, row.tree);
                reset(minima, trees_of[i]);
            }
            if (!HEAVY && all_light && takes[i]) {
                keys[i].weight = weight_of(g, one);
            }
            stage.push(takes[i], Item{row.tree, trees_of[i], keys[i]});
        }
    }

    __device__ __forceinline__ void list_by_warp(const Row& row, int64_t begin, int64_t end) {
        constexpr int arcs = HEAVY ? HEAVY_ARCS : LIGHT_ARCS;
        for (int64_t arc = begin; arc < end; arc += 32 * arcs) {
            list<arcs, 32>(row, arc + (threadIdx.x & 31), end);
        }
    }

    __device__ void list_rows() {
        const int lane = threadIdx.x & 31;
        for (int64_t tile = global_thread() - lane; tile < g.num_rows; tile += num_threads()) {
            const Row mine = open(tile + lane);
            const int64_t length = mine.end - mine.start < CHUNK ? mine.end - mine.first : 0;
            const int longest = __reduce_max_sync(FULL_WARP, length < 32 ? (int)length : 0);
            for (int k = 0; k < longest; k += 2) {
                list<2, 1>(mine, mine.first + k, length < 32 ? mine.end : 0);
            }
            uint32_t wide = __ballot_sync(FULL_WARP, length >= 32);
            for (; wide != 0; wide &= wide - 1) {
                const Row row = open(tile + __ffs(wide) - 1);
                list_by_warp(row, row.first, row.end);
            }
        }
        for (int64_t chunk = global_thread() / 32; chunk < g.num_chunks; chunk += num_threads() / 32) {
            const Row row = open(g.chunk_rows[chunk]);
            const int64_t begin = g.chunk_firsts[chunk];
            list_by_warp(row, max(begin, row.first), min(begin + CHUNK, row.end));
        }
        stage.flush();
    }
};

/* The tree that most of a warp's lanes hold, or -1 where no four agree. */
__device__ __forceinline__ ROW commonest_of_warp(ROW near, ROW far) {
    const int lane = threadIdx.x & 31;
    const int nears = __reduce_max_sync(FULL_WARP, __popc(__match_any_sync(FULL_WARP, near)) * 32 + lane);
    const int fars = __reduce_max_sync(FULL_WARP, __popc(__match_any_sync(FULL_WARP, far)) * 32 + lane);
    const ROW tree = __shfl_sync(FULL_WARP, nears > fars ? near : far, max(nears, fars) & 31);
    return max(nears, fars) >= 4 * 32 ? tree : (ROW)-1;
}

/* A warp's part of the list: every so manieth tile of 32 edges, so that all warps are in one region of the graph at a time. */
struct Part {
    Item* items;
    int64_t warp, warps;

    __device__ __forceinline__ Item& operator[](int64_t i) const {
        return items[((i >> 5) * warps + warp) * 32 + (i & 31)];
    }
    __device__ int64_t size(int64_t listed) const {
        const int64_t tiles = (listed + 31) / 32;
        const int64_t own = tiles > warp ? (tiles - 1 - warp) / warps + 1 : 0;
        return own * 32 - (own > 0 && (tiles - 1) % warps == warp ? tiles * 32 - listed : 0);
    }
};

/* Offer the part's edges to the trees at their ends. What most of a warp's edges share is offered once. */
__device__ void offer_part(const Part& part, int64_t count, Minima minima) {
    const int lane = threadIdx.x & 31;
    if (count == 0) {
        return;
    }
    const bool any = lane < count;
    const ROW shared = commonest_of_warp(any ? part[lane].near : (ROW)(-1 - lane), any ? part[lane].far : (ROW)(-1 - lane));
    Key least = {~(Bits)0, ~(Bits)0};
#pragma unroll 2
    for (int64_t i = lane; i < count; i += 32) {
        const Item item = part[i];
        if (item.near == shared || item.far == shared) {
            least = before(item.key, least) ? item.key : least;
        }
        if (item.near != shared) {
            offer(minima, item.near, item.key);
        }
        if (item.far != shared) {
            offer(minima, item.far, item.key);
        }
    }
    least = lightest_of_warp(least);
    if (lane == 0 && shared >= 0) {
        offer(minima, shared, least);
    }
}

/* Link trees by the edges that are the lightest of one of them. */
__device__ void link_part(const Part& part, int64_t count, Minima minima, ROW* parent, uint32_t* marks) {
#pragma unroll 2
    for (int64_t i = threadIdx.x & 31; i < count; i += 32) {
        const Item item = part[i];
        const bool near_wins = wins(minima, item.near, item.key), far_wins = wins(minima, item.far, item.key);
        if (near_wins && (!far_wins || item.near > item.far)) {
            parent[item.near] = item.far;
        } else if (far_wins) {
            parent[item.far] = item.near;
        }
        if (near_wins || far_wins) {
            mark(marks, item.key.edge);
        }
    }
}

/* Lead the edges' ends to the roots and keep those between two trees; return how many. */
__device__ int64_t keep_part(const Part& part, int64_t count, Minima minima, ROW* parent) {
    const int lane = threadIdx.x & 31;
    int64_t kept = 0;
    for (int64_t tile = 0; tile < count; tile += 64) {
        Item pair[2];
        bool stays[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            stays[i] = tile + 32 * i + lane < count;
            if (stays[i]) {
                pair[i] = part[tile + 32 * i + lane];
            }
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (stays[i]) {
                pair[i].near = find_root(parent, pair[i].near);
                pair[i].far = find_root(parent, pair[i].far);
                stays[i] = pair[i].near != pair[i].far;
            }
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint32_t staying = __ballot_sync(FULL_WARP, stays[i]);
            if (stays[i]) {
                reset(minima, pair[i].near);
                reset(minima, pair[i].far);
                part[kept + __popc(staying & ((1u << lane) - 1))] = pair[i];
            }
            kept += __popc(staying);
        }
    }
    return kept;
}

/* Boruvka's rounds over the first `listed` items, until no edge joins two trees. */
__device__ __noinline__ void join_listed(Item* items, int64_t listed, Minima minima, ROW* parent, uint32_t* marks, Control* control) {
    const Part part = {items, global_thread() / 32, num_threads() / 32};
    int64_t count = part.size(listed);
    for (int round = 0;; ++round) {
        if (global_thread() == 0) {
            control->alive[(round + 1) % 3] = 0;
        }
        offer_part(part, count, minima);
        grid_barrier(&control->barrier);
        if (WIDE) {
            for (int64_t i = threadIdx.x & 31; i < count; i += 32) {
                const Item item = part[i];
                offer_edge(minima, item.near, item.key);
                offer_edge(minima, item.far, item.key);
            }
            grid_barrier(&control->barrier);
        }
        link_part(part, count, minima, parent, marks);
        grid_barrier(&control->barrier);
        count = keep_part(part, count, minima, parent);
        if (__syncthreads_or(count > 0) && threadIdx.x == 0) {
            control->alive[round % 3] = 1;
        }
        grid_barrier(&control->barrier);
        if (control->alive[round % 3] == 0) {
            return;
        }
    }
}

/* Marks in each warp's part of the bitmap. */
__device__ void count_marks(const uint32_t* marks, int64_t num_words, uint32_t* counts) {
    const int lane = threadIdx.x & 31;
    const int64_t warp = global_thread() / 32, warps = num_threads() / 32;
    int count = 0;
    for (int64_t word = num_words * warp / warps + lane; word < num_words * (warp + 1) / warps; word += 32) {
        count += __popc(marks[word]);
    }
    count = __reduce_add_sync(FULL_WARP, count);
    if (lane == 0) {
        counts[warp] = count;
    }
}

/* The last rank of `low..high-1` whose edges begin at or before `edge`. */
__device__ __forceinline__ int64_t rank_of_edge(const EDGE* __restrict__ first_edge, int64_t low, int64_t high, Bits edge) {
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if ((Bits)first_edge[middle] <= edge) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Write the marked edges in their order. `sums` is the block's, and `slots` the warp's, in shared memory. */
__device__ void write_edges(const Edges& g, const uint32_t* marks, int64_t num_words, const uint32_t* counts,
                            unsigned long long* sums, uint16_t* slots, ROW* src, ROW* dst, WEIGHT* weights, Control* control) {
    const int lane = threadIdx.x & 31, own = threadIdx.x / 32;
    const int64_t warp = global_thread() / 32, warps = num_threads() / 32;
    if (threadIdx.x == 0) {
        *sums = 0;
    }
    __syncthreads();
    unsigned long long before_block = 0;
    for (int64_t other = threadIdx.x; other < warp - own; other += blockDim.x) {
        before_block += counts[other];
    }
    atomicAdd(sums, before_block);
    __syncthreads();
    int64_t place = (int64_t)*sums;
    for (int other = 0; other < own; ++other) {
        place += counts[warp - own + other];
    }
    if (warp == warps - 1 && lane == 0) {
        control->total = place + counts[warp];
    }
    const int64_t first_word = num_words * warp / warps, end_word = num_words * (warp + 1) / warps;
    if (counts[warp] == 0) {
        return;
    }
    int64_t low = rank_of_edge(g.first_edge, 0, g.num_rows, (Bits)first_word * 32);
    const int64_t last = min(end_word * 32, g.num_edges) - 1;
    const int64_t high = rank_of_edge(g.first_edge, low, g.num_rows, (Bits)last) + 1;
    for (int64_t tile = first_word; tile < end_word; tile += 32) {
        uint32_t word = tile + lane < end_word ? marks[tile + lane] : 0;
        int slot = __popc(word), marked = slot;
        for (int step = 1; step < 32; step *= 2) {
            const int lower = __shfl_up_sync(FULL_WARP, marked, step);
            marked += lane >= step ? lower : 0;
        }
        slot = marked - slot;
        marked = __shfl_sync(FULL_WARP, marked, 31);
        for (; word != 0; word &= word - 1) {
            slots[slot++] = (uint16_t)(lane * 32 + __ffs(word) - 1);
        }
        __syncwarp();
        int64_t rank = low;
        for (int i = lane; i < marked; i += 32) {
            const Bits edge = (Bits)tile * 32 + slots[i];
            rank = rank_of_edge(g.first_edge, low, high, edge);
            const ROW row = g.rows_by_id[rank];
            const int64_t arc = g.offsets[row] + g.tails[row] + (int64_t)(edge - (Bits)g.first_edge[rank]);
            src[place + i] = row;
            dst[place + i] = g.indices[arc];
            if (g.weights != nullptr) {
                weights[place + i] = g.weights[arc];
            }
        }
        low = __shfl_sync(FULL_WARP, rank, (marked - 1) & 31);
        place += marked;
    }
}

/* What the kernels of a search take. */
#define PARAMETERS                                                                                                              \
    const int64_t *offsets, const ROW *indices, const WEIGHT *weights, const ROW *ranks, const ROW *rows_by_id, const ROW *tails, \
        const EDGE *first_edge, const ROW *chunk_rows, const int64_t *chunk_firsts, int64_t num_rows, int64_t num_edges,          \
        int64_t num_chunks, int64_t light_weight, int64_t light_edge, bool all_light, int64_t capacity, ROW *labels,              \
        ROW *scratch, unsigned long long *minima_weight, unsigned long long *minima_edge, Item *items, uint32_t *marks,           \
        uint32_t *counts, ROW *src, ROW *dst, WEIGHT *out_weights, Control *control

#define SETTING                                                                                                        \
    const Edges g = {offsets,    indices,    weights,      ranks,    rows_by_id, tails,                                \
                     first_edge, chunk_rows, chunk_firsts, num_rows, num_edges,  num_chunks};                          \
    const Minima minima = {minima_weight, minima_edge};                                                                \
    const Key limit = {(Bits)light_weight, (Bits)light_edge};                                                          \
    const int64_t num_words = (num_edges + 31) / 32; \
    (void)num_words, (void)limit, (void)minima;

/* The first round. */
extern "C" __global__ void __launch_bounds__(THREADS, 3) begin(PARAMETERS) {
    SETTING
    for (int64_t word = global_thread(); word < num_words; word += num_threads()) {
        marks[word] = 0;
    }
    propose_rows(g, labels, scratch, minima);
    grid_barrier(&control->barrier);
    if (num_chunks > 0) {
        propose_chunks(g, labels, scratch, minima, control);
    }
    accept_proposals(g, labels, scratch, marks);
    grid_barrier(&control->barrier);
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        find_root(labels, (ROW)v);
        scratch[v] = ranks[v];
    }
    grid_barrier(&control->barrier);
    flatten(labels, num_rows);
}

/* List the light edges that the first round leaves. */
extern "C" __global__ void __launch_bounds__(THREADS, 2) list_light(PARAMETERS) {
    __shared__ __align__(16) char staged[WARPS * STAGED_BYTES];
    SETTING
    const Stage stage = {(Item*)(staged + threadIdx.x / 32 * STAGED_BYTES), 0, items, &control->listed[0], capacity};
    Lister<false> light = {g, labels, limit, all_light, (ROW)-1, minima, stage};
    light.list_rows();
}

/* The other rounds, and the answer. Without room for all listed edges it leaves nothing but their number. */
extern "C" __global__ void __launch_bounds__(THREADS, 2) finish(PARAMETERS) {
    __shared__ __align__(16) char staged[WARPS * STAGED_BYTES];
    __shared__ unsigned long long best;
    SETTING
    const Stage stage = {(Item*)(staged + threadIdx.x / 32 * STAGED_BYTES), 0, items, &control->listed[1], capacity};
    if ((int64_t)control->listed[0] > capacity) {
        return;
    }
    join_listed(items, (int64_t)control->listed[0], minima, labels, marks, control);
    if (!all_light) {
        if (blockIdx.x == 0) {
            control->giant = commonest_root(labels, num_rows, (ROW*)staged, &best);
        }
        flatten(labels, num_rows);
        grid_barrier(&control->barrier);
        Lister<true> heavy = {g, labels, limit, all_light, (ROW)control->giant, minima, stage};
        heavy.list_rows();
        grid_barrier(&control->barrier);
        if ((int64_t)control->listed[1] > capacity) {
            return;
        }
        join_listed(items, (int64_t)control->listed[1], minima, labels, marks, control);
    }
    name_trees(labels, scratch, ranks, num_rows);
    count_marks(marks, num_words, counts);
    grid_barrier(&control->barrier);
    label_rows(labels, scratch, ranks, rows_by_id, num_rows);
    write_edges(g, marks, num_words, counts, &best, (uint16_t*)stage.slots, src, dst, out_weights, control);
}

/* Number of each row's arcs to smaller ranks, and by rank the number of the others. */
extern "C" __global__ void find_tails(const int64_t* offsets, const ROW* indices, const ROW* ranks, int64_t num_rows, ROW* tails,
                                      int64_t* edges) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        int64_t low = offsets[v], high = offsets[v + 1];
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (ranks[indices[middle]] < ranks[v]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        tails[v] = (ROW)(low - offsets[v]);
        edges[ranks[v]] = offsets[v + 1] - low;
    }
}
