/* The condensation: the nodes of the strong components, and the arcs between them as keys to be sorted, tail * C + head.

   ROW is the type of a row number. */
#include "gpu/device.cuh"

#define LANE_ARCS 32
#define INSIDE 0x7fffffffffffffffll /* the key of an arc within a component: last in every order */

/* By position in id order: whether the row is the name of its component. */
extern "C" __global__ void mark_names(const ROW* labels, const ROW* rows_by_id, int64_t num_rows, ROW* is_name) {
    for (int64_t position = global_thread(); position < num_rows; position += num_threads()) {
        is_name[position] = labels[rows_by_id[position]] == rows_by_id[position];
    }
}

/* Each row's node and each node's name. `counts` are the running sums of `is_name`. */
extern "C" __global__ void number_nodes(
    const ROW* labels, const ROW* positions, const ROW* counts, int64_t num_rows, ROW* nodes, ROW* names) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        const ROW node = counts[positions[labels[row]]] - 1;
        nodes[row] = node;
        if (labels[row] == row) {
            names[node] = (ROW)row;
        }
    }
}

__device__ __forceinline__ int64_t key_of(ROW tail, ROW head, int64_t num_nodes) {
    return tail == head ? INSIDE : tail * num_nodes + head;
}

extern "C" __global__ void list_arcs(
    const int64_t* offsets, const ROW* indices, const ROW* nodes, int64_t num_rows, int64_t num_nodes, int64_t* keys) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_rows; base += num_threads()) {
        const bool has = base + lane < num_rows;
        const int64_t begin = has ? offsets[base + lane] : 0, end = has ? offsets[base + lane + 1] : 0;
        const ROW tail = has ? nodes[base + lane] : 0;
        const bool is_long = end - begin > LANE_ARCS;
        for (int64_t arc = begin; arc < end && !is_long; ++arc) {
            keys[arc] = key_of(tail, nodes[indices[arc]], num_nodes);
        }
        for (uint32_t longs = __ballot_sync(FULL_WARP, is_long); longs; longs &= longs - 1) {
            const int owner = __ffs(longs) - 1;
            const int64_t to = __shfl_sync(FULL_WARP, end, owner);
            const ROW row = __shfl_sync(FULL_WARP, tail, owner);
            for (int64_t arc = __shfl_sync(FULL_WARP, begin, owner) + lane; arc < to; arc += 32) {
                keys[arc] = key_of(row, nodes[indices[arc]], num_nodes);
            }
        }
    }
}

/* Whether a sorted key is the first of equal keys, and not that of an arc within a component. */
extern "C" __global__ void mark_arcs(const int64_t* keys, int64_t num_keys, bool* is_first) {
    for (int64_t at = global_thread(); at < num_keys; at += num_threads()) {
        is_first[at] = keys[at] != INSIDE && (at == 0 || keys[at] != keys[at - 1]);
    }
}

/* Heads and out-degrees of sorted arcs; the keys become those of the reversed arcs. `degrees` must be zero before. */
extern "C" __global__ void split_keys(int64_t* keys, int64_t num_keys, int64_t num_nodes, ROW* heads, int64_t* degrees) {
    for (int64_t at = global_thread(); at < num_keys; at += num_threads()) {
        const int64_t key = keys[at];
        const int64_t tail = key / num_nodes, head = key - tail * num_nodes;
        heads[at] = (ROW)head;
        atomicAdd((uint64_t*)degrees + tail, (uint64_t)1);
        keys[at] = head * num_nodes + tail;
    }
}
