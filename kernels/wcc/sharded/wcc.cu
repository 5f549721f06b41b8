/* Weak components of a shard: the kernels that one rank runs between the exchanges of kernels/wcc/sharded/cuda.py.

   Method: union-find over own rows and ghosts by the arcs of own rows, as on one GPU (wcc/wcc.cu). In a shard with many arcs per
   row, a sample joins own rows only; ghosts are joined when their owners have sent which of them are in their giant trees. Then
   only the arcs of rows outside the giant component are read, until each row is inside. An arc that remains unread either leads
   from one rank's giant tree to another's, which are joined once one of the two ranks knows that they meet, or is read from
   its head.

   Encodings: slot 0 of `parent` and `names` is the giant component, which joins the giant trees of all ranks that meet; slot
   1 + i is local row i, own rows first. After a sample the root of a tree with own rows is an own row or the giant component.
   `names` holds the smallest position of the own rows in a root's tree. `joined[r]` says whether rank r's giant tree is part of
   the giant component. Bit i mod 32 of word i / 32 of `in_giant` belongs to local row i: whether its owner has it in its giant
   tree, and at the end in the giant component. The ghosts of rank r begin at `bounds[r]`. */
#include "distributed/gpu/owners.cuh"
#include "wcc/sampling.cuh"
#include "wcc/tiles.cuh"

#define GIANT 0

__device__ __forceinline__ ROW slot_of(int64_t local_row) { return (ROW)local_row + 1; }

/* The arcs of own rows. */
struct OwnArcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;

    __device__ __forceinline__ ROW slot(int64_t row) const { return slot_of(row); }
    __device__ __forceinline__ ROW head(int64_t arc) const { return slot_of(indices[arc]); }
    __device__ __forceinline__ bool left_out(int64_t) const { return false; }
};

/* The arcs between own rows. */
struct InnerArcs : OwnArcs {
    ROW num_own;

    __device__ __forceinline__ bool left_out(int64_t arc) const { return indices[arc] >= num_own; }
};

__device__ __forceinline__ bool is_set(const uint32_t* bits, int64_t local_row) {
    return bits[local_row >> 5] >> (local_row & 31) & 1;
}

/* Set the bits of own rows to `has(row)`. All threads of the grid have to call it. */
template <typename Has>
__device__ __forceinline__ void set_own(uint32_t* bits, ROW num_own, Has has) {
    const int lane = threadIdx.x & 31;
    for (int64_t v = global_thread(); v - lane < num_own; v += num_threads()) {
        const uint32_t word = __ballot_sync(FULL_WARP, v < num_own && has(v));
        if (lane == 0) {
            bits[v >> 5] = word;
        }
    }
}

/* Make each ghost, and the giant component, a tree of its own. */
extern "C" __global__ void start_ghosts(ROW num_own, ROW num_ghosts, ROW* parent, ROW* names) {
    constexpr ROW last = (ROW)(sizeof(ROW) == 4 ? 0x7fffffffll : 0x7fffffffffffffffll);
    for (int64_t ghost = global_thread() - 1; ghost < num_ghosts; ghost += num_threads()) {
        const ROW slot = ghost < 0 ? GIANT : slot_of(num_own + ghost);
        parent[slot] = slot;
        names[slot] = last;
    }
}

/* Unite small rows with their ghosts. Large rows are queued, for in-arcs only: their out-arcs are in the queue already. */
__device__ void unite_ghosts(OwnArcs arcs, ROW num_own, bool into, ROW* parent, Chunk* queue, Control* control) {
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
        if (end - first >= WARP_ROW) {
            if (into) {
                enqueue(queue, &control->queued[1], ~v, first, end);
            }
            continue;
        }
        for (int64_t arc = first; arc < end; ++arc) {
            if (arcs.indices[arc] >= num_own) {
                unite<ScrambledOrder>(parent, arcs.slot(v), arcs.head(arc));
            }
        }
    }
}

#define SHARD                                                                                                                   \
    const int64_t *out_offsets, const ROW *out_indices, const int64_t *into_offsets, const ROW *into_indices, bool symmetric,   \
        ROW num_own

#define SIDES const OwnArcs out = {out_offsets, out_indices}, into = {into_offsets, into_indices}

/* Join by the arcs of small own rows between own rows, and queue the large ones. */
// spills: two registers; the unions need more threads
extern "C" __global__ void __launch_bounds__(TILE_THREADS, 2) join_all(
    SHARD, const ROW* positions, ROW* parent, ROW* names, Chunk* queue, Control* control, int tile, uint32_t* open) {
    extern __shared__ __align__(16) unsigned short local[];
    const OwnArcs out = {out_offsets, out_indices};
    join_tiles(out, symmetric, tile, num_own, positions, local, parent, names, queue, control, open);
}

/* Join by the arcs of the queue, and by the arcs of small rows to and from ghosts. */
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
join_ghosts(SHARD, ROW* parent, Chunk* queue, Control* control) {
    SIDES;
    unite_ghosts(into, num_own, !symmetric, parent, queue, control);
    grid_barrier(&control->barrier);
    unite_queued<ScrambledOrder>(out, into, CHUNK, parent, queue, control->queued[1]);
}

/* Join own rows by a few arcs of each. */
// spills: with rows of 64 bits, which only graphs of more than 2^31 rows have
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
join_sample(SHARD, const ROW* positions, ROW* parent, ROW* names, Chunk* queue, Control* control) {
    const InnerArcs arcs = {{out_offsets, out_indices}, num_own};
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        names[slot_of(v)] = positions[v];
    }
    join_by_sample(arcs, num_own, parent, queue, control); /* no ghost has a smaller slot than an own row */
}

/* Find the most frequent root, and which own rows are in its tree. */
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
find_giant(ROW num_own, ROW* parent, uint32_t* in_giant, Control* control) {
    __shared__ ROW roots[SAMPLED_THREADS];
    __shared__ unsigned long long best;
    if (blockIdx.x == 0 && num_own > 0) {
        const ROW giant = commonest_root(parent, num_own, roots, &best, slot_of(0));
        control->giant = giant;
    }
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        find_root(parent, slot_of(v));
    }
    grid_barrier(&control->barrier);
    const ROW giant = (ROW)control->giant;
    set_own(in_giant, num_own, [=](int64_t v) { return root_of(parent, slot_of(v)) == giant; });
}

__device__ __forceinline__ bool all_meet(const uint8_t* meets, int size, int rank) {
    bool all = true;
    for (int owner = 0; owner < size; ++owner) {
        all = all && (owner == rank || ((const volatile uint8_t*)meets)[owner]);
    }
    return all;
}

/* Find the other ranks whose giant trees an arc, or after all arcs were read a ghost in this rank's giant tree, connects with
   this rank's. `meets` [size] are zeros before. */
extern "C" __global__ void find_meetings(
    SHARD, bool sampled, int rank, const ROW* parent, const Control* control, const uint32_t* in_giant, const int64_t* bounds,
    int size, uint8_t* meets) {
    SIDES;
    (void)into;
    if (sampled) {
        for (int64_t v = global_thread(); v < num_own && !all_meet(meets, size, rank); v += num_threads()) {
            const int64_t first = out.offsets[v], end = is_set(in_giant, v) ? out.offsets[v + 1] : first;
            for (int64_t arc = first; arc < min(end, first + SAMPLED_ARCS); ++arc) {
                const ROW head = out.indices[arc];
                if (head >= num_own && is_set(in_giant, head)) {
                    meets[owner_of(bounds, size, head - num_own)] = 1;
                }
            }
        }
        return;
    }
    for (int64_t ghost = global_thread(); ghost < bounds[size] && !all_meet(meets, size, rank); ghost += num_threads()) {
        if (is_set(in_giant, num_own + ghost) && root_of(parent, slot_of(num_own + ghost)) == (ROW)control->giant) {
            meets[owner_of(bounds, size, ghost)] = 1;
        }
    }
}

/* Put this rank's giant tree, if it is part of the giant component, and the ghosts in other such trees into the giant component;
   then, after a sample, read the arcs of rows outside. `control` is that of the kernels before, `next` is zeros. */
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
join_rest(SHARD, bool sampled, int rank, const uint32_t* in_giant, const int64_t* bounds, const uint8_t* joined, int size,
          ROW* parent, Chunk* queue, const Control* control, Control* next) {
    SIDES;
    if (joined[rank] && num_own > 0 && global_thread() == 0) {
        parent[control->giant] = GIANT;
    }
    grid_barrier(&next->barrier);
    for (int owner = 0; owner < size; ++owner) {
        const int64_t end = joined[owner] ? num_own + bounds[owner + 1] : 0;
        for (int64_t ghost = num_own + bounds[owner] + global_thread(); ghost < end; ghost += num_threads()) {
            if (is_set(in_giant, ghost)) {
                if (sampled) {
                    parent[slot_of(ghost)] = GIANT; /* until now a tree of its own */
                } else {
                    unite<RowOrder>(parent, slot_of(ghost), (ROW)GIANT);
                }
            }
        }
    }
    if (!sampled) {
        return;
    }
    grid_barrier(&next->barrier);
    unite_outside(out, false, (ROW)GIANT, num_own, parent, queue, next);
    if (!symmetric) {
        unite_outside(into, true, (ROW)GIANT, num_own, parent, queue, next);
    }
    grid_barrier(&next->barrier);
    unite_queued<RowOrder>(out, into, CHUNK, parent, queue, next->queued[1]);
}

/* Find which own rows are in the giant component. */
extern "C" __global__ void find_members(ROW num_own, ROW* parent, uint32_t* in_giant) {
    set_own(in_giant, num_own, [=](int64_t v) { return find_root(parent, slot_of(v)) == (ROW)GIANT; });
}

/* Put the ghosts that their owners have in the giant component there, too, and list the other ones, which are open: those of rank
   r from `bounds[r]` on, `counts[r]` of them in no order. After a sample, a ghost that is a root is not listed: all own rows that
   have arcs to it are in the giant component and their arcs were not read; its owner reads these arcs from the ghost's end. */
extern "C" __global__ void list_open_ghosts(
    ROW num_own, bool sampled, ROW* parent, const uint32_t* in_giant, const int64_t* bounds, int size, ROW* listed,
    uint64_t* counts) {
    const int lane = threadIdx.x & 31;
    for (int owner = 0; owner < size; ++owner) {
        const int64_t begin = bounds[owner], end = bounds[owner + 1];
        for (int64_t ghost = begin + global_thread(); ghost - lane < end; ghost += num_threads()) {
            const ROW slot = slot_of(num_own + ghost);
            const bool known = ghost < end && is_set(in_giant, num_own + ghost);
            const bool open = ghost < end && !known && !(sampled && parent[slot] == slot);
            if (known) {
                unite<RowOrder>(parent, slot, (ROW)GIANT);
            }
            const uint64_t at = append_of_warp(&counts[owner], open);
            if (open) {
                listed[begin + at] = (ROW)ghost;
            }
        }
    }
}
