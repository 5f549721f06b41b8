/* Weak components. Returns for every row the row of smallest external id in its component.

   Method: union-find (union_find.cuh). `join_all` reads every arc. A block first unites the rows of a tile, which are
   consecutive, by the arcs inside the tile, in shared memory with 16-bit indices; then the arcs between tiles unite the tiles'
   trees. A tile has a multiple of 32 rows. `join_sampled` is for graphs with many arcs per row, where one component tends to hold
   nearly all rows (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018). It links every row, without atomics, to a neighbour of a
   smaller number, finds the most frequent root, and then reads only the arcs of rows outside that tree, until one leads into it;
   an arc that leaves the tree is read from its head. A row of up to 31 arcs is read by one lane; the arcs of other rows go
   through a queue, in chunks of up to 1024, to warps.

   Encodings: `labels` holds parents until the last phase; `names` is the smallest position (place in the order of external ids)
   in a root's tree. A queue entry has the row for out-arcs, and its complement for in-arcs. */
#include "wcc/sampling.cuh"
#include "wcc/tiles.cuh"

extern "C" __global__ void __launch_bounds__(TILE_THREADS, 2)
join_all(const int64_t* offsets, const ROW* indices, bool symmetric, int tile, const ROW* positions, const ROW* rows_by_id,
         int64_t num_rows, int64_t most_chunks, Control* control, ROW* labels, ROW* names, Chunk* queue) {
    extern __shared__ __align__(16) unsigned short local[];
    const Arcs out = {offsets, indices};
    uint32_t* const open = (uint32_t*)(queue + most_chunks);
    join_tiles(out, symmetric, tile, num_rows, positions, local, labels, names, queue, control, open);
    grid_barrier(&control->barrier);
    if (control->queued[1] > 0) {
        unite_queued<ScrambledOrder>(out, out, CHUNK, labels, queue, control->queued[1]);
        grid_barrier(&control->barrier);
    }
    name_trees(labels, names, positions, num_rows);
    grid_barrier(&control->barrier);
    forget(control);
    label_rows(labels, names, positions, rows_by_id, num_rows);
}

/* No row from `num_used` on has an arc. */
// spills: with rows of 64 bits, which only graphs of more than 2^31 rows have
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
join_sampled(const int64_t* offsets, const ROW* indices, const int64_t* in_offsets, const ROW* in_indices, bool symmetric,
             int64_t num_used, const ROW* positions, const ROW* rows_by_id, int64_t num_rows, int64_t most_chunks,
             Control* control, ROW* labels, ROW* names, Chunk* queue) {
    (void)most_chunks;
    __shared__ ROW roots[SAMPLED_THREADS];
    __shared__ unsigned long long best;
    const Arcs out = {offsets, indices}, into = {in_offsets, in_indices};
    for (int64_t v = num_used + global_thread(); v < num_rows; v += num_threads()) {
        labels[v] = (ROW)v;
    }
    if (num_used == 0) {
        return;
    }
    join_by_sample(out, num_used, labels, queue, control);
    grid_barrier(&control->barrier);
    if (blockIdx.x == 0) {
        const ROW giant = commonest_root(labels, num_used, roots, &best);
        control->giant = giant;
    }
    flatten(positions, num_used, labels, names);
    grid_barrier(&control->barrier);
    const ROW giant = (ROW)control->giant;
    unite_outside(out, false, giant, num_used, labels, queue, control);
    if (!symmetric) {
        unite_outside(into, true, giant, num_used, labels, queue, control);
    }
    grid_barrier(&control->barrier);
    if (control->queued[1] > 0) {
        unite_queued<RowOrder>(out, into, CHUNK, labels, queue, control->queued[1]);
        grid_barrier(&control->barrier);
    }
    const ROW last = root_of(labels, giant);
    if (global_thread() == 0) {
        control->last = last;
    }
    name_around(giant, last, positions, num_used, labels, names);
    grid_barrier(&control->barrier);
    const ROW of_all = (ROW)control->last;
    forget(control);
    label_around(giant, of_all, names, rows_by_id, num_used, labels);
}
