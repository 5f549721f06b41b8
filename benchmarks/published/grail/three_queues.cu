/* Level-synchronous searches with three queues: a thread reads a row of few arcs, a warp one of more, a block one of many.

   Caiazza, Data-parallel implementation of the GRAIL index on many-core architectures (Politecnico di Torino, 2019), sections 4
   and 5, after Liu and Huang, Enterprise (SC 2015). `status` [V] has a word for each row that is not 0 if the row is to be
   expanded in this level: 1 in a breadth-first search, otherwise a mask of the searches that have arrived.

   A level: `fill_bins` passes over all of `status`; each thread copies the rows that it finds to its own three bins, by number of
   arcs, and resets them. The host sums the lengths of all bins up; `copy_bins` makes the bins one dense queue, of three parts.
   Then one kernel expands each part, with LANES = 1, 32 or THREADS threads for a row.

   Repairs of the document: one sum over all bins, of any number of blocks; a mask of the searches that have visited a row, so that
   a row is expanded once for each; searches that end as soon as they have an answer; queries of a row and itself, which the host
   answers. STATUS is int32 or int64; ROW is the type of a row. */
#include "gpu/unsigned.cuh"

#define KINDS 3
#define MEDIUM 32 /* arcs from which on a warp expands a row */
#define LARGE 256 /* arcs from which on a block does */

typedef UnsignedOf<sizeof(STATUS)>::type Status;

__device__ __forceinline__ int kind_of(int64_t arcs) { return (arcs >= MEDIUM) + (arcs >= LARGE); }

/* `bins`: `capacity` entries for each kind and thread. `waiting` gets what `status` had; bits that are not in `alive` are dropped. */
extern "C" __global__ void fill_bins(
    const int64_t* offsets, int64_t num_rows, const Status* alive, Status* status, Status* waiting, int64_t capacity, ROW* bins,
    int64_t* lengths) {
    int64_t length[KINDS] = {0, 0, 0};
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        const Status found = status[row] & *alive;
        status[row] = 0;
        if (found) {
            const int kind = kind_of(offsets[row + 1] - offsets[row]);
            bins[(kind * num_threads() + global_thread()) * capacity + length[kind]++] = (ROW)row;
            waiting[row] = found;
        }
    }
    for (int kind = 0; kind < KINDS; ++kind) {
        lengths[kind * num_threads() + global_thread()] = length[kind];
    }
}

/* `ends` are the sums of `lengths`, of all bins of one kind after the other. */
extern "C" __global__ void copy_bins(
    const int64_t* lengths, const int64_t* ends, int64_t capacity, const ROW* bins, int64_t num_bins, ROW* queue) {
    for (int64_t bin = global_thread(); bin < num_bins; bin += num_threads()) {
        for (int64_t place = 0; place < lengths[bin]; ++place) {
            queue[ends[bin] - lengths[bin] + place] = bins[bin * capacity + place];
        }
    }
}

/* Call `visit(row, arc)` for every arc of the rows of a part of the queue. */
template <typename Visit>
__device__ __forceinline__ void expand(const int64_t* offsets, const ROW* queue, int64_t length, Visit visit) {
    for (int64_t place = global_thread() / LANES; place < length; place += num_threads() / LANES) {
        const ROW row = queue[place];
        for (int64_t arc = offsets[row] + global_thread() % LANES; arc < offsets[row + 1]; arc += LANES) {
            visit(row, arc);
        }
    }
}

extern "C" __global__ void expand_levels(
    const int64_t* offsets, const ROW* indices, const ROW* queue, int64_t length, int64_t level, Status* status, ROW* levels) {
    expand(offsets, queue, length, [&](ROW, int64_t arc) {
        const ROW near = indices[arc];
        if (((const volatile ROW*)levels)[near] < 0) { /* several threads may store the same */
            levels[near] = (ROW)level;
            status[near] = 1;
        }
    });
}

/* The interval labels of an index, [dimensions, num_nodes]; odd dimensions are of the reversed graph if they alternate. */
struct Intervals {
    const ROW *low, *post;
    int64_t num_nodes;
    int dimensions;
    bool alternating;
    __device__ bool contains(ROW from, ROW to) const {
        bool inside = true;
        for (int i = 0; i < dimensions && inside; ++i) {
            const bool backward = alternating && (i & 1);
            const int64_t outer = i * num_nodes + (backward ? to : from), inner = i * num_nodes + (backward ? from : to);
            inside = low[outer] <= low[inner] && post[inner] <= post[outer];
        }
        return inside;
    }
};

/* Bit i of a mask is the search of query i of the batch: from `src[i]` to `dst[i]`. */
extern "C" __global__ void begin_searches(const ROW* src, int64_t num_queries, Status* status, Status* visited) {
    for (int64_t query = global_thread(); query < num_queries; query += num_threads()) {
        atomicOr(status + src[query], (Status)1 << query);
        atomicOr(visited + src[query], (Status)1 << query);
    }
}

extern "C" __global__ void expand_searches(
    const int64_t* offsets, const ROW* indices, const ROW* queue, int64_t length, const ROW* dst, const ROW* low, const ROW* post,
    int64_t num_nodes, int dimensions, bool alternating, const Status* waiting, Status* status, Status* visited, Status* alive) {
    const Intervals labels{low, post, num_nodes, dimensions, alternating};
    expand(offsets, queue, length, [&](ROW row, int64_t arc) {
        const ROW child = indices[arc];
        Status going = 0, over = 0;
        Status left = waiting[row] & ~((const volatile Status*)visited)[child];
        for (int query = 0; left; ++query, left >>= 1) {
            if (left & 1) {
                over |= child == dst[query] ? (Status)1 << query : 0;
                going |= child != dst[query] && labels.contains(child, dst[query]) ? (Status)1 << query : 0;
            }
        }
        if (over) {
            atomicAnd(alive, (Status)~over);
        }
        const Status fresh = going ? going & ~atomicOr(visited + child, going) : 0;
        if (fresh) {
            atomicOr(status + child, fresh);
        }
    });
}
