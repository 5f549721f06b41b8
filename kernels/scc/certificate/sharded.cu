/* Passes of the certificate of strong components over the arcs of one rank's rows: count the arcs into each class, and search
   inside the classes.

   Method: a walk that gives every warp equally many arcs, and a breadth-first search (search.cuh). Every arc between two classes
   that the search reads lowers the count of the class that it leads to.

   Encodings: `kernels.scc.certificate.cpu.ClassSearch` has the arrays. Tails are own rows, heads are local rows. */
#include "certificate/arcs.cuh"
#include "scc/certificate/search.cuh"

#define ALL_LEVELS ((int64_t)1 << 62)

/* Counts the arcs into each class from another one; lanes whose arcs lead to one class add their number together. */
struct Entering : EveryRow {
    const ROW* __restrict__ classes;
    unsigned long long* entering;

    typedef ROW Loaded;

    __device__ __forceinline__ Loaded load(int64_t, int64_t, ROW head) const { return classes[head]; }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW, Loaded head_class, bool active) {
        const bool enters = active && classes[row] != head_class;
        const uint32_t entering_lanes = __ballot_sync(FULL_WARP, enters);
        if (enters) {
            const uint32_t equal = __match_any_sync(entering_lanes, head_class);
            if ((threadIdx.x & 31) == __ffs(equal) - 1) {
                atomicAdd(&entering[head_class], (unsigned long long)__popc(equal));
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2)
count_entering(const int64_t* offsets, const ROW* indices, int64_t num_rows, const ROW* classes, unsigned long long* entering) {
    Entering visit = {{}, classes, entering};
    walk_arcs(offsets, indices, num_rows, visit);
}

struct Peeling {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const ROW* __restrict__ classes;
    const ROW* __restrict__ label_rows;
    int64_t num_own;
    unsigned long long *unread, *read_arcs;
    uint32_t* unreached;
    Chunk* queue;
    unsigned long long* queued;

    /* Queue the arcs of an own row. */
    __device__ __forceinline__ void append_row(int64_t row) {
        const int64_t end = offsets[row + 1];
        for (int64_t first = offsets[row]; first < end; first += CHUNK) {
            queue[append(queued)] = {row, first};
        }
    }

    __device__ __forceinline__ void reach(int64_t row) {
        if (unreached[row] != 0 && atomicExch(&unreached[row], 0u) != 0 && row < num_own) {
            append_row(row);
        }
    }

    __device__ __forceinline__ void read(int64_t row, ROW head, bool waits) {
        const ROW head_class = classes[head];
        if (head_class == classes[row]) {
            reach(head);
        } else if (waits) {
            const ROW label = label_rows[head_class];
            const uint32_t equal = __match_any_sync(__activemask(), head_class);
            if ((threadIdx.x & 31) != __ffs(equal) - 1) {
                return;
            }
            const unsigned long long taken = __popc(equal);
            if (label < 0) {
                atomicAdd(&read_arcs[head_class], taken);
            } else if (atomicAdd(&unread[label], 0 - taken) == taken) {
                reach(label);
            }
        }
    }
};

struct Control {
    uint32_t barrier, padding;
    unsigned long long queued[3];
};

/* Search from `starts`, which are reached already. */
extern "C" __global__ void __launch_bounds__(THREADS, 2)
peel(const int64_t* offsets, const ROW* indices, const ROW* classes, const ROW* label_rows, int64_t num_own, bool waits,
     unsigned long long* unread, unsigned long long* read_arcs, uint32_t* unreached, const ROW* starts, int64_t num_starts,
     Chunk* queue, Control* control) {
    Peeling peeling = {offsets, indices, classes, label_rows, num_own, unread, read_arcs, unreached, queue, &control->queued[0]};
    for (int64_t place = global_thread(); place < num_starts; place += num_threads()) {
        peeling.append_row(starts[place]);
    }
    search(peeling, waits, ALL_LEVELS, &control->barrier, control->queued);
}
