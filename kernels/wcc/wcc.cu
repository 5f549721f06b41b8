/* Weak components. Returns for every row the row of smallest external id in its component.

   Method: union-find (union_find.cuh). `join_all` reads every arc: a block first unites the rows of a tile, neighbours in
   memory, by the arcs inside it, in shared memory with 16-bit numbers; then the arcs between tiles unite the tiles' trees.
   A tile has a multiple of 32 rows.
   `join_sampled` is for graphs of many arcs a row, where one component tends to hold nearly all (Afforest: Sutton, Ben-Nun,
   Barak, IPDPS 2018): it links every row, without atomics, to a neighbour before it, finds the commonest root, and then reads
   the arcs of the rows outside that tree only; an arc into it is read from its outer end. A row of up to 31 arcs is read by a
   lane; the arcs of others go through a queue, up to 1024 at a time, to warps.

   Encodings: `labels` holds parents until the last phase; `names` is the smallest rank of a root's tree. A row in the queue is
   its number for out-arcs, and the complement of it for in-arcs. */
#include "union_find.cuh"

#define TILE_THREADS 1024
#define THREADS 512
#define WARP_ROW 32
#define CHUNK 1024
#define SAMPLED_ARCS 4

struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
};

/* `queued`: entries of the queue, first of roots, then of all others. */
struct Control {
    uint32_t barrier;
    uint32_t queued[2];
    int64_t giant;
};

struct Chunk {
    int64_t row, first;
};

__device__ void enqueue(Chunk* queue, uint32_t* queued, int64_t row, int64_t first, int64_t end) {
    uint32_t place = atomicAdd(queued, (uint32_t)((end - first + CHUNK - 1) / CHUNK));
    for (; first < end; first += CHUNK) {
        queue[place++] = {row, first};
    }
}

/* Unite the queued rows with the ends of their arcs, `most` of an entry. */
template <typename Order>
__device__ void unite_queued(Arcs out, Arcs into, int most, ROW* parent, const Chunk* queue, uint32_t queued) {
    const uint32_t warps = num_threads() / 32;
    for (uint32_t place = global_thread() / 32; place < queued; place += warps) {
        const Chunk chunk = queue[place];
        const Arcs arcs = chunk.row < 0 ? into : out;
        const ROW row = (ROW)(chunk.row < 0 ? ~chunk.row : chunk.row);
        const int64_t end = min(chunk.first + most, arcs.offsets[row + 1]);
        ROW root = row;
        for (int64_t arc = chunk.first + (threadIdx.x & 31); arc < end; arc += 32) {
            root = unite<Order>(parent, root, arcs.indices[arc]);
        }
    }
}

/* Pairs of a tile's rows to unite, a warp's: searches are taken up 32 at a time, so that no lane waits for others' loops. */
struct Pairs {
    uint32_t* slots;
    int count;

    __device__ __forceinline__ void push(bool take, int near, int far, unsigned short* local) {
        const int lane = threadIdx.x & 31;
        const uint32_t taken = __ballot_sync(FULL_WARP, take);
        if (take) {
            slots[count + __popc(taken & ((1u << lane) - 1))] = (uint32_t)near << 16 | (uint32_t)far;
        }
        count += __popc(taken);
        __syncwarp();
        if (count >= 32) {
            count -= 32;
            unite_pair(slots[count + lane], local);
            __syncwarp();
        }
    }

    __device__ __forceinline__ void flush(unsigned short* local) {
        if ((threadIdx.x & 31) < count) {
            unite_pair(slots[threadIdx.x & 31], local);
        }
    }

    static __device__ __forceinline__ void unite_pair(uint32_t pair, unsigned short* local) {
        unite<ScrambledOrder>(local, (unsigned short)(pair >> 16), (unsigned short)pair);
    }
};

/* Unite the tile's rows by the arcs of small rows inside it, a symmetric arc from its later end; every row's parent becomes a root
   of the tile. A row's first link needs no search. Rows whose other arcs are still to be read get their bit in `open`. */
__device__ void join_tile(Arcs arcs, bool symmetric, int64_t base, int size, const ROW* __restrict__ ranks, unsigned short* local,
                          uint32_t* slots, ROW* parent, ROW* names, uint32_t* open) {
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        local[i] = (unsigned short)i;
    }
    __syncthreads();
    Pairs pairs = {slots, 0};
    for (int i = threadIdx.x; i - (int)(threadIdx.x & 31) < size; i += blockDim.x) {
        const int64_t first = i < size ? arcs.offsets[base + i] : 0;
        const int64_t length = i < size ? arcs.offsets[base + i + 1] - first : 0;
        const int small = length < WARP_ROW ? (int)length : 0;
        const int longest = __reduce_max_sync(FULL_WARP, small);
        bool root = true, leaves = length >= WARP_ROW;
        for (int k = 0; k < longest; k += 2) {
            int64_t fars[2];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                fars[j] = k + j < small ? (int64_t)arcs.indices[first + k + j] - base : i;
            }
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int far = (int)fars[j];
                const bool inside = fars[j] >= 0 && fars[j] < size;
                leaves |= symmetric ? fars[j] < 0 : !inside;
                const bool precedes = inside && ScrambledOrder::before(far, i);
                bool take = inside && (precedes || !symmetric);
                if (precedes && root) {
                    root = false;
                    take = swap_if(&local[i], (unsigned short)i, (unsigned short)far) != i;
                }
                pairs.push(take, i, far, local);
            }
        }
        const uint32_t leaving = __ballot_sync(FULL_WARP, leaves);
        if ((threadIdx.x & 31) == 0) {
            open[(base + i) >> 5] = leaving;
        }
    }
    pairs.flush(local);
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        parent[base + i] = (ROW)(base + root_of(local, (unsigned short)i));
        names[base + i] = ranks[base + i];
    }
    __syncthreads();
}

/* Unite the trees of different tiles by the arcs of small open rows; large rows go to the queue. */
__device__ void leave_tile(Arcs arcs, bool symmetric, int64_t base, int size, const uint32_t* open, ROW* parent, Chunk* queue,
                           Control* control) {
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        if ((open[(base + i) >> 5] >> (i & 31) & 1) == 0) {
            continue;
        }
        const int64_t first = arcs.offsets[base + i], end = arcs.offsets[base + i + 1];
        if (end - first >= WARP_ROW) {
            enqueue(queue, &control->queued[1], base + i, first, end);
            continue;
        }
        for (int64_t arc = first; arc < end; ++arc) {
            const ROW far = arcs.indices[arc];
            if (far < base || (!symmetric && far >= base + size)) {
                unite<ScrambledOrder>(parent, (ROW)(base + i), far);
            }
        }
    }
}

/* Link every row to the first neighbour before it, of its first few arcs. */
__device__ void link_rows(Arcs arcs, const ROW* __restrict__ ranks, int64_t num_rows, ROW* parent, ROW* names) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const int64_t first = arcs.offsets[v];
        const int64_t end = min(arcs.offsets[v + 1], first + SAMPLED_ARCS);
        ROW linked = (ROW)v;
        for (int64_t arc = first; arc < end && linked == (ROW)v; ++arc) {
            linked = min(linked, arcs.indices[arc]);
        }
        parent[v] = linked;
        names[v] = ranks[v];
    }
}

/* Unite by the arcs of the small rows outside the giant tree; large rows go to the queue. */
__device__ void unite_outside(Arcs arcs, bool into, ROW giant, int64_t num_rows, ROW* parent, Chunk* queue, Control* control) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        if (find_root(parent, (ROW)v) == giant) {
            continue;
        }
        const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
        if (end - first >= WARP_ROW) {
            enqueue(queue, &control->queued[1], into ? ~v : v, first, end);
            continue;
        }
        ROW root = (ROW)v;
        for (int64_t arc = first; arc < end; ++arc) {
            root = unite<RowOrder>(parent, root, arcs.indices[arc]);
        }
    }
}

/* Unite the rows that are still roots by their first few arcs; large ones by more, through the queue. */
__device__ void unite_roots(Arcs arcs, int64_t num_rows, ROW* parent, Chunk* queue, Control* control) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        if (parent[v] != (ROW)v) {
            continue;
        }
        const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
        if (end - first >= WARP_ROW) {
            enqueue(queue, &control->queued[0], v, first, first + 1);
            continue;
        }
        for (int64_t arc = first; arc < min(end, first + SAMPLED_ARCS); ++arc) {
            unite<RowOrder>(parent, (ROW)v, arcs.indices[arc]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(TILE_THREADS, 2)
join_all(const int64_t* offsets, const ROW* indices, bool symmetric, int tile, const ROW* ranks, const ROW* rows_by_id,
         int64_t num_rows, ROW* labels, ROW* names, Chunk* queue, Control* control, uint32_t* open) {
    extern __shared__ unsigned short local[];
    __shared__ uint32_t slots[2 * TILE_THREADS];
    const Arcs out = {offsets, indices};
    const int64_t stride = (int64_t)gridDim.x * tile;
    for (int64_t base = (int64_t)blockIdx.x * tile; base < num_rows; base += stride) {
        join_tile(out, symmetric, base, (int)min((int64_t)tile, num_rows - base), ranks, local,
                  slots + (threadIdx.x & ~31) * 2, labels, names, open);
    }
    grid_barrier(&control->barrier);
    for (int64_t base = (int64_t)blockIdx.x * tile; base < num_rows; base += stride) {
        leave_tile(out, symmetric, base, (int)min((int64_t)tile, num_rows - base), open, labels, queue,
                   control);
    }
    grid_barrier(&control->barrier);
    if (control->queued[1] > 0) {
        unite_queued<ScrambledOrder>(out, out, CHUNK, labels, queue, control->queued[1]);
        grid_barrier(&control->barrier);
    }
    name_trees(labels, names, ranks, num_rows);
    grid_barrier(&control->barrier);
    label_rows(labels, names, ranks, rows_by_id, num_rows);
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
join_sampled(const int64_t* offsets, const ROW* indices, const int64_t* in_offsets, const ROW* in_indices, bool symmetric,
             const ROW* ranks, const ROW* rows_by_id, int64_t num_rows, ROW* labels, ROW* names, Chunk* queue, Control* control) {
    __shared__ ROW roots[THREADS];
    __shared__ unsigned long long best;
    const Arcs out = {offsets, indices}, into = {in_offsets, in_indices};
    link_rows(out, ranks, num_rows, labels, names);
    grid_barrier(&control->barrier);
    unite_roots(out, num_rows, labels, queue, control);
    grid_barrier(&control->barrier);
    unite_queued<RowOrder>(out, out, WARP_ROW, labels, queue, control->queued[0]);
    grid_barrier(&control->barrier);
    if (blockIdx.x == 0) {
        const ROW giant = commonest_root(labels, num_rows, roots, &best);
        control->giant = giant;
    }
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        labels[v] = find_root(labels, (ROW)v);
    }
    grid_barrier(&control->barrier);
    const ROW giant = (ROW)control->giant;
    unite_outside(out, false, giant, num_rows, labels, queue, control);
    if (!symmetric) {
        unite_outside(into, true, giant, num_rows, labels, queue, control);
    }
    grid_barrier(&control->barrier);
    if (control->queued[1] > 0) {
        unite_queued<RowOrder>(out, into, CHUNK, labels, queue, control->queued[1]);
        grid_barrier(&control->barrier);
    }
    name_trees(labels, names, ranks, num_rows);
    grid_barrier(&control->barrier);
    label_rows(labels, names, ranks, rows_by_id, num_rows);
}
