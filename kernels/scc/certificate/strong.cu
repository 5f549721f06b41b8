/* The certificate of strong components (__init__.py states what it proves). Returns in `control` whether it
   holds.

   Method: Kahn's algorithm over the classes (CACM 5(11), 1962), level by level: a class is searched from its label once all arcs
   into it have been read, and every arc out of a reached row lowers the count of the class that it leads to. What is reached at
   the end does not depend on the order. The search against the arcs waits for nothing, because the classes are known to have no
   cycle. One launch for each direction; the CPU names the rule that a refused answer breaks.

   Encodings: bit r & 31 of word r >> 5 of `reached` is row r, and of `large` whether r names a class of more than one row.
   `waiting` is the number of unread arcs from other classes into the class that a row names. An entry of the queue is a row and
   the first of up to CHUNK of its arcs. */
#include "scc/certificate/search.cuh"
#include "certificate/labels.cuh"

/* `deep`: the search was given up, after too many thin levels. `queued` counts entries of the level that is read, the one being
   filled, and the next, in turn. */
struct Control {
    uint32_t barrier;
    Labels labels;
    uint32_t unreached;
    uint32_t deep;
    unsigned long long queued[3];
};

struct Peeling {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const ROW* __restrict__ labels;
    uint32_t* reached;
    unsigned long long* waiting;
    Chunk* queue;
    unsigned long long* queued;

    __device__ __forceinline__ bool is_reached(int64_t row) const { return (reached[row >> 5] >> (row & 31) & 1) != 0; }

    /* Reach a row, unless it was, and queue its arcs. */
    __device__ __forceinline__ void reach(int64_t row) {
        const uint32_t bit = 1u << (row & 31);
        if ((atomicOr(&reached[row >> 5], bit) & bit) != 0) {
            return;
        }
        const int64_t end = offsets[row + 1];
        for (int64_t first = offsets[row]; first < end; first += CHUNK) {
            queue[append(queued)] = {row, first};
        }
    }

    /* An arc to a reached row lies inside a class, because a class is searched only after all arcs into it were read. */
    __device__ __forceinline__ void read(int64_t row, ROW head, bool waits) {
        if (is_reached(head)) {
            return;
        }
        const ROW label = labels[head];
        if (label == labels[row]) {
            reach(head);
        } else if (waits && release(label)) {
            reach(label);
        }
    }

    /* Count arcs into a class as read, for all lanes whose arcs lead to it; returns whether none is left. */
    __device__ __forceinline__ bool release(ROW label) {
        const uint32_t equal = __match_any_sync(__activemask(), label);
        if ((threadIdx.x & 31) != __ffs(equal) - 1) {
            return false;
        }
        const unsigned long long taken = __popc(equal);
        return atomicAdd(&waiting[label], 0 - taken) == taken;
    }
};

/* Counts arcs into each class; the arcs are those against the search, so the row is an arc's head. Arcs into the giant class are
   summed by each warp first: atomics on one address would be slow. */
struct Counting : EveryRow {
    const ROW* __restrict__ labels;
    ROW giant;
    unsigned long long* waiting;
    uint32_t into_giant;

    typedef ROW Loaded;

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW head) const { return labels[head]; }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW, Loaded head_label, bool active) {
        const ROW label = labels[row];
        if (!active || head_label == label) {
            return;
        }
        if (label == giant) {
            ++into_giant;
        } else {
            atomicAdd(&waiting[label], 1ull);
        }
    }

    __device__ __forceinline__ void close() {
        const uint32_t sum = __reduce_add_sync(FULL_WARP, into_giant);
        if ((threadIdx.x & 31) == 0 && sum > 0) {
            atomicAdd(&waiting[giant], (unsigned long long)sum);
        }
    }
};

/* If `waits`, a class is searched once all arcs into it were read, as in Kahn's algorithm; otherwise every class at once. */
extern "C" __global__ void __launch_bounds__(THREADS, 2)
peel(const int64_t* offsets, const ROW* indices, const int64_t* back_offsets, const ROW* back_indices, bool waits,
     const ROW* positions, int64_t num_rows, int64_t most_thin, const ROW* labels, uint32_t* reached, uint32_t* large,
     unsigned long long* waiting, Chunk* queue, const Control* before, Control* control) {
    if (before != nullptr && (before->labels.outside | before->labels.wrong | before->unreached | before->deep) != 0) {
        if (global_thread() == 0) {
            control->unreached = before->deep == 0;
            control->deep = before->deep;
        }
        return;
    }
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        check_label(labels, positions, num_rows, v, &control->labels);
        waiting[v] = 0;
        if (v % 32 == 0) {
            reached[v >> 5] = 0;
            large[v >> 5] = 0;
        }
    }
    grid_barrier(&control->barrier);
    if (*(volatile uint32_t*)&control->labels.outside != 0) {
        return;
    }
    if (waits) {
        Counting counting = {{}, labels, num_rows == 0 ? (ROW)0 : giant_class(back_offsets, num_rows, labels), waiting, 0};
        walk_arcs(back_offsets, back_indices, num_rows, counting);
        counting.close();
    }
    for (int64_t v = global_thread(); !waits && v < num_rows; v += num_threads()) {
        const ROW label = labels[v];
        const uint32_t bit = 1u << (label & 31);
        if (label != v && (*(volatile uint32_t*)&large[label >> 5] & bit) == 0) {
            atomicOr(&large[label >> 5], bit);
        }
    }
    grid_barrier(&control->barrier);
    Peeling peeling = {offsets, indices, labels, reached, waiting, queue, &control->queued[0]};
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        const bool starts = labels[v] == v && (!waits || waiting[v] == 0);
        if (starts && (waits || (large[v >> 5] >> (v & 31) & 1) != 0)) {
            peeling.reach(v);
        } else if (starts) {
            atomicOr(&reached[v >> 5], 1u << (v & 31));
        }
    }
    if (!search(peeling, waits, most_thin, &control->barrier, control->queued)) {
        control->deep = 1;
        return;
    }
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        if (!peeling.is_reached(v)) {
            control->unreached = 1;
        }
    }
}
