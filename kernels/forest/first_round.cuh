/* Boruvka's first round: every row finds its lightest arc, without atomics. */
#pragma once

#include "forest/edges.cuh"

/* Lightest of the arcs `first`, `first + step`, ... before `end`; `edge` is the arc's index in its row. Heads ascend by position,
   so of a row's arcs of equal weight the first has the lightest edge. */
__device__ __forceinline__ Key lightest_arc(const Edges& g, int64_t start, int64_t first, int64_t end, int step) {
    Key least = {~(Bits)0, ~(Bits)0};
#pragma unroll 4
    for (int64_t arc = first; arc < end; arc += step) {
        const Key key = {weight_of(g, arc), (Bits)(arc - start)};
        least = before(key, least) ? key : least;
    }
    return least;
}

__device__ __forceinline__ void propose(const Edges& g, ROW row, int64_t arc, ROW* parent, ROW* lightest) {
    lightest[row] = (ROW)arc;
    parent[row] = g.indices[g.offsets[row] + arc];
}

/* Point every small row to the head of its lightest arc. */
__device__ void propose_rows(const Edges& g, ROW* parent, ROW* lightest, Minima minima) {
    for (int64_t v = global_thread(); v < g.num_rows; v += num_threads()) {
        const int64_t first = g.offsets[v], end = g.offsets[v + 1];
        minima.weight[v] = ~0ull;
        if (WIDE) {
            minima.edge[v] = ~0ull;
        }
        if (first == end) {
            parent[v] = (ROW)v;
        } else if (end - first < CHUNKED_ROW) {
            propose(g, (ROW)v, (int64_t)lightest_arc(g, first, first, end, 1).edge, parent, lightest);
        }
    }
}

/* The same for the other rows; those of several chunks use the minima. */
__device__ void propose_chunks(const Edges& g, ROW* parent, ROW* lightest, Minima minima, Control* control) {
    const int lane = threadIdx.x & 31;
    for (int step = 0; step < (WIDE ? 2 : 1); ++step) {
        for (int64_t chunk = global_thread() / 32; chunk < g.num_chunks; chunk += num_threads() / 32) {
            const ROW row = g.chunk_rows[chunk];
            const int64_t start = g.offsets[row], first = g.chunk_firsts[chunk], stop = g.offsets[row + 1];
            const Key least = lightest_of_warp(lightest_arc(g, start, first + lane, min(first + CHUNK, stop), 32));
            if (lane == 0 && stop - start <= CHUNK) {
                propose(g, row, (int64_t)least.edge, parent, lightest);
            } else if (lane == 0 && step == 0) {
                offer(minima, row, least);
            } else if (lane == 0) {
                offer_edge(minima, row, least);
            }
        }
        grid_barrier(&control->barrier);
    }
    for (int64_t chunk = global_thread(); chunk < g.num_chunks; chunk += num_threads()) {
        const ROW row = g.chunk_rows[chunk];
        const int64_t start = g.offsets[row];
        if (g.chunk_firsts[chunk] == start && g.offsets[row + 1] - start > CHUNK) {
            propose(g, row, WIDE ? (int64_t)minima.edge[row] : (int64_t)(uint32_t)minima.weight[row], parent, lightest);
            reset(minima, row);
        }
    }
    grid_barrier(&control->barrier);
}

/* Of two rows that propose each other, the smaller becomes a root; the edges of all other rows are in the forest. A row decides
   the same whether it reads its neighbour's proposal before or after that neighbour becomes a root. */
__device__ void accept_proposals(const Edges& g, ROW* parent, const ROW* lightest, uint32_t* marks) {
    for (int64_t v = global_thread(); v < g.num_rows; v += num_threads()) {
        const ROW row = (ROW)v, head = parent[row];
        if (head == row) {
            continue;
        }
        if (row < head && parent[head] == row) {
            parent[row] = row;
        } else {
            mark(marks, edge_of(g, row, head, lightest[row]));
        }
    }
}

/* Give every row its root. Long chains have to be shortened before. */
__device__ void flatten(ROW* parent, int64_t num_rows) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const ROW root = root_of(parent, (ROW)v);
        if (root != parent[v]) {
            parent[v] = root;
        }
    }
}
