/* Trees of union-find that may have parts on several ranks: their numbers, the edges between them, and their names.

   A rank numbers its shared trees in the order in which its threads find them. If a numbered tree becomes part of the giant
   component, it keeps its number, and an edge leads from it to the giant component. Every rank then joins the trees of all ranks
   by these edges.

   Encodings: number 0 is the tree of slot GIANT; `numbers` has NONE at roots without a number. An entry that ranks send is a
   pair, row and tree number. An edge leads from a tree of this rank (near) to one of another (far): the other rank, shifted by
   RANK_SHIFT, plus the number there. A rank's message holds the smallest positions in its trees and the rows that have them, then
   the near and the far ends of its edges. In the messages, the numbers of rank r + 1 follow those of rank r. */
#include "distributed/gpu/owners.cuh"
#include "gpu/union_find.cuh"

#define GIANT 0
#define NONE ((ROW)-1)
#define TAKEN ((ROW)-2)
#define RANK_SHIFT 40

/* `trees` and `edges` count what was appended; the giant component is not counted as a tree. */
struct Control {
    uint32_t barrier;
    uint64_t trees, edges;
};

__device__ __forceinline__ ROW number_of(const ROW* parent, const ROW* numbers, ROW slot) {
    const ROW root = root_of(parent, slot);
    return root == GIANT ? 0 : numbers[root];
}

/* Number the trees of the listed ghosts, and write an entry for each. */
extern "C" __global__ void __launch_bounds__(512) number_trees(
    const ROW* listed, int64_t count, const ROW* ghosts, int64_t first_ghost, const ROW* parent, ROW* numbers, ROW* roots,
    ROW* entries, Control* control) {
    if (global_thread() == 0) {
        roots[0] = GIANT;
    }
    for (int64_t i = global_thread(); i < count; i += num_threads()) {
        const ROW root = root_of(parent, (ROW)(first_ghost + listed[i]));
        if (root != GIANT && numbers[root] == NONE && swap_if(&numbers[root], NONE, TAKEN) == NONE) {
            const ROW number = (ROW)append(&control->trees) + 1;
            roots[number] = root;
            numbers[root] = number;
        }
    }
    grid_barrier(&control->barrier);
    for (int64_t i = global_thread(); i < count; i += num_threads()) {
        entries[2 * i] = ghosts[listed[i]];
        entries[2 * i + 1] = number_of(parent, numbers, (ROW)(first_ghost + listed[i]));
    }
}

__device__ __forceinline__ void add_edge(int64_t near, int rank, int64_t far, int64_t* edges, Control* control) {
    const uint64_t edge = append(&control->edges);
    edges[2 * edge] = near;
    edges[2 * edge + 1] = (int64_t)rank << RANK_SHIFT | far;
}

/* Put rows that other ranks have in the giant component there, and list the edges. The tree of an entry's row is in the giant
   component or has a number: all arcs of such a row were read, so the tree contains the sender's end of one of them as a ghost,
   for which this rank sent an entry. `bounds` are those of the ranks' entries; the slot of row r is r - `shift`; `edges` has
   space for all. */
extern "C" __global__ void __launch_bounds__(512) list_edges(
    const ROW* entries, int64_t count, const int64_t* bounds, int size, int64_t shift, ROW* parent, const ROW* numbers,
    const ROW* roots, int64_t* edges, Control* control) {
    for (int64_t i = global_thread(); i < count; i += num_threads()) {
        if (entries[2 * i + 1] == 0) {
            unite<RowOrder>(parent, (ROW)(entries[2 * i] - shift), (ROW)GIANT);
        }
    }
    grid_barrier(&control->barrier);
    for (int64_t i = global_thread() + 1; i <= (int64_t)control->trees; i += num_threads()) {
        if (root_of(parent, roots[i]) == GIANT) {
            add_edge(i, 0, 0, edges, control);
        }
    }
    for (int64_t i = global_thread(); i < count; i += num_threads()) {
        if (entries[2 * i + 1] != 0) {
            const ROW near = number_of(parent, numbers, (ROW)(entries[2 * i] - shift));
            add_edge(near, owner_of(bounds, size, i), entries[2 * i + 1], edges, control);
        }
    }
    if (global_thread() == 0) {
        add_edge(0, 0, 0, edges, control); /* the ranks' giant components are one */
    }
}

/* Write this rank's message. A tree that has become part of the giant component has no name of its own: the largest position, and
   no row. `bounds` are those of the ranks' tree numbers. */
extern "C" __global__ void __launch_bounds__(512) describe(
    const ROW* roots, int64_t num_trees, const int64_t* edges, int64_t num_edges, const int64_t* bounds, int rank,
    const ROW* parent, const ROW* names, const ROW* holders, int64_t* message) {
    constexpr ROW no_position = (ROW)(sizeof(ROW) == 4 ? 0x7fffffffll : 0x7fffffffffffffffll);
    for (int64_t i = global_thread(); i < num_trees; i += num_threads()) {
        const ROW root = roots[i];
        const bool is_root = parent[root] == root;
        message[i] = is_root ? names[root] : no_position;
        message[num_trees + i] = is_root ? holders[root] : NONE;
    }
    int64_t* const near = message + 2 * num_trees;
    for (int64_t i = global_thread(); i < num_edges; i += num_threads()) {
        const int64_t far = edges[2 * i + 1];
        near[i] = bounds[rank] + edges[2 * i];
        near[num_edges + i] = bounds[far >> RANK_SHIFT] + (far & ((1ll << RANK_SHIFT) - 1));
    }
}

/* The messages of all ranks, concatenated. */
struct Messages {
    const int64_t* all;
    const int64_t* trees; /* bounds of the ranks' tree numbers */
    const int64_t* edges; /* bounds of the ranks' edges */
    int size;

    __device__ __forceinline__ const int64_t* of(int rank) const { return all + 2 * (trees[rank] + edges[rank]); }
    __device__ __forceinline__ int64_t of_tree(int64_t number, bool is_row) const {
        const int rank = owner_of(trees, size, number);
        return of(rank)[number - trees[rank] + (is_row ? trees[rank + 1] - trees[rank] : 0)];
    }
    __device__ __forceinline__ int64_t end(int64_t edge, bool is_far) const {
        const int rank = owner_of(edges, size, edge);
        const int64_t *const ends = of(rank) + 2 * (trees[rank + 1] - trees[rank]), length = edges[rank + 1] - edges[rank];
        return ends[edge - edges[rank] + (is_far ? length : 0)];
    }
};

/* Join the trees of all ranks; write, at the roots of this rank's trees, the row of smallest position. `joined`, `least` and
   `held` are scratch memory for all tree numbers. */
extern "C" __global__ void __launch_bounds__(512) name_all(
    const int64_t* messages, const int64_t* tree_bounds, const int64_t* edge_bounds, int size, int rank, const ROW* roots,
    int64_t* joined, int64_t* least, int64_t* held, ROW* holders, Control* control) {
    const Messages from = {messages, tree_bounds, edge_bounds, size};
    const int64_t num_trees = tree_bounds[size], num_edges = edge_bounds[size];
    for (int64_t i = global_thread(); i < num_trees; i += num_threads()) {
        joined[i] = i;
        least[i] = from.of_tree(i, false);
    }
    grid_barrier(&control->barrier);
    for (int64_t i = global_thread(); i < num_edges; i += num_threads()) {
        unite<ScrambledOrder>(joined, from.end(i, false), from.end(i, true));
    }
    grid_barrier(&control->barrier);
    for (int64_t i = global_thread(); i < num_trees; i += num_threads()) {
        const int64_t root = root_of(joined, i);
        if (root != i) {
            atomicMin(&least[root], from.of_tree(i, false));
        }
    }
    grid_barrier(&control->barrier);
    for (int64_t i = global_thread(); i < num_trees; i += num_threads()) {
        const int64_t root = root_of(joined, i);
        if (from.of_tree(i, false) == least[root]) {
            held[root] = from.of_tree(i, true);
        }
    }
    grid_barrier(&control->barrier);
    for (int64_t i = tree_bounds[rank] + global_thread(); i < tree_bounds[rank + 1]; i += num_threads()) {
        holders[roots[i - tree_bounds[rank]]] = (ROW)held[root_of(joined, i)];
    }
}
