/* Weak components. Returns for every row the row of smallest external id in its component.

   Method: union-find as in ECL-CC (Jaiganesh, Burtscher, HPDC 2018): every row is first linked, without atomics, to a neighbour
   that comes before it, then the other arcs unite trees: rows of up to 31 arcs by a lane, of up to 1023 by a warp, of more by a
   block. `join_all` reads every arc. `join_sampled` is for graphs of many arcs a row, where one component tends to hold nearly
   all (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018): it links by a few arcs a row, finds the commonest root, and then reads
   the arcs of the rows outside that tree only; an arc into it is read from its outer end.

   Encodings: `labels` holds parents until the last phase; `names` is the smallest rank of a root's tree. A row in `queue` is
   its number for out-arcs, and the complement of it for in-arcs. */
#include "union_find.cuh"

#define THREADS 512
#define WARP_ROW 32
#define BLOCK_ROW 1024
#define SAMPLED_ARCS 4

struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
};

struct Control {
    uint32_t barrier;
    uint32_t queued;
    int64_t giant;
};

/* Link every row to the first neighbour before it, of its first `few` arcs. */
template <typename Order>
__device__ void link_rows(Arcs arcs, int few, const ROW* __restrict__ ranks, int64_t num_rows, ROW* parent, ROW* names) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const int64_t first = arcs.offsets[v];
        const int64_t end = min(arcs.offsets[v + 1], first + few);
        ROW linked = (ROW)v;
        for (int64_t arc = first; arc < end; ++arc) {
            const ROW far = arcs.indices[arc];
            if (Order::before(far, (ROW)v)) {
                linked = far;
                break;
            }
        }
        parent[v] = linked;
        names[v] = ranks[v];
    }
}

/* Unite the ends of the arcs `first + step * k` before `end`; with `once` only those that lead to a row before this one.
   `linked`: the first such arc is linked already. */
template <typename Order>
__device__ __forceinline__ void unite_arcs(Arcs arcs, ROW row, int64_t first, int64_t end, int step, bool once, bool linked,
                                           ROW* parent) {
    ROW root = row;
    for (int64_t arc = first; arc < end; arc += step) {
        const ROW far = arcs.indices[arc];
        const bool precedes = Order::before(far, row);
        if (precedes && linked) {
            linked = false;
        } else if (precedes || !once) {
            root = unite<Order>(parent, root, far);
        }
    }
}

/* The arcs of all rows outside the tree of `giant` (none: -1); rows for a block go to the queue. */
template <typename Order>
__device__ void unite_rows(Arcs arcs, bool into, bool once, ROW giant, int64_t num_rows, ROW* parent, ROW* queue, Control* control) {
    const int lane = threadIdx.x & 31;
    for (int64_t tile = global_thread() - lane; tile < num_rows; tile += num_threads()) {
        const ROW row = (ROW)(tile + lane);
        int64_t first = 0, end = 0;
        if (tile + lane < num_rows && (giant < 0 || find_root(parent, row) != giant)) {
            first = arcs.offsets[row];
            end = arcs.offsets[row + 1];
        }
        if (end - first < WARP_ROW) {
            unite_arcs<Order>(arcs, row, first, end, 1, once, giant < 0, parent);
        }
        if (end - first >= BLOCK_ROW) {
            queue[append(&control->queued)] = into ? ~row : row;
        }
        __syncwarp();
        uint32_t wide = __ballot_sync(FULL_WARP, end - first >= WARP_ROW && end - first < BLOCK_ROW);
        for (; wide != 0; wide &= wide - 1) {
            const int owner = __ffs(wide) - 1;
            const int64_t start = __shfl_sync(FULL_WARP, first, owner);
            const int64_t stop = __shfl_sync(FULL_WARP, end, owner);
            unite_arcs<Order>(arcs, (ROW)(tile + owner), start + lane, stop, 32, once, false, parent);
            __syncwarp();
        }
    }
}

template <typename Order>
__device__ void unite_queued(Arcs out, Arcs into, bool once, ROW* parent, const ROW* queue, const Control* control) {
    for (uint32_t place = blockIdx.x; place < control->queued; place += gridDim.x) {
        const bool reversed = queue[place] < 0;
        const ROW row = reversed ? ~queue[place] : queue[place];
        const Arcs arcs = reversed ? into : out;
        unite_arcs<Order>(arcs, row, arcs.offsets[row] + threadIdx.x, arcs.offsets[row + 1], blockDim.x, once,
                          false, parent);
    }
}

/* Unite the rows that are still roots with their first arcs, a lane each. */
__device__ void unite_roots(Arcs arcs, int64_t num_rows, ROW* parent) {
    const int lane = threadIdx.x & 31;
    for (int64_t tile = global_thread() - lane; tile < num_rows; tile += num_threads()) {
        const int64_t row = tile + lane;
        const bool root = row < num_rows && parent[row] == (ROW)row && arcs.offsets[row] < arcs.offsets[row + 1];
        uint32_t roots = __ballot_sync(FULL_WARP, root);
        for (; roots != 0; roots &= roots - 1) {
            const ROW owner = (ROW)(tile + __ffs(roots) - 1);
            const int64_t arc = arcs.offsets[owner] + lane;
            if (arc < arcs.offsets[owner + 1]) {
                unite<RowOrder>(parent, owner, arcs.indices[arc]);
            }
            __syncwarp();
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
join_all(const int64_t* offsets, const ROW* indices, bool symmetric, const ROW* ranks, const ROW* rows_by_id, int64_t num_rows,
         ROW* labels, ROW* names, ROW* queue, Control* control) {
    const Arcs out = {offsets, indices};
    link_rows<ScrambledOrder>(out, WARP_ROW, ranks, num_rows, labels, names);
    grid_barrier(&control->barrier);
    unite_rows<ScrambledOrder>(out, false, symmetric, (ROW)-1, num_rows, labels, queue, control);
    grid_barrier(&control->barrier);
    if (control->queued > 0) {
        unite_queued<ScrambledOrder>(out, out, symmetric, labels, queue, control);
        grid_barrier(&control->barrier);
    }
    name_trees(labels, names, ranks, num_rows);
    grid_barrier(&control->barrier);
    label_rows(labels, names, ranks, rows_by_id, num_rows);
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
join_sampled(const int64_t* offsets, const ROW* indices, const int64_t* in_offsets, const ROW* in_indices, bool symmetric,
             const ROW* ranks, const ROW* rows_by_id, int64_t num_rows, ROW* labels, ROW* names, ROW* queue, Control* control) {
    __shared__ ROW roots[THREADS];
    __shared__ unsigned long long best;
    const Arcs out = {offsets, indices}, into = {in_offsets, in_indices};
    link_rows<RowOrder>(out, SAMPLED_ARCS, ranks, num_rows, labels, names);
    grid_barrier(&control->barrier);
    unite_roots(out, num_rows, labels);
    grid_barrier(&control->barrier);
    if (blockIdx.x == 0) {
        const ROW giant = commonest_root(labels, num_rows, roots, &best);
        control->giant = giant;
    }
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        labels[v] = find_root(labels, (ROW)v);
    }
    grid_barrier(&control->barrier);
    const ROW giant = (ROW)control->giant;
    unite_rows<RowOrder>(out, false, false, giant, num_rows, labels, queue, control);
    if (!symmetric) {
        unite_rows<RowOrder>(into, true, false, giant, num_rows, labels, queue, control);
    }
    grid_barrier(&control->barrier);
    if (control->queued > 0) {
        unite_queued<RowOrder>(out, into, false, labels, queue, control);
        grid_barrier(&control->barrier);
    }
    name_trees(labels, names, ranks, num_rows);
    grid_barrier(&control->barrier);
    label_rows(labels, names, ranks, rows_by_id, num_rows);
}
