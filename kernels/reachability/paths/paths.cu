/* Shortest paths from one row to another, a block each (kernels/reachability/paths): breadth-first from both ends, a level of
   the side with fewer rows at a time, until a level meets the other side. Then the rows on shortest paths that only the second
   side has found get their distances from `src`, and a warp follows from `dst` the first in-arc from one arc nearer: arcs ascend
   by external id. ROW is the type of a row and of a distance. */
#include "gpu/device.cuh"

/* One side of a search: distances from its end, -1 if not found, and the rows found, of which the last level is
   `queue[first..tail-1]`. */
struct Side {
    const int64_t* offsets;
    const ROW* indices;
    ROW *distance, *queue;
    uint64_t first, tail;
};

/* Queue the rows behind the last level that `takes(row, head)` accepts, all at the next distance. All threads call it. */
template <typename Takes>
__device__ void expand(Side& side, uint64_t* length, const Takes& takes) {
    for (uint64_t place = side.first + (threadIdx.x >> 5); place < side.tail; place += blockDim.x >> 5) {
        const ROW row = side.queue[place], next = side.distance[row] + 1;
        for (int64_t arc = side.offsets[row] + (threadIdx.x & 31); arc < side.offsets[row + 1]; arc += 32) {
            const ROW head = side.indices[arc];
            if (takes(row, head) && swap_if(side.distance + head, (ROW)-1, next) == -1) {
                side.queue[atomicAdd(length, (uint64_t)1)] = head;
            }
        }
    }
    __syncthreads();
    side.first = side.tail;
    side.tail = *length;
    __syncthreads(); /* all threads have read the length before one changes it */
}

/* Write the paths to `nodes`, each from `places[query]` on, and their lengths, 0 if there is none. `used` is what all take:
   paths beyond `capacity` are not written. `distances`, -1 at first and again at the end, and `queues` have 2 * num_rows entries
   a block. */
extern "C" __global__ void find_paths(
    const int64_t* offsets, const ROW* indices, const int64_t* into_offsets, const ROW* into_indices, int64_t num_rows,
    const ROW* src, const ROW* dst, int64_t num_queries, ROW* distances, ROW* queues, uint64_t* used, int64_t* places,
    int64_t* lengths, ROW* nodes, int64_t capacity) {
    __shared__ uint64_t length[2];
    __shared__ int64_t begin;
    __shared__ bool met;
    const int lane = threadIdx.x & 31;
    ROW* const mine = distances + 2 * blockIdx.x * num_rows;
    ROW* const queue = queues + 2 * blockIdx.x * num_rows;
    for (int64_t query = blockIdx.x; query < num_queries; query += gridDim.x) {
        Side ahead{offsets, indices, mine, queue, 0, 1};
        Side back{into_offsets, into_indices, mine + num_rows, queue + num_rows, 0, 1};
        if (threadIdx.x == 0) {
            ahead.queue[0] = src[query];
            back.queue[0] = dst[query];
            ahead.distance[src[query]] = back.distance[dst[query]] = 0;
            length[0] = length[1] = 1;
            met = src[query] == dst[query];
        }
        __syncthreads();
        while (!met && ahead.first < ahead.tail && back.first < back.tail) {
            const bool forward = ahead.tail - ahead.first <= back.tail - back.first;
            Side& side = forward ? ahead : back;
            const ROW* const other = forward ? back.distance : ahead.distance;
            expand(side, length + !forward, [&](ROW, ROW) { return true; });
            for (uint64_t place = side.first + threadIdx.x; place < side.tail; place += blockDim.x) {
                if (other[side.queue[place]] >= 0) {
                    met = true;
                }
            }
            __syncthreads();
        }
        const int64_t arcs = met ? ahead.distance[ahead.queue[ahead.first]] + back.distance[back.queue[back.first]] : -1;
        if (threadIdx.x == 0) {
            begin = met ? atomicAdd(used, (uint64_t)arcs + 1) : 0;
            places[query] = begin;
            lengths[query] = arcs + 1;
        }
        __syncthreads();
        if (met && begin + arcs < capacity) {
            while (ahead.first < ahead.tail) {
                expand(ahead, length, [&](ROW row, ROW head) {
                    const ROW left = back.distance[row];
                    return left > 0 && ahead.distance[row] + left == arcs && back.distance[head] == left - 1;
                });
            }
            ROW row = dst[query];
            for (int64_t place = arcs; place >= 0 && threadIdx.x < 32; --place) {
                if (lane == 0) {
                    nodes[begin + place] = row;
                }
                ROW next = -1;
                for (int64_t base = into_offsets[row]; place > 0 && base < into_offsets[row + 1] && next < 0; base += 32) {
                    const bool is_arc = base + lane < into_offsets[row + 1];
                    const ROW tail = is_arc ? into_indices[base + lane] : -1;
                    const uint32_t nearer = __ballot_sync(FULL_WARP, is_arc && ahead.distance[tail] == place - 1);
                    next = nearer ? __shfl_sync(FULL_WARP, tail, __ffs((int)nearer) - 1) : (ROW)-1;
                }
                row = next;
            }
        }
        __syncthreads();
        for (uint64_t place = threadIdx.x; place < max(ahead.tail, back.tail); place += blockDim.x) {
            if (place < ahead.tail) {
                ahead.distance[ahead.queue[place]] = -1;
            }
            if (place < back.tail) {
                back.distance[back.queue[place]] = -1;
            }
        }
        __syncthreads();
    }
}
