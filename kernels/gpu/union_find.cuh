/* Concurrent union-find (Jaiganesh and Burtscher, A High-Performance Connected Components Implementation for GPUs, HPDC 2018),
   and the names of the finished trees.

   `parent[v]` is v itself at a root. Links follow a strict order of the rows, so there are no cycles; a root that was linked
   never becomes a root again. An outdated parent, from a line of L1, is therefore still an ancestor: plain loads suffice, and
   only the link of a root has to be atomic. */
#pragma once

#include "gpu/device.cuh"

/* Root of v's tree; the parent of every row on the path becomes its grandparent. */
template <typename Row>
__device__ __forceinline__ Row find_root(Row* parent, Row v) {
    Row root = parent[v];
    if (root != v) {
        Row below = v, above;
        while (root != (above = parent[root])) {
            parent[below] = above;
            below = root;
            root = above;
        }
    }
    return root;
}

/* The same without path compression, for kernels that write every row's root: a late compression would overwrite one. */
template <typename Row>
__device__ __forceinline__ Row root_of(const Row* parent, Row v) {
    Row above;
    while (v != (above = parent[v])) {
        v = above;
    }
    return v;
}

/* A random order of the rows keeps trees low for every graph: the expected depth of random links is logarithmic. */
struct ScrambledOrder {
    static __device__ __forceinline__ bool before(int32_t a, int32_t b) {
        return __brev(0x9e3779b1u * (uint32_t)a) < __brev(0x9e3779b1u * (uint32_t)b);
    }
    static __device__ __forceinline__ bool before(int64_t a, int64_t b) {
        return __brevll(0x9e3779b97f4a7c15ull * (uint64_t)a) < __brevll(0x9e3779b97f4a7c15ull * (uint64_t)b);
    }
};

/* Rows of many arcs come first: the tree of a giant component has its root among them from the start. */
struct RowOrder {
    template <typename Row>
    static __device__ __forceinline__ bool before(Row a, Row b) { return a < b; }
};

/* Join the trees of `near` and `far`; return a row near the root. */
template <typename Order, typename Row>
__device__ __forceinline__ Row unite(Row* parent, Row near, Row far) {
    near = find_root(parent, near);
    far = find_root(parent, far);
    while (near != far) {
        if (Order::before(near, far)) {
            const Row swapped = near;
            near = far;
            far = swapped;
        }
        const Row held = swap_if(&parent[near], near, far);
        if (held == near) {
            return far;
        }
        near = held;
    }
    return near;
}

/* Lower the names of the lanes' roots; the root of the first lane with one, and the least value of it in the warp, are returned
   instead. Lanes without a root have -1. All lanes of the warp call it. */
template <typename Row>
__device__ __forceinline__ Row lower_others(Row& root, Row least, Row* names) {
    const uint32_t named = __ballot_sync(FULL_WARP, root >= 0);
    const Row first = __shfl_sync(FULL_WARP, root, named ? __ffs(named) - 1 : 0);
    const bool other = root >= 0 && root != first;
    if (other && least < names[root]) {
        atomicMin(&names[root], least);
    }
    const Row none = (Row)(~0ull >> (65 - 8 * sizeof(Row)));
    least = other || root < 0 ? none : least;
    for (int step = 16; step > 0; step >>= 1) {
        const Row found = __shfl_xor_sync(FULL_WARP, least, step);
        least = found < least ? found : least;
    }
    root = first;
    return least;
}

/* Lower the names of the threads' roots, which a block does once for the tree that most of its threads have. Threads without a
   root have -1. All threads of the block call it, once between two barriers. */
template <typename Row>
__device__ void lower_names(Row root, Row least, Row* names) {
    __shared__ Row roots[32];
    __shared__ Row leasts[32];
    const int lane = threadIdx.x & 31;
    least = lower_others(root, least, names);
    if (lane == 0) {
        roots[threadIdx.x >> 5] = root;
        leasts[threadIdx.x >> 5] = least;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        root = lane < blockDim.x / 32 ? roots[lane] : (Row)-1;
        least = lower_others(root, leasts[lane < blockDim.x / 32 ? lane : 0], names);
        if (lane == 0 && root >= 0 && least < names[root]) {
            atomicMin(&names[root], least);
        }
    }
}

/* Give every row its root, and every root the smallest position in its tree; `names` comes in as the rows' positions.
   A thread keeps the minimum of its last root, so that many rows of a giant tree need one atomic. */
template <typename Row>
__device__ void name_trees(Row* parent, Row* names, const Row* __restrict__ positions, int64_t num_rows) {
    Row root = -1, least = 0;
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const Row own = root_of(parent, (Row)v);
        if (own == (Row)v) {
            continue;
        }
        parent[v] = own;
        const Row position = positions[v];
        if (own == root) {
            least = min(least, position);
            continue;
        }
        if (root >= 0 && least < names[root]) {
            atomicMin(&names[root], least);
        }
        root = own;
        least = position;
    }
    lower_names(root, least, names);
}

/* Turn roots into labels: the tree's row of smallest external id. */
template <typename Row>
__device__ void label_rows(Row* parent, const Row* __restrict__ names, const Row* __restrict__ positions,
                           const Row* __restrict__ rows_by_id, int64_t num_rows) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const Row root = parent[v];
        const Row name = names[root];
        if (root != (Row)v || name != positions[v]) {
            parent[v] = rows_by_id[name];
        }
    }
}

/* The most frequent root of `blockDim.x` sampled rows from `first` on, returned to all threads of the block. `roots` and `best`
   are in shared memory. */
template <typename Row>
__device__ Row commonest_root(const Row* parent, int64_t num_rows, Row* roots, unsigned long long* best, int64_t first = 0) {
    const int me = threadIdx.x;
    roots[me] = root_of(parent, (Row)(first + (int64_t)((double)num_rows * me / blockDim.x)));
    if (me == 0) {
        *best = 0;
    }
    __syncthreads();
    uint32_t equal = 0;
    for (int other = 0; other < blockDim.x; ++other) {
        equal += roots[other] == roots[me];
    }
    atomicMax(best, (unsigned long long)equal << 32 | (uint32_t)me);
    __syncthreads();
    return roots[(uint32_t)*best];
}
