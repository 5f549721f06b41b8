/* Components from a few arcs of each row, then from the arcs of each row outside the giant tree, until it is inside. */
#pragma once

#include "wcc/arcs.cuh"

#define SAMPLED_ARCS 4

/* What is read of a row to link it. */
struct FirstArc {
    int64_t first, end;
    ROW head;
};

/* Link every row to a neighbour of a smaller slot among the heads of its first few arcs. */
template <typename Side>
__device__ void link_rows(Side arcs, int64_t num_rows, ROW* parent) {
    for_rows(
        num_rows,
        [=](int64_t v) {
            const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
            return FirstArc{first, end, first < end ? arcs.head(first) : arcs.slot(v)};
        },
        [=](int64_t v, const FirstArc& read) {
            const ROW slot = arcs.slot(v);
            const int64_t end = min(read.end, read.first + SAMPLED_ARCS);
            ROW linked = min(slot, read.head);
            for (int64_t arc = read.first + 1; arc < end && linked == slot; ++arc) {
                linked = min(linked, arcs.head(arc));
            }
            parent[slot] = linked;
        });
}

/* Unite by the arcs of each small row outside the giant tree, until the row is inside; large rows are queued. */
template <typename Side>
__device__ void unite_outside(Side arcs, bool into, ROW giant, int64_t num_rows, ROW* parent, Chunk* queue, Control* control) {
    for_rows(
        num_rows, [=](int64_t v) { return parent[arcs.slot(v)]; },
        [=](int64_t v, ROW above) {
            if (above == giant || find_root(parent, above) == giant) {
                return;
            }
            const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
            if (end - first >= WARP_ROW) {
                enqueue(queue, &control->queued[1], into ? ~v : v, first, end);
                return;
            }
            ROW root = arcs.slot(v);
            for (int64_t arc = first; arc < end && root != giant; ++arc) {
                root = unite<RowOrder>(parent, root, arcs.head(arc));
            }
        });
}

/* Unite the rows that are still roots by their first few arcs; large rows are queued, and united by more arcs. */
template <typename Side>
__device__ void unite_roots(Side arcs, int64_t num_rows, ROW* parent, Chunk* queue, Control* control) {
    for_rows(
        num_rows, [=](int64_t v) { return parent[arcs.slot(v)]; },
        [=](int64_t v, ROW above) {
            const ROW slot = arcs.slot(v);
            if (above != slot) {
                return;
            }
            const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
            if (end - first >= WARP_ROW) {
                enqueue(queue, &control->queued[0], v, first, first + 1);
                return;
            }
            for (int64_t arc = first; arc < min(end, first + SAMPLED_ARCS); ++arc) {
                if (!arcs.left_out(arc)) {
                    unite<RowOrder>(parent, slot, arcs.head(arc));
                }
            }
        });
}

/* Link the queued roots to the neighbour of the smallest slot among the heads of their first WARP_ROW arcs, without atomics: each
   is queued once, and no other row is linked meanwhile. */
template <typename Side>
__device__ void link_queued(Side arcs, ROW* parent, const Chunk* queue, uint32_t queued) {
    const int lane = threadIdx.x & 31;
    for (uint32_t entry = global_thread() / 32; entry < queued; entry += num_threads() / 32) {
        const Chunk chunk = queue[entry];
        const ROW slot = arcs.slot(chunk.row);
        ROW least = arcs.left_out(chunk.first + lane) ? slot : arcs.head(chunk.first + lane);
        for (int step = 16; step > 0; step >>= 1) {
            const ROW other = __shfl_xor_sync(FULL_WARP, least, step);
            least = min(least, other);
        }
        if (lane == 0 && least < slot) {
            parent[slot] = least;
        }
    }
}

/* Join the rows by a few arcs of each. Most rows find a neighbour of a smaller slot to link to. */
template <typename Side>
__device__ __forceinline__ void join_by_sample(Side arcs, int64_t num_rows, ROW* parent, Chunk* queue, Control* control) {
    link_rows(arcs, num_rows, parent);
    grid_barrier(&control->barrier);
    unite_roots(arcs, num_rows, parent, queue, control);
    grid_barrier(&control->barrier);
    link_queued(arcs, parent, queue, control->queued[0]);
    grid_barrier(&control->barrier);
    unite_queued<RowOrder, true>(arcs, arcs, WARP_ROW, parent, queue, control->queued[0]);
}

/* Give every row its root, and roots their positions as names. No tree changes meanwhile. */
__device__ void flatten(const ROW* __restrict__ positions, int64_t num_rows, ROW* parent, ROW* names) {
    for_rows(
        num_rows, [=](int64_t v) { return parent[parent[parent[v]]]; },
        [=](int64_t v, ROW above) {
            const ROW root = root_of(parent, above);
            parent[v] = root;
            if (root == (ROW)v) {
                names[v] = positions[v];
            }
        });
}

struct Named {
    ROW root, position;
};

/* Give every row outside the giant tree its root, and every root the smallest position in its tree; `names` comes in as the
   positions of roots. Rows whose parent is `giant` keep it; the root of their tree is `last`. */
__device__ void name_around(
    ROW giant, ROW last, const ROW* __restrict__ positions, int64_t num_rows, ROW* parent, ROW* names) {
    ROW least = positions[giant];
    for_rows(
        num_rows, [=](int64_t v) { return Named{parent[v], positions[v]}; },
        [&](int64_t v, const Named& row) {
            if (row.root == giant) {
                least = min(least, row.position);
                return;
            }
            const ROW root = root_of(parent, row.root);
            if (root == (ROW)v) {
                return;
            }
            parent[v] = root;
            if (row.position < names[root]) {
                atomicMin(&names[root], row.position);
            }
        });
    lower_names(last, least, names);
}

/* Turn roots into labels, as `name_around` left them. */
__device__ void label_around(
    ROW giant, ROW last, const ROW* __restrict__ names, const ROW* __restrict__ rows_by_id, int64_t num_rows, ROW* parent) {
    const ROW label = rows_by_id[names[last]];
    for_rows(
        num_rows, [=](int64_t v) { return parent[v]; },
        [=](int64_t v, ROW root) { parent[v] = root == giant ? label : rows_by_id[names[root]]; });
}
