/* The list of the edges between different trees. */
#pragma once

#include "forest/first_round.cuh"

#define STAGED_BYTES 2048
#define STAGED (STAGED_BYTES / (int)sizeof(Item))
#define LIGHT_ARCS (WIDE ? 2 : 3)
#define HEAVY_ARCS (WIDE ? 1 : 2)

struct __align__(8) Item {
    ROW near, far;
    Key key;
};

/* A warp's buffer in front of the list of edges: one atomic for each full buffer. */
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

/* Lists the arcs of a row: the light ones to larger positions or, if HEAVY, all heavy ones of a row outside the giant tree. */
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
            opened.number = (Bits)g.first_edge[g.positions[v]];
        }
        return opened;
    }

    /* List ARCS arcs per lane, STEP apart, from `arc` on. */
    template <int ARCS, int STEP>
    __device__ __forceinline__ void list(const Row& row, int64_t arc, int64_t end) {
        Key keys[ARCS];
        ROW heads[ARCS], trees_of[ARCS];
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
                heads[i] = g.indices[one];
            }
        }
#pragma unroll
        for (int i = 0; i < ARCS; ++i) {
            if (takes[i]) {
                trees_of[i] = trees[heads[i]];
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
                keys[i].edge = edge_of(g, row.row, heads[i], one - row.start);
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
            const Row row = open(tile + lane);
            const int length = row.end - row.start < CHUNKED_ROW ? (int)(row.end - row.first) : 0;
            const int longest = __reduce_max_sync(FULL_WARP, length);
            for (int k = 0; k < longest; k += 2) {
                list<2, 1>(row, row.first + k, row.first + length);
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
