/* Weak components of a shard: what one rank does between the exchanges of kernels/wcc/sharded/cuda.py.

   Method: union-find over own rows and ghosts by the own rows' arcs, as on one GPU (wcc/wcc.cu). Of a shard with many arcs a row
   a sample joins own rows alone, and ghosts when their owners have told which are in their giant trees; then only the rows outside
   the giant component are read, until they are inside. An arc that is so left unread leads from a row of one rank's giant tree to
   one of another rank's, which are joined once one of them knows that the two meet, or is read from its other end.

   Encodings: at place 0 of `parent` and `names` stands the giant component of all ranks that meet, and behind it the rows by
   their local numbers, own rows first: after a sample the root of a tree with own rows is one of them, or the giant component.
   `names` holds the smallest rank of the own rows of a root's tree. A rank's word of `joined` says whether its giant tree is of
   the giant component. `in_giant` has bit (number mod 32) of word number / 32 for a row: whether its owner has it in its giant
   tree, and in the end in the giant component. The ghosts of rank r are those from `bounds[r]` on. */
#include "distributed/gpu/owners.cuh"
#include "wcc/sampling.cuh"
#include "wcc/tiles.cuh"

#define GIANT 0

typedef unsigned char uint8_t;

__device__ __forceinline__ ROW place_of(int64_t number) { return (ROW)number + 1; }

/* The arcs of own rows. */
struct OwnArcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;

    __device__ __forceinline__ ROW place(int64_t row) const { return place_of(row); }
    __device__ __forceinline__ ROW far(int64_t arc) const { return place_of(indices[arc]); }
    __device__ __forceinline__ bool left_out(int64_t) const { return false; }
};

/* Of these, the arcs between own rows. */
struct InnerArcs : OwnArcs {
    ROW num_own;

    __device__ __forceinline__ bool left_out(int64_t arc) const { return indices[arc] >= num_own; }
};

__device__ __forceinline__ bool is_set(const uint32_t* bits, int64_t number) { return bits[number >> 5] >> (number & 31) & 1; }

/* Set the bits of the own rows of which `has` says so, and clear the others'. All threads of the grid come here. */
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

/* Let the ghosts, and the giant component, be trees of their own. */
extern "C" __global__ void start_ghosts(ROW num_own, ROW num_ghosts, ROW* parent, ROW* names) {
    constexpr ROW last = (ROW)(sizeof(ROW) == 4 ? 0x7fffffffll : 0x7fffffffffffffffll);
    for (int64_t ghost = global_thread() - 1; ghost < num_ghosts; ghost += num_threads()) {
        const ROW place = ghost < 0 ? GIANT : place_of(num_own + ghost);
        parent[place] = place;
        names[place] = last;
    }
}

/* Unite small rows with their ghosts. Large rows go to the queue, but for those which are there. */
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
                unite<ScrambledOrder>(parent, arcs.place(v), arcs.far(arc));
            }
        }
    }
}

#define SHARD                                                                                                                   \
    const int64_t *out_offsets, const ROW *out_indices, const int64_t *into_offsets, const ROW *into_indices, bool symmetric,   \
        ROW num_own

#define SIDES const OwnArcs out = {out_offsets, out_indices}, into = {into_offsets, into_indices}

/* Join by the arcs of small own rows, and put the large ones into the queue. */
// spills: 4 bytes where rows are of 64 bits, which graphs of more than 2^31 rows alone have
extern "C" __global__ void __launch_bounds__(TILE_THREADS, 2) join_whole(
    SHARD, const ROW* ranks, ROW* parent, ROW* names, Chunk* queue, Control* control, int tile, uint32_t* open) {
    extern __shared__ unsigned short local[];
    __shared__ uint32_t slots[2 * TILE_THREADS];
    SIDES;
    const int64_t stride = (int64_t)gridDim.x * tile;
    for (int64_t base = (int64_t)blockIdx.x * tile; base < num_own; base += stride) {
        join_tile(out, symmetric, base, (int)min((int64_t)tile, num_own - base), ranks, local, slots + (threadIdx.x & ~31) * 2,
                  parent, names, open);
    }
    grid_barrier(&control->barrier);
    for (int64_t base = (int64_t)blockIdx.x * tile; base < num_own; base += stride) {
        leave_tile(out, symmetric, base, (int)min((int64_t)tile, num_own - base), open, parent, queue, control);
    }
}

/* Join by the arcs of the queue, and by those to and from ghosts that no own row has been joined by. */
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
join_ghosts(SHARD, ROW* parent, Chunk* queue, Control* control) {
    SIDES;
    unite_ghosts(into, num_own, !symmetric, parent, queue, control);
    grid_barrier(&control->barrier);
    unite_queued<ScrambledOrder>(out, into, CHUNK, parent, queue, control->queued[1]);
}

/* Join own rows by a few arcs of each. */
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
join_sample(SHARD, const ROW* ranks, ROW* parent, ROW* names, Chunk* queue, Control* control) {
    const InnerArcs arcs = {{out_offsets, out_indices}, num_own};
    link_rows(arcs, ranks, num_own, parent, names); /* a ghost is no neighbour before a row */
    grid_barrier(&control->barrier);
    unite_roots(arcs, num_own, parent, queue, control);
    grid_barrier(&control->barrier);
    unite_queued<RowOrder>(arcs, arcs, WARP_ROW, parent, queue, control->queued[0]);
}

/* Find the commonest root, and which own rows are in its tree. */
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
find_giant(ROW num_own, ROW* parent, uint32_t* in_giant, Control* control) {
    __shared__ ROW roots[SAMPLED_THREADS];
    __shared__ unsigned long long best;
    if (blockIdx.x == 0 && num_own > 0) {
        const ROW giant = commonest_root(parent, num_own, roots, &best, place_of(0));
        control->giant = giant;
    }
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        find_root(parent, place_of(v));
    }
    grid_barrier(&control->barrier);
    const ROW giant = (ROW)control->giant;
    set_own(in_giant, num_own, [=](int64_t v) { return root_of(parent, place_of(v)) == giant; });
}

__device__ __forceinline__ bool all_meet(const uint8_t* meets, int size, int rank) {
    bool all = true;
    for (int owner = 0; owner < size; ++owner) {
        all = all && (owner == rank || ((const volatile uint8_t*)meets)[owner]);
    }
    return all;
}

/* Which other ranks' giant trees an arc, or the tree of a ghost, joins to this one: `meets` [size], zeros before. */
extern "C" __global__ void find_meetings(
    SHARD, bool sampled, int rank, const ROW* parent, const Control* control, const uint32_t* in_giant, const int64_t* bounds,
    int size, uint8_t* meets) {
    SIDES;
    (void)into;
    if (sampled) {
        for (int64_t v = global_thread(); v < num_own && !all_meet(meets, size, rank); v += num_threads()) {
            const int64_t first = out.offsets[v], end = is_set(in_giant, v) ? out.offsets[v + 1] : first;
            for (int64_t arc = first; arc < min(end, first + SAMPLED_ARCS); ++arc) {
                const ROW number = out.indices[arc];
                if (number >= num_own && is_set(in_giant, number)) {
                    meets[owner_of(bounds, size, number - num_own)] = 1;
                }
            }
        }
        return;
    }
    for (int64_t ghost = global_thread(); ghost < bounds[size] && !all_meet(meets, size, rank); ghost += num_threads()) {
        if (is_set(in_giant, num_own + ghost) && root_of(parent, place_of(num_own + ghost)) == (ROW)control->giant) {
            meets[owner_of(bounds, size, ghost)] = 1;
        }
    }
}

/* Put the giant tree, where it is of the giant component, and the ghosts of others' into it; then, after a sample, read the arcs of
   the rows that are outside. `control` has had the sample's; `next` is new. */
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
        for (int64_t number = num_own + bounds[owner] + global_thread(); number < end; number += num_threads()) {
            if (is_set(in_giant, number)) {
                if (sampled) {
                    parent[place_of(number)] = GIANT; /* a root of none but itself */
                } else {
                    unite<RowOrder>(parent, place_of(number), (ROW)GIANT);
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

/* Which own rows are in the giant component. */
extern "C" __global__ void find_members(ROW num_own, ROW* parent, uint32_t* in_giant) {
    set_own(in_giant, num_own, [=](int64_t v) { return find_root(parent, place_of(v)) == (ROW)GIANT; });
}

/* Put the ghosts that their owners have in the giant component there, too; the others are open, and listed: those of rank r from
   `bounds[r]` on, `counts[r]` in no order. But after a sample a root has nothing to tell: all rows here that lead to it are in the
   giant component, and were not read; its owner reads it from its end. */
extern "C" __global__ void list_open_ghosts(
    ROW num_own, bool sampled, ROW* parent, const uint32_t* in_giant, const int64_t* bounds, int size, ROW* listed,
    uint64_t* counts) {
    const int lane = threadIdx.x & 31;
    for (int owner = 0; owner < size; ++owner) {
        const int64_t begin = bounds[owner], end = bounds[owner + 1];
        for (int64_t ghost = begin + global_thread(); ghost - lane < end; ghost += num_threads()) {
            const ROW place = place_of(num_own + ghost);
            const bool known = ghost < end && is_set(in_giant, num_own + ghost);
            const bool open = ghost < end && !known && !(sampled && parent[place] == place);
            if (known) {
                unite<RowOrder>(parent, place, (ROW)GIANT);
            }
            const uint64_t at = append_of_warp(&counts[owner], open);
            if (open) {
                listed[begin + at] = (ROW)ghost;
            }
        }
    }
}
