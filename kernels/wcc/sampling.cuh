/* Components from a few arcs of each row, then from the arcs of each row outside the giant tree, until it is inside. */
#pragma once

#include "wcc/arcs.cuh"

#define SAMPLED_ARCS 4

/* Link every row to a neighbour of a smaller slot among the heads of its first few arcs. */
template <typename Side>
__device__ void link_rows(Side arcs, const ROW* __restrict__ positions, int64_t num_rows, ROW* parent, ROW* names) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const int64_t first = arcs.offsets[v];
        const int64_t end = min(arcs.offsets[v + 1], first + SAMPLED_ARCS);
        const ROW slot = arcs.slot(v);
        ROW linked = slot;
        for (int64_t arc = first; arc < end && linked == slot; ++arc) {
            linked = min(linked, arcs.head(arc));
        }
        parent[slot] = linked;
        names[slot] = positions[v];
    }
}

/* Unite by the arcs of each small row outside the giant tree, until the row is inside; large rows are queued. */
template <typename Side>
__device__ void unite_outside(Side arcs, bool into, ROW giant, int64_t num_rows, ROW* parent, Chunk* queue, Control* control) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        if (find_root(parent, arcs.slot(v)) == giant) {
            continue;
        }
        const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
        if (end - first >= WARP_ROW) {
            enqueue(queue, &control->queued[1], into ? ~v : v, first, end);
            continue;
        }
        ROW root = arcs.slot(v);
        for (int64_t arc = first; arc < end && root != giant; ++arc) {
            root = unite<RowOrder>(parent, root, arcs.head(arc));
        }
    }
}

/* Unite the rows that are still roots by their first few arcs; large rows are queued, and united by more arcs. */
template <typename Side>
__device__ void unite_roots(Side arcs, int64_t num_rows, ROW* parent, Chunk* queue, Control* control) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const ROW slot = arcs.slot(v);
        if (parent[slot] != slot) {
            continue;
        }
        const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
        if (end - first >= WARP_ROW) {
            enqueue(queue, &control->queued[0], v, first, first + 1);
            continue;
        }
        for (int64_t arc = first; arc < min(end, first + SAMPLED_ARCS); ++arc) {
            if (!arcs.left_out(arc)) {
                unite<RowOrder>(parent, slot, arcs.head(arc));
            }
        }
    }
}
