/* Minimum spanning forest of a symmetric graph. Returns the edges that the order (weight, smaller external id, larger external
   id) makes lightest, ascending by their external ids, and for every row the row of smallest external id in its tree.

   Method: Boruvka's, in four launches, the third for all rounds but the first. In the first round every row finds its lightest
   arc, without atomics. The edges between different trees are then listed. A round finds the lightest edge of each tree by 64-bit
   atomic minima, links trees by these edges, and removes the edges that are now inside a tree, in place, each warp in its own
   part of the list (the worklist of ECL-MST: Fallin, Gonzalez, Seo, Burtscher, A High-Performance MST Implementation for GPUs, SC
   2023). On dense graphs only light edges are listed at first; after they are joined, one tree holds nearly all rows, and heavy
   edges are read only from the rows outside it (the filter of Osipov, Sanders, Singler, ALENEX 2009, with the skip of Afforest:
   Sutton, Ben-Nun, Barak, IPDPS 2018).

   Encodings: edges are numbered by (smaller position, larger position) of their endpoints; the edges of row v to larger positions
   are its arcs from `tails[v]` on, numbered from `first_edge[positions[v]]`. Weights are never negative, so their bits, read as
   an unsigned integer, have the same order. An edge's key is (weight, number), packed into 64 bits with a 32-bit EDGE; a 64-bit
   EDGE (WIDE) takes two minima. `marks` is a bitmap of edges. `labels` holds parents until the last phase. `scratch` is each
   row's lightest arc in the first launch, where it may overlap `items`; in the last launch it is the smallest position of a
   root's tree and comes in as the positions. A row of up to 31 arcs is read by one lane; warps read other rows in chunks of up to
   1024 arcs. */
#include "forest/rounds.cuh"
#include "forest/writing.cuh"

#define WARPS (THREADS / 32)

/* Parameters of the kernels of a search. */
#define PARAMETERS                                                                                                     \
    const int64_t *offsets, const ROW *indices, const WEIGHT *weights, const ROW *positions, const ROW *rows_by_id,    \
        const ROW *tails, const EDGE *first_edge, const ROW *chunk_rows, const int64_t *chunk_firsts, int64_t num_rows, \
        int64_t num_edges, int64_t num_chunks, int64_t light_weight, int64_t light_edge, bool all_light,               \
        int64_t capacity, ROW *labels, ROW *scratch, unsigned long long *minima_weight,                                \
        unsigned long long *minima_edge, Item *items, uint32_t *marks,                                                 \
        uint32_t *counts, ROW *src, ROW *dst, WEIGHT *out_weights, Control *control

#define SETTING                                                                                                        \
    const Edges g = {offsets,    indices,    weights,      positions, rows_by_id, tails,                               \
                     first_edge, chunk_rows, chunk_firsts, num_rows,  num_chunks};                                     \
    const Minima minima = {minima_weight, minima_edge};                                                                \
    const Key limit = {(Bits)light_weight, (Bits)light_edge};                                                          \
    (void)limit, (void)minima;

/* The first round. */
// spills: one register on sm_100; chains of dependent loads need more threads
extern "C" __global__ void __launch_bounds__(THREADS, WIDE ? 3 : 4) begin(PARAMETERS) {
    SETTING
    for (int64_t word = global_thread(); word < (num_edges + 31) / 32; word += num_threads()) {
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
    }
    grid_barrier(&control->barrier);
    flatten(labels, num_rows);
}

/* List the light edges that the first round leaves. */
extern "C" __global__ void __launch_bounds__(THREADS, WIDE ? 1 : 2) list_light(PARAMETERS) {
    __shared__ __align__(16) char staged[WARPS * STAGED_BYTES];
    SETTING
    const Stage stage = {(Item*)(staged + threadIdx.x / 32 * STAGED_BYTES), 0, items, &control->listed[0], capacity};
    Lister<false> light = {g, labels, limit, all_light, (ROW)-1, minima, stage};
    light.list_rows();
}

/* The other rounds. If `capacity` is less than the number of listed edges, only that number is returned. */
extern "C" __global__ void __launch_bounds__(THREADS, WIDE ? 1 : 2) join(PARAMETERS) {
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
}

/* The answer: labels, and the marked edges in their order. `counts` has two words per block, then one per tile. */
// spills: one register on sm_80; the loads need more threads
extern "C" __global__ void __launch_bounds__(THREADS, WIDE ? 2 : 3) answer(PARAMETERS) {
    __shared__ uint16_t slots[WARPS * MARKS_OF_TILE];
    __shared__ uint32_t of_warps[WARPS];
    SETTING
    if ((int64_t)max(control->listed[0], control->listed[1]) > capacity) {
        return;
    }
    const Tiles tiles(num_edges);
    const Sums sums = {counts + 2 * gridDim.x, (unsigned long long*)counts};
    name_trees(labels, scratch, positions, num_rows);
    count_marks(tiles, marks, sums);
    grid_barrier(&control->barrier);
    label_rows(labels, scratch, positions, rows_by_id, num_rows);
    sum_group(tiles, sums, of_warps);
    grid_barrier(&control->barrier);
    write_edges(g, tiles, marks, sums, slots + threadIdx.x / 32 * MARKS_OF_TILE, src, dst, out_weights, control);
}

/* Number of each row's arcs to smaller positions, and by position the number of its other arcs. */
extern "C" __global__ void find_tails(const int64_t* offsets, const ROW* indices, const ROW* positions, int64_t num_rows,
                                      ROW* tails, int64_t* edges) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const int64_t low = first_not(
            offsets[v], offsets[v + 1], [=](int64_t arc) { return positions[indices[arc]] < positions[v]; });
        tails[v] = (ROW)(low - offsets[v]);
        edges[positions[v]] = offsets[v + 1] - low;
    }
}
