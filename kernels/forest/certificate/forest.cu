/* The certificate of a minimum spanning forest (__init__.py states what it proves). Returns in `control` whether it
   holds.

   Method: `check_edges` compares each edge with the next one and computes keys by which the edges are then sorted. `join_forest`
   builds their hierarchy (hierarchy.cuh). `check_arcs` looks up every arc in it, one of each symmetric pair, except arcs heavier
   than all edges on the paths from both endpoints to the root: for rows of the tree that took most rounds, `tops` has the weight
   of the greatest of these edges in 16 bits. `check_rest` reads what was found, and the labels. The host reads nothing back
   before that. The CPU names the rule that a refused answer breaks.

   Encodings: an edge's time is its index in the order (weight, endpoints); `order` maps times to indices in the answer, `times`
   the other way round. Edges are read in the answer's order, for locality. `found` marks, by time, the edges that are arcs. */
#include "forest/certificate/order.cuh"
#include "forest/certificate/hierarchy.cuh"
#include "certificate/labels.cuh"

/* `no_forest`: an edge is not two rows in order, or edges do not ascend, so that nothing can be looked up. */
struct Control {
    uint32_t barrier;
    Labels labels;
    uint32_t no_forest, broken, padding;
    unsigned long long nodes, classes;
};

struct Edges {
    const ROW* __restrict__ src;
    const ROW* __restrict__ dst;
    const WEIGHT* __restrict__ weights;
    const int64_t* __restrict__ order;
};

extern "C" __global__ void __launch_bounds__(THREADS)
check_edges(const ROW* src, const ROW* dst, const WEIGHT* weights, int64_t num_edges, const ROW* positions, int64_t num_rows,
            Bits* keys, Control* control) {
    for (int64_t e = global_thread(); e < num_edges; e += num_threads()) {
        keys[e] = key_of(weights[e]);
        const bool src_row = src[e] >= 0 && src[e] < num_rows, dst_row = dst[e] >= 0 && dst[e] < num_rows;
        const ROW low = src_row && dst_row ? positions[src[e]] : 0, high = src_row && dst_row ? positions[dst[e]] : 0;
        if (low >= high) {
            control->no_forest = 1;
            continue;
        }
        if (e + 1 == num_edges || src[e + 1] < 0 || src[e + 1] >= num_rows || dst[e + 1] < 0 || dst[e + 1] >= num_rows) {
            continue;
        }
        const ROW next_low = positions[src[e + 1]];
        if (next_low < low || (next_low == low && positions[dst[e + 1]] <= high)) {
            control->no_forest = 1;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
join_forest(const ROW* src, const ROW* dst, const Node* times, int64_t num_edges, int64_t num_rows, Node* parent, Node* time,
            Node* hook, Item* items, Control* control) {
    if (control->no_forest) {
        return;
    }
    join_edges(src, dst, times, num_edges, num_rows, {parent, time, hook, &control->nodes}, items, &control->barrier,
               &control->broken);
}

/* The greatest weight on each row's path to the root, shortened, for rows in the tree of the last node; NOT_SHORT for others. */
extern "C" __global__ void __launch_bounds__(THREADS)
climb(const WEIGHT* weights, const int64_t* order, int64_t num_rows, int64_t num_edges, const Node* parent, const Node* time,
      unsigned short* tops, Control* control) {
    if (control->no_forest) {
        return;
    }
    const Node root = (Node)(control->nodes - 1);
    const int shift = num_edges == 0 ? 0 : shift_of(weights[order[num_edges - 1]]);
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        Node node = (Node)v, greatest = 0;
        while (time[node] != NEVER) {
            greatest = max(greatest, time[node]);
            node = parent[node];
        }
        tops[v] = node == root && node != (Node)v ? (unsigned short)short_of(weights[order[greatest]], shift) : NOT_SHORT;
    }
}

/* Whether an arc contradicts the greatest edge between its endpoints; that edge is found if it is this arc. */
__device__ __forceinline__ bool contradicts(const Edges& edges, const ROW* __restrict__ positions, ROW one, ROW other,
                                            WEIGHT weight, Node time, unsigned char* found) {
    if (time == NEVER) {
        return true;
    }
    const int64_t edge = edges.order[time];
    const WEIGHT greatest = edges.weights[edge];
    if (weight < greatest) {
        return true;
    }
    if (!(weight == greatest)) {
        return false;
    }
    const ROW src = edges.src[edge], dst = edges.dst[edge];
    if ((src == one && dst == other) || (src == other && dst == one)) {
        if ((bits_of(weight) & SIGN_BIT) == (bits_of(greatest) & SIGN_BIT)) {
            found[time] = 1;
        }
        return false;
    }
    const ROW low = min(positions[one], positions[other]), high = max(positions[one], positions[other]);
    const ROW src_position = positions[src];
    return low < src_position || (low == src_position && high < positions[dst]);
}

struct Checking : EveryRow {
    const WEIGHT* __restrict__ arc_weights;
    const ROW* __restrict__ positions;
    Edges edges;
    const Node* __restrict__ parent;
    const Node* __restrict__ time;
    const unsigned short* __restrict__ tops;
    unsigned char* found;
    bool symmetric;
    int shift;
    bool broken;

    struct Loaded {
        WEIGHT weight;
        unsigned short head_top;
    };

    __device__ __forceinline__ Loaded load(int64_t row, int64_t arc, ROW head) const {
        return {arc_weights == nullptr ? (WEIGHT)1 : arc_weights[arc], checks(row, head) ? tops[head] : (unsigned short)0};
    }

    __device__ __forceinline__ bool checks(int64_t row, ROW head) const { return symmetric ? head < row : head != row; }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW head, const Loaded& seen, bool active) {
        if (active && checks(row, head) && short_of(seen.weight, shift) <= max((uint32_t)tops[row], (uint32_t)seen.head_top)) {
            const Node edge = greatest_between(parent, time, (Node)row, (Node)head);
            broken |= contradicts(edges, positions, (ROW)row, head, seen.weight, edge, found);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2)
check_arcs(const int64_t* offsets, const ROW* indices, const WEIGHT* arc_weights, bool symmetric, const ROW* positions,
         int64_t num_rows, const ROW* src, const ROW* dst, const WEIGHT* weights, const int64_t* order, int64_t num_edges,
         const Node* parent, const Node* time, const unsigned short* tops, unsigned char* found, Control* control) {
    if (control->no_forest) {
        return;
    }
    const int shift = num_edges == 0 ? 0 : shift_of(weights[order[num_edges - 1]]);
    Checking visit = {{}, arc_weights, positions, {src, dst, weights, order}, parent, time, tops, found, symmetric, shift, false};
    walk_arcs(offsets, indices, num_rows, visit);
    if (visit.broken) {
        control->broken = 1;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
check_rest(const ROW* src, const ROW* dst, const Node* times, int64_t num_edges, const unsigned char* found, const ROW* labels,
           const ROW* positions, int64_t num_rows, Control* control) {
    if (control->no_forest) {
        return;
    }
    uint32_t classes = 0;
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        check_label(labels, positions, num_rows, v, &control->labels);
        classes += labels[v] == v;
    }
    if (classes > 0) {
        atomicAdd(&control->classes, (unsigned long long)classes);
    }
    for (int64_t e = global_thread(); e < num_edges; e += num_threads()) {
        if (found[times[e]] == 0 || labels[src[e]] != labels[dst[e]]) {
            control->broken = 1;
        }
    }
}
