/* Components from a few arcs of each row, and from the arcs of the rows outside the giant tree, until they are inside. */
#pragma once

#include "wcc/arcs.cuh"

#define SAMPLED_THREADS 512
#define SAMPLED_ARCS 4

/* Link every row to the first neighbour before it, of its first few arcs. */
template <typename Side>
__device__ void link_rows(Side arcs, const ROW* __restrict__ ranks, int64_t num_rows, ROW* parent, ROW* names) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const int64_t first = arcs.offsets[v];
        const int64_t end = min(arcs.offsets[v + 1], first + SAMPLED_ARCS);
        const ROW place = arcs.place(v);
        ROW linked = place;
        for (int64_t arc = first; arc < end && linked == place; ++arc) {
            linked = min(linked, arcs.far(arc));
        }
        parent[place] = linked;
        names[place] = ranks[v];
    }
}

/* Unite by the arcs of the small rows outside the giant tree, one after the other until a row is inside; large rows go to the queue. */
template <typename Side>
__device__ void unite_outside(Side arcs, bool into, ROW giant, int64_t num_rows, ROW* parent, Chunk* queue, Control* control) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        if (find_root(parent, arcs.place(v)) == giant) {
            continue;
        }
        const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
        if (end - first >= WARP_ROW) {
            enqueue(queue, &control->queued[1], into ? ~v : v, first, end);
            continue;
        }
        ROW root = arcs.place(v);
        for (int64_t arc = first; arc < end && root != giant; ++arc) {
            root = unite<RowOrder>(parent, root, arcs.far(arc));
        }
    }
}

/* Unite the rows that are still roots by their first few arcs; large ones by more, through the queue. */
template <typename Side>
__device__ void unite_roots(Side arcs, int64_t num_rows, ROW* parent, Chunk* queue, Control* control) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const ROW place = arcs.place(v);
        if (parent[place] != place) {
            continue;
        }
        const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
        if (end - first >= WARP_ROW) {
            enqueue(queue, &control->queued[0], v, first, first + 1);
            continue;
        }
        for (int64_t arc = first; arc < min(end, first + SAMPLED_ARCS); ++arc) {
            if (!arcs.left_out(arc)) {
                unite<RowOrder>(parent, place, arcs.far(arc));
            }
        }
    }
}
