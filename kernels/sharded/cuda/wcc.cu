/* Weak components of a shard: what one rank does between the exchanges of kernels/sharded/cuda/wcc.py.

   Method: union-find over own rows and ghosts by the own rows' arcs, as on one GPU (wcc/wcc.cu). Of a shard with many arcs a row
   only the rows outside the giant tree are read whole. An arc that is so left unread leads from a row of one rank's giant tree to
   one of another rank's; these are joined once both ranks know that the two giants meet.

   Encodings: a row's place in `parent` and `names` goes by the order of the whole graph: lower ranks' ghosts first, then own rows,
   then the other ghosts; before them all, at place 0, stands the giant component of all ranks that meet. `names` holds the
   smallest rank of the own rows of a root's tree. A rank's word of `joined` says whether its giant tree is of the giant
   component; a ghost's `in_giant`, whether its owner has it in its giant tree, and in the end in the giant component. */
#include "wcc/sampling.cuh"
#include "wcc/tiles.cuh"

#define GIANT 0

typedef unsigned char uint8_t;

struct Places {
    ROW num_own, lower, num_ghosts;

    __device__ __forceinline__ ROW own(int64_t row) const { return (ROW)row + lower + 1; }
    __device__ __forceinline__ ROW ghost(int64_t ghost) const { return (ROW)ghost + 1 + (ghost < lower ? 0 : num_own); }
};

/* The arcs of own rows. */
struct OwnArcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    Places places;

    __device__ __forceinline__ ROW place(int64_t row) const { return places.own(row); }
    __device__ __forceinline__ ROW far(int64_t arc) const {
        const ROW end = indices[arc];
        return end < places.num_own ? places.own(end) : places.ghost(end - places.num_own);
    }
};

struct Ghosts {
    const uint8_t* __restrict__ in_giant;
    const int64_t* __restrict__ bounds;
    const uint8_t* __restrict__ joined;
    int size;

    __device__ __forceinline__ int owner(int64_t ghost) const {
        int rank = 0;
        while (rank < size - 1 && ghost >= bounds[rank + 1]) {
            ++rank;
        }
        return rank;
    }
    __device__ __forceinline__ bool known(int64_t ghost) const { return in_giant[ghost] && joined[owner(ghost)]; }
};

#define PLACES const Places places = {num_own, lower, num_ghosts}

__device__ void start_ghosts(Places places, ROW* parent, ROW* names) {
    constexpr ROW last = (ROW)(sizeof(ROW) == 4 ? 0x7fffffffll : 0x7fffffffffffffffll);
    for (int64_t ghost = global_thread() - 1; ghost < places.num_ghosts; ghost += num_threads()) {
        const ROW place = ghost < 0 ? GIANT : places.ghost(ghost);
        parent[place] = place;
        names[place] = last;
    }
}

/* Unite small rows with their ghosts. Large rows go to the queue, but for those which are there. */
__device__ void unite_ghosts(OwnArcs arcs, bool into, ROW* parent, Chunk* queue, Control* control) {
    for (int64_t v = global_thread(); v < arcs.places.num_own; v += num_threads()) {
        const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
        if (end - first >= WARP_ROW) {
            if (into) {
                enqueue(queue, &control->queued[1], ~v, first, end);
            }
            continue;
        }
        for (int64_t arc = first; arc < end; ++arc) {
            if (arcs.indices[arc] >= arcs.places.num_own) {
                unite<ScrambledOrder>(parent, arcs.place(v), arcs.far(arc));
            }
        }
    }
}

#define SHARD                                                                                                                   \
    const int64_t *out_offsets, const ROW *out_indices, const int64_t *into_offsets, const ROW *into_indices, bool symmetric,   \
        ROW num_own, ROW lower, ROW num_ghosts

#define SIDES \
    PLACES;   \
    const OwnArcs out = {out_offsets, out_indices, places}, into = {into_offsets, into_indices, places}

/* Join by the arcs of small own rows, and put the large ones into the queue. */
extern "C" __global__ void __launch_bounds__(TILE_THREADS, 2)
join_whole(SHARD, const ROW* ranks, ROW* parent, ROW* names, Chunk* queue, Control* control, int tile, uint32_t* open) {
    extern __shared__ unsigned short local[];
    __shared__ uint32_t slots[2 * TILE_THREADS];
    SIDES;
    const int64_t stride = (int64_t)gridDim.x * tile;
    start_ghosts(places, parent, names);
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
    unite_ghosts(into, !symmetric, parent, queue, control);
    grid_barrier(&control->barrier);
    unite_queued<ScrambledOrder>(out, into, CHUNK, parent, queue, control->queued[1]);
}

/* Join by a few arcs of each row. */
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
join_sample(SHARD, const ROW* ranks, ROW* parent, ROW* names, Chunk* queue, Control* control) {
    SIDES;
    (void)into;
    start_ghosts(places, parent, names);
    link_rows(out, ranks, num_own, parent, names);
    grid_barrier(&control->barrier);
    unite_roots(out, num_own, parent, queue, control);
    grid_barrier(&control->barrier);
    unite_queued<RowOrder>(out, out, WARP_ROW, parent, queue, control->queued[0]);
}

/* Find the commonest root, and which own rows are in its tree. */
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
find_giant(ROW num_own, ROW lower, ROW num_ghosts, ROW* parent, uint8_t* in_giant, Control* control) {
    __shared__ ROW roots[SAMPLED_THREADS];
    __shared__ unsigned long long best;
    PLACES;
    if (blockIdx.x == 0 && num_own > 0) {
        const ROW giant = commonest_root(parent, num_own, roots, &best, places.own(0));
        control->giant = giant;
    }
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        find_root(parent, places.own(v));
    }
    grid_barrier(&control->barrier);
    const ROW giant = (ROW)control->giant;
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        in_giant[v] = root_of(parent, places.own(v)) == giant;
    }
}

/* Whether the giant tree has ghosts of the other ranks' giant trees: `meets` [size], zeros before. */
extern "C" __global__ void find_meetings(
    ROW num_own, ROW lower, ROW num_ghosts, const ROW* parent, const Control* control, const uint8_t* in_giant,
    const int64_t* bounds, int size, uint8_t* meets) {
    PLACES;
    const Ghosts ghosts = {in_giant, bounds, nullptr, size};
    for (int64_t ghost = global_thread(); ghost < num_ghosts; ghost += num_threads()) {
        if (!in_giant[ghost]) {
            continue;
        }
        const int owner = ghosts.owner(ghost);
        if (!((const volatile uint8_t*)meets)[owner] && root_of(parent, places.ghost(ghost)) == (ROW)control->giant) {
            meets[owner] = 1;
        }
    }
}

/* Put the giant tree, where it is of the giant component, and the ghosts of others' into it; then, after a sample, read the arcs of
   the rows that are outside. `control` has had the sample's; `next` is new. */
extern "C" __global__ void __launch_bounds__(SAMPLED_THREADS, 3)
join_rest(SHARD, bool sampled, int rank, const uint8_t* in_giant, const int64_t* bounds, const uint8_t* joined, int size,
          ROW* parent, Chunk* queue, const Control* control, Control* next) {
    SIDES;
    const Ghosts ghosts = {in_giant, bounds, joined, size};
    if (joined[rank] && num_own > 0 && global_thread() == 0) {
        parent[control->giant] = GIANT;
    }
    grid_barrier(&next->barrier);
    for (int64_t ghost = global_thread(); ghost < num_ghosts; ghost += num_threads()) {
        if (ghosts.known(ghost)) {
            unite<RowOrder>(parent, places.ghost(ghost), (ROW)GIANT);
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
extern "C" __global__ void find_members(ROW num_own, ROW lower, ROW num_ghosts, ROW* parent, uint8_t* in_giant) {
    PLACES;
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        in_giant[v] = find_root(parent, places.own(v)) == (ROW)GIANT;
    }
}

/* Put the ghosts that their owners have in the giant component there, too; the others are open. */
extern "C" __global__ void find_open_ghosts(
    ROW num_own, ROW lower, ROW num_ghosts, ROW* parent, const uint8_t* in_giant, bool* open) {
    PLACES;
    for (int64_t ghost = global_thread(); ghost < num_ghosts; ghost += num_threads()) {
        open[ghost] = !in_giant[ghost];
        if (in_giant[ghost]) {
            unite<RowOrder>(parent, places.ghost(ghost), (ROW)GIANT);
        }
    }
}

extern "C" __global__ void put_in_giant(const ROW* places, int64_t count, ROW* parent) {
    for (int64_t i = global_thread(); i < count; i += num_threads()) {
        unite<RowOrder>(parent, places[i], (ROW)GIANT);
    }
}

extern "C" __global__ void find_roots(const ROW* places, int64_t count, const ROW* parent, ROW* roots) {
    for (int64_t i = global_thread(); i < count; i += num_threads()) {
        roots[i] = root_of(parent, places[i]);
    }
}
