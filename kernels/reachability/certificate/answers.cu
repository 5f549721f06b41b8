/* Checks of answers that a search found: that paths are paths of the graph, and that a second search finds none where the first
   did not. The second one is a breadth-first search by a block from the source, over all arcs but those to nodes that the labels
   exclude, which it reads as they were proved; it shares no code with the first. ROW is the type of a row and of a node. */
#include "gpu/device.cuh"

/* Lower `wrong` to the first query with a path that does not lead from `src` to `dst` along arcs; one warp each. The heads of a
   row's arcs ascend by `ids`, or by their numbers if it is null. */
extern "C" __global__ void check_paths(
    const int64_t* offsets, const ROW* indices, const ROW* src, const ROW* dst, int64_t num_queries, const int64_t* ids,
    const int64_t* begins, const int64_t* lengths, const ROW* nodes, uint64_t* wrong) {
    for (int64_t query = global_thread() >> 5; query < num_queries; query += num_threads() >> 5) {
        const int64_t length = lengths[query];
        const ROW* const path = nodes + begins[query];
        if (length == 0) {
            continue;
        }
        if (length < 0 || length > begins[query + 1] - begins[query] || path[0] != src[query] || path[length - 1] != dst[query]) {
            atomicMin(wrong, (uint64_t)query);
            continue;
        }
        for (int64_t place = threadIdx.x & 31; place + 1 < length; place += 32) {
            const ROW head = path[place + 1];
            const int64_t end = offsets[path[place] + 1];
            const int64_t arc = first_not(offsets[path[place]], end, [=](int64_t i) {
                return ids ? ids[indices[i]] < ids[head] : indices[i] < head;
            });
            if (arc == end || indices[arc] != head) {
                atomicMin(wrong, (uint64_t)query);
            }
        }
    }
}

struct Labels {
    const int32_t *level, *height;
    const ROW *low, *post; /* [dimensions, num_nodes] */
    const uint64_t *reaches, *reached;
    int64_t num_nodes;
    int dimensions;
    bool alternating; /* odd dimensions are backward */
};

/* Whether the labels show that `from` does not reach `to`. */
__device__ bool excludes(const Labels& labels, ROW from, ROW to) {
    bool found = labels.level[from] >= labels.level[to] || labels.height[from] <= labels.height[to]
        || labels.reaches[to] & ~labels.reaches[from] || labels.reached[from] & ~labels.reached[to];
    for (int i = 0; i < labels.dimensions && !found; ++i) {
        const bool backward = labels.alternating && i % 2;
        const int64_t outer = i * labels.num_nodes + (backward ? to : from);
        const int64_t inner = i * labels.num_nodes + (backward ? from : to);
        found = labels.low[outer] > labels.low[inner] || labels.post[outer] < labels.post[inner];
    }
    return found;
}

/* Lower `wrong` to the first query with a path from `src` to `dst`; one block each. `seen`, zeros at first and again at the end,
   has a bit per node and block, `queues` an entry. */
extern "C" __global__ void find_paths(
    const int64_t* offsets, const ROW* indices, const ROW* src, const ROW* dst, int64_t num_queries, const int32_t* level,
    const int32_t* height, const ROW* low, const ROW* post, const uint64_t* reaches, const uint64_t* reached, int64_t num_nodes,
    int dimensions, bool alternating, uint32_t* seen, ROW* queues, uint64_t* wrong) {
    __shared__ uint64_t length;
    __shared__ bool is_found;
    const Labels labels{level, height, low, post, reaches, reached, num_nodes, dimensions, alternating};
    const int lane = threadIdx.x & 31;
    uint32_t* const mine = seen + blockIdx.x * ((num_nodes + 31) / 32);
    ROW* const queue = queues + blockIdx.x * num_nodes;
    for (int64_t query = blockIdx.x; query < num_queries; query += gridDim.x) {
        const ROW end = dst[query];
        __syncthreads();
        if (threadIdx.x == 0) {
            queue[0] = src[query];
            length = 1;
            is_found = false;
        }
        __syncthreads();
        bool is_over = false;
        for (uint64_t head = 0, tail = 1; head < tail && !is_over;) {
            for (uint64_t place = head + (threadIdx.x >> 5); place < tail; place += blockDim.x >> 5) {
                const ROW node = queue[place];
                for (int64_t arc = offsets[node] + lane; arc < offsets[node + 1]; arc += 32) {
                    const ROW child = indices[arc];
                    if (child == end) {
                        is_found = true;
                    } else if (!excludes(labels, child, end)) {
                        const uint32_t bit = 1u << (child & 31);
                        if (!(atomicOr(mine + (child >> 5), bit) & bit)) {
                            queue[atomicAdd(&length, (uint64_t)1)] = child;
                        }
                    }
                }
            }
            __syncthreads();
            head = tail;
            tail = length;
            is_over = is_found;
            __syncthreads(); /* all threads have read the same values before one changes them */
        }
        if (threadIdx.x == 0 && is_found) {
            atomicMin(wrong, (uint64_t)query);
        }
        for (uint64_t place = threadIdx.x; place < length; place += blockDim.x) {
            mine[queue[place] >> 5] = 0;
        }
    }
}
