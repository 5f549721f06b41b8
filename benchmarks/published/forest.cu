/* Boruvka's algorithm of Anastasopoulos and Megrampian, Mapping graphs on the graphics card (2016), after Sousa, Mariano, Proenca
   (PDP 2015): one thread per vertex, one kernel per step, and every round contracts the whole graph.

   A vertex is a tree of the rounds before. Parallel edges between two vertices are not merged; edges inside a vertex are dropped.

   Repairs of the document and its code: every arc carries the number of its edge, so that the forest can be returned; ties go to
   the smallest number, not to the smallest endpoint, so the answer is the unique one; an edge that both endpoints choose, also
   one of several parallel edges, counts once; the search ends when no vertex has chosen an edge, so a graph of several components
   gives a forest; a vertex without arcs keeps its own colour.

   Encodings: the arcs of vertex v are the `out_degree[v]` from `first_edge[v]` on. `chosen[v]` is its lightest arc, or -1. Edges
   are numbered by (smaller position, larger position) of their endpoints, as in forest.cu. */
#include "forest/edges.cuh"

struct Vertices {
    int64_t count;
    const int64_t *first_edge, *out_degree;
    const ROW* destination;
    const WEIGHT* weight;
    const EDGE* number;
};

#define PARAMETERS                                                                                                         \
    int64_t count, const int64_t *first_edge, const int64_t *out_degree, const ROW *destination, const WEIGHT *weight,     \
        const EDGE *number
#define SETTING const Vertices g = {count, first_edge, out_degree, destination, weight, number};

/* Before the first round: the number of every arc's edge. One block per row. */
extern "C" __global__ void number_arcs(
    const int64_t* offsets, const ROW* indices, const ROW* positions, const ROW* tails, const EDGE* first_edge, int64_t num_rows,
    EDGE* number) {
    const Edges g = {offsets, indices, nullptr, positions, nullptr, tails, first_edge, nullptr, nullptr, num_rows, 0};
    for (int64_t v = blockIdx.x; v < num_rows; v += gridDim.x) {
        for (int64_t arc = offsets[v] + threadIdx.x; arc < offsets[v + 1]; arc += blockDim.x) {
            number[arc] = (EDGE)edge_of(g, (ROW)v, indices[arc], arc - offsets[v]);
        }
    }
}

/* Step 1: every vertex chooses its lightest arc. */
extern "C" __global__ void find_min(PARAMETERS, int64_t* chosen) {
    SETTING
    for (int64_t v = global_thread(); v < g.count; v += num_threads()) {
        const int64_t end = g.first_edge[v] + g.out_degree[v];
        Key least = {~(Bits)0, ~(Bits)0};
        int64_t place = -1;
        for (int64_t arc = g.first_edge[v]; arc < end; ++arc) {
            const Key key = {bits_of(g.weight[arc]), (Bits)g.number[arc]};
            if (place < 0 || before(key, least)) {
                least = key;
                place = arc;
            }
        }
        chosen[v] = place;
    }
}

/* Step 2: of two vertices that chose the same edge, the one with the greater destination keeps it. The other one changes only its
   own choice, which no other thread reads. */
extern "C" __global__ void mirrors_edge(PARAMETERS, int64_t* chosen, uint8_t* in_forest, uint32_t* any) {
    SETTING
    for (int64_t v = global_thread(); v < g.count; v += num_threads()) {
        const int64_t place = chosen[v];
        if (place < 0) {
            continue;
        }
        *any = 1;
        in_forest[(Bits)g.number[place]] = 1;
        const ROW head = g.destination[place];
        if (head < v) {
            const int64_t mirror = ((const volatile int64_t*)chosen)[head];
            if (mirror >= 0 && g.number[mirror] == g.number[place]) {
                chosen[v] = -1;
            }
        }
    }
}

/* Step 3. */
extern "C" __global__ void initialize_colors(PARAMETERS, const int64_t* chosen, ROW* color) {
    SETTING
    for (int64_t v = global_thread(); v < g.count; v += num_threads()) {
        color[v] = chosen[v] < 0 ? (ROW)v : g.destination[chosen[v]];
    }
}

/* Step 4, repeated until nothing changes. */
extern "C" __global__ void propagate_colors(int64_t count, ROW* color, uint32_t* changed) {
    for (int64_t v = global_thread(); v < count; v += num_threads()) {
        const ROW now = color[v], next = ((const volatile ROW*)color)[now];
        if (next != now) {
            color[v] = next;
            *changed = 1;
        }
    }
}

/* Step 5. */
extern "C" __global__ void create_new_vertex_ids(int64_t count, const ROW* color, int64_t* flag) {
    for (int64_t v = global_thread(); v < count; v += num_threads()) {
        flag[v] = color[v] == v;
    }
}

/* Step 8. `ids[c]` is the new vertex of colour c. */
extern "C" __global__ void count_edges(PARAMETERS, const ROW* color, const int64_t* ids, int64_t* new_degree) {
    SETTING
    for (int64_t v = global_thread(); v < g.count; v += num_threads()) {
        uint64_t leaving = 0;
        for (int64_t arc = g.first_edge[v]; arc < g.first_edge[v] + g.out_degree[v]; ++arc) {
            leaving += color[g.destination[arc]] != color[v];
        }
        if (leaving > 0) {
            atomicAdd((unsigned long long*)&new_degree[ids[color[v]]], leaving);
        }
    }
}

/* Step 10. `cursor` comes in as the first edges of the new vertices. */
extern "C" __global__ void insert_new_edges(
    PARAMETERS, const ROW* color, const int64_t* ids, int64_t* cursor, ROW* new_destination, WEIGHT* new_weight,
    EDGE* new_number) {
    SETTING
    for (int64_t v = global_thread(); v < g.count; v += num_threads()) {
        for (int64_t arc = g.first_edge[v]; arc < g.first_edge[v] + g.out_degree[v]; ++arc) {
            const ROW head = color[g.destination[arc]];
            if (head != color[v]) {
                const uint64_t place = atomicAdd((unsigned long long*)&cursor[ids[color[v]]], 1ull);
                new_destination[place] = (ROW)ids[head];
                new_weight[place] = g.weight[arc];
                new_number[place] = g.number[arc];
            }
        }
    }
}
