/* The certificate of paths (see __init__.py for the proof). Returns in `control` whether it holds.

   Method: each row is checked on its own; then every in-arc is read once, equally many arcs per warp: whether it is loose, and
   whether it is the first tight arc of its row from a strictly nearer row, which is the one of smallest external id, because arcs
   ascend by it. Rows without such an arc are searched breadth-first over tight arcs of length zero. This is one launch; the CPU
   names the rule that a refused answer breaks.

   Encodings: `nearest` is the position, in the order of external ids, of the unique predecessor, V for none. `narrow` has the
   distances in 16 bits, 0xffff for unreached; it is read instead of them if all fit, because it stays in the cache. `step` is -1
   for a row that the search has not reached. */
#include "certificate/arcs.cuh"
#include "paths/certificate/lengths.cuh"

/* `wide`: some distance does not fit 16 bits. `without`: a row has no predecessor before the search over arcs of length zero.
   `wrong`: a predecessor is wrong or missing, before the search and, if it was `searched`, after it. `deep`: the search was given
   up, after too many thin levels. */
struct Control {
    uint32_t barrier, wide, broken, without, wrong[2], searched, deep;
    unsigned long long queued;
};

/* Visitor of in-arcs, so that the row is an arc's head: finds loose arcs, and tight ones from strictly nearer rows. */
template <typename Distances>
struct Relaxing : EveryRow {
    Distances distance;
    Sides into;
    const ROW* __restrict__ positions;
    ROW* nearest;
    bool loose;
    ROW found;

    struct Loaded {
        WEIGHT weight;
        SUM near;
    };

    __device__ __forceinline__ Loaded load(int64_t, int64_t arc, ROW tail) const {
        return {into.weight(arc), distance(tail)};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW tail, const Loaded& seen, bool active) {
        bool tight = false;
        if (active) {
            const SUM far = distance(row);
            loose |= is_loose(seen.near, seen.weight, far, &tight);
            tight = tight && seen.near < far;
        }
        const uint32_t all = __ballot_sync(FULL_WARP, tight);
        if (all == 0) {
            return;
        }
        const uint32_t before = all & ((1u << (threadIdx.x & 31)) - 1);
        const ROW row_before = __shfl_sync(FULL_WARP, (ROW)row, before == 0 ? 0 : 31 - __clz(before));
        if (tight && (ROW)row != found && (before == 0 || row_before != (ROW)row)) {
            atomicMin(&nearest[row], positions[tail]);
        }
        found = __shfl_sync(FULL_WARP, (ROW)row, 31 - __clz(all));
    }
};

__device__ void check_rows(const SUM* __restrict__ distance, const ROW* __restrict__ predecessor, int64_t source,
                           int64_t num_rows, ROW* nearest, Code* narrow, Control* control) {
    uint32_t wide = 0;
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const SUM far = distance[v];
        nearest[v] = (ROW)num_rows;
        if (!is_distance(far) || (v == source && far != 0) || predecessor[v] < -1 || predecessor[v] >= num_rows) {
            control->broken = 1;
        }
        if (is_integer()) {
            const bool fits = far < (SUM)UNREACHED_CODE;
            narrow[v] = far < 0 || !fits ? (Code)UNREACHED_CODE : (Code)far;
            wide = fits ? wide : 1;
        } else {
            wide = 1;
        }
    }
    if (wide != 0) {
        control->wide = 1;
    }
}

/* Visitor of out-arcs: follows tight arcs of length zero from rows that have a path to rows that have none. */
struct Spreading {
    const SUM* __restrict__ distance;
    Sides out;
    const ROW* __restrict__ positions;
    ROW *nearest, *step, *queue;
    unsigned long long* queued;

    struct Loaded {};

    __device__ __forceinline__ bool skips(int64_t row) const { return step[row] != 0; }

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW) const {
        return {};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t arc, ROW head, const Loaded&, bool active) {
        if (active && step[row] == 0) {
            reach(row, arc, head, 1);
        }
    }

    __device__ __forceinline__ void reach(int64_t row, int64_t arc, ROW head, ROW next) {
        const SUM near = distance[row];
        if (distance[head] != near || near + (SUM)out.weight(arc) != near) {
            return;
        }
        const ROW held = swap_if(&step[head], (ROW)-1, next);
        if (held == -1) {
            queue[append(queued)] = head;
        }
        if (held == -1 || held == next) {
            atomicMin(&nearest[head], positions[row]);
        }
    }
};

/* Search breadth-first from the rows that have a path; a warp reads one row of the queue. Returns false if the search was given
   up, after more than `most_thin` levels of few rows. */
__device__ bool spread(Spreading search, int64_t source, int64_t num_rows, int64_t most_thin, Control* control) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        search.step[v] = v == source || search.nearest[v] < num_rows ? 0 : -1;
    }
    grid_barrier(&control->barrier);
    walk_arcs(search.out.offsets, search.out.indices, num_rows, search);
    unsigned long long head = 0;
    int64_t thin = 0;
    for (ROW next = 2;; ++next) {
        grid_barrier(&control->barrier);
        const unsigned long long tail = *(volatile unsigned long long*)&control->queued;
        grid_barrier(&control->barrier);
        if (head == tail) {
            return true;
        }
        thin += tail - head < THIN_ROUND;
        if (thin > most_thin) {
            return false;
        }
        for (unsigned long long place = head + global_thread() / 32; place < tail; place += num_threads() / 32) {
            const ROW row = search.queue[place];
            for (int64_t arc = search.out.offsets[row] + (threadIdx.x & 31); arc < search.out.offsets[row + 1]; arc += 32) {
                search.reach(row, arc, search.out.indices[arc], next);
            }
        }
        head = tail;
    }
}

/* Compare the predecessors with `nearest`. */
__device__ void compare(const SUM* __restrict__ distance, const ROW* __restrict__ predecessor, const ROW* __restrict__ positions,
                        const ROW* __restrict__ nearest, int64_t source, int64_t num_rows, Control* control, int searched) {
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const ROW stated = predecessor[v], least = nearest[v];
        if (least == num_rows && v != source && distance[v] >= 0) {
            control->without = control->wrong[searched] = 1;
        }
        const bool is_row = stated >= 0 && stated < num_rows;
        if (least == num_rows ? stated != -1 : !is_row || positions[stated] != least) {
            control->wrong[searched] = 1;
        }
    }
}

// spills: a few words on sm_120; two blocks per multiprocessor are faster
extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) + sizeof(WEIGHT) == 8 ? 2 : 1) check_paths(
    const int64_t* out_offsets, const ROW* out_indices, const WEIGHT* out_weights, const int64_t* in_offsets,
    const ROW* in_indices, const WEIGHT* in_weights, const ROW* positions, int64_t source, int64_t num_rows, const SUM* distance,
    const ROW* predecessor, ROW* nearest, Code* narrow, ROW* step, ROW* queue, int64_t most_thin, Control* control) {
    const Sides into = {in_offsets, in_indices, in_weights};
    check_rows(distance, predecessor, source, num_rows, nearest, narrow, control);
    grid_barrier(&control->barrier);
    bool loose;
    if (*(volatile uint32_t*)&control->wide == 0) {
        Relaxing<Narrow> visit = {{}, {narrow}, into, positions, nearest, false, -1};
        walk_arcs(in_offsets, in_indices, num_rows, visit);
        loose = visit.loose;
    } else {
        Relaxing<Wide> visit = {{}, {distance}, into, positions, nearest, false, -1};
        walk_arcs(in_offsets, in_indices, num_rows, visit);
        loose = visit.loose;
    }
    if (loose) {
        control->broken = 1;
    }
    grid_barrier(&control->barrier);
    compare(distance, predecessor, positions, nearest, source, num_rows, control, 0);
    if (out_weights == nullptr) {
        return;
    }
    grid_barrier(&control->barrier);
    if (*(volatile uint32_t*)&control->without == 0 || *(volatile uint32_t*)&control->broken != 0) {
        return;
    }
    const Spreading search = {
        distance, {out_offsets, out_indices, out_weights}, positions, nearest, step, queue, &control->queued};
    if (!spread(search, source, num_rows, most_thin, control)) {
        control->deep = 1;
        return;
    }
    compare(distance, predecessor, positions, nearest, source, num_rows, control, 1);
    control->searched = 1;
}

/* The pass over the in-arcs of one rank's rows; `distance` and `positions` are those of all local rows. */
extern "C" __global__ void __launch_bounds__(THREADS)
relax(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const ROW* positions, int64_t num_rows,
      const SUM* distance, ROW* nearest, uint32_t* loose) {
    Relaxing<Wide> visit = {{}, {distance}, {offsets, indices, weights}, positions, nearest, false, -1};
    walk_arcs(offsets, indices, num_rows, visit);
    if (visit.loose) {
        *loose = 1;
    }
}
