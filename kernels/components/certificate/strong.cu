/* The certificate of strong components (components/__init__.py says what it proves). Returns, in `control`, the first rows that break
   each rule.

   Method: Kahn's algorithm over the classes (CACM 5(11), 1962), level by level: a class is searched from its label when no arc
   into it is left, and an arc out of a row that was reached is taken off the class it leads to. What is reached at the end is the
   same in any order. The search against the arcs waits for nothing, as the classes are known to have no cycle; only a refused
   answer needs it with waiting too, for the first class that can be searched. A launch a direction.

   Encodings: bit r & 31 of word r >> 5 of `reached` is row r, and of `large` whether r names a class of more than one row.
   `waiting` is the number of arcs from other classes into the class that a row names. A place of the queue is a row and the first of
   up to CHUNK of its arcs. */
#include "components/certificate/search.cuh"
#include "certificate/labels.cuh"

#define THREADS 512

/* First rows as note_first has them; `queued` for the level that is read, the one being filled, and the next, in turn. */
struct Control {
    uint32_t barrier, padding;
    Labels labels;
    unsigned long long unreached, uncovered, queued[3];
};

struct Peeling {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const ROW* __restrict__ labels;
    uint32_t* reached;
    unsigned long long* waiting;
    Piece* queue;
    unsigned long long* queued;

    __device__ __forceinline__ bool is_reached(int64_t row) const {
        return (reached[row >> 5] >> (row & 31) & 1) != 0;
    }

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

    /* An arc to a row that is reached lies inside a class: a class is not searched before all arcs into it were read. */
    __device__ __forceinline__ void read(int64_t row, ROW far, bool waits) {
        if (is_reached(far)) {
            return;
        }
        const ROW label = labels[far];
        if (label == labels[row]) {
            reach(far);
        } else if (waits && release(label)) {
            reach(label);
        }
    }

    /* Take an arc off a class, for all lanes whose arcs lead to it; whether it was the last. */
    __device__ __forceinline__ bool release(ROW label) {
        const uint32_t equal = __match_any_sync(__activemask(), label);
        if ((threadIdx.x & 31) != __ffs(equal) - 1) {
            return false;
        }
        const unsigned long long taken = __popc(equal);
        return atomicAdd(&waiting[label], 0 - taken) == taken;
    }
};

/* Arcs against the search: the row is an arc's head. Those into the giant class are counted apart, as one place cannot take them. */
struct Counting {
    const ROW* __restrict__ labels;
    ROW giant;
    unsigned long long* waiting;
    uint32_t into_giant;

    struct Loaded {
        ROW far_label;
    };

    __device__ __forceinline__ bool skips(int64_t) const {
        return false;
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW far) const {
        return {labels[far]};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW, const Loaded& seen, bool active) {
        const ROW label = labels[row];
        if (!active || seen.far_label == label) {
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

/* `waits`: arcs between classes are counted, as Kahn's algorithm has it; else every class is searched at once. */
extern "C" __global__ void __launch_bounds__(THREADS, 2)
peel(const int64_t* offsets, const ROW* indices, const int64_t* back_offsets, const ROW* back_indices, bool waits,
     const ROW* ranks, int64_t num_rows, const ROW* labels, uint32_t* reached, uint32_t* large, unsigned long long* waiting,
     Piece* queue, const Control* before, Control* control) {
    if (before != nullptr && (before->labels.outside | before->unreached) != 0) {
        return;
    }
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        check_label(labels, ranks, num_rows, v, &control->labels);
        waiting[v] = 0;
        if (v % 32 == 0) {
            reached[v >> 5] = 0;
            large[v >> 5] = 0;
        }
    }
    grid_barrier(&control->barrier);
    if (*(volatile unsigned long long*)&control->labels.outside != 0) {
        return;
    }
    if (waits) {
        Counting counting = {labels, num_rows == 0 ? (ROW)0 : giant_class(back_offsets, num_rows, labels), waiting, 0};
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
    search(peeling, waits, &control->barrier, control->queued);
    for (int64_t v = global_thread(); v < num_rows; v += num_threads()) {
        if (!peeling.is_reached(v)) {
            note_first(&control->unreached, num_rows, v);
            if (peeling.is_reached(labels[v])) {
                note_first(&control->uncovered, num_rows, v);
            }
        }
    }
}
