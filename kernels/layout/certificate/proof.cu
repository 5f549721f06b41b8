/* Passes of the certificate of the layout (__init__.py states what it proves).

   arc_sums    the fingerprint of the arcs of rows, and whether one is out of order
   edge_sums   the fingerprint of edges
   all_stored  whether an arc is without a stored one that is no heavier, or weighs the same, by a binary search in its row

   Encodings: a fingerprint is two words, each the sum of a keyed mix (SplitMix64's finalizer) of tail, head and weight, by
   external ids. `keys` are two words for tails, two for heads, one for weights. Weights are never negative, so that they order as
   their bits do; minus zero is zero. Flags are 0 before; the CPU finds the place (cuda.py). */
#include "certificate/arcs.cuh"

#define UNSIGNED_(number) number##ull
#define UNSIGNED(number) UNSIGNED_(number)

__device__ __forceinline__ uint64_t mixed(uint64_t word) {
    word = (word ^ (word >> 30)) * UNSIGNED(MIX_1);
    word = (word ^ (word >> 27)) * UNSIGNED(MIX_2);
    return word ^ (word >> 31);
}

__device__ __forceinline__ uint64_t word_at(const void* weights, int bytes, int64_t place) {
    if (bytes == 4) {
        const uint32_t word = ((const uint32_t*)weights)[place];
        return word == 1u << 31 ? 0 : word;
    }
    const uint64_t word = bytes == 8 ? ((const uint64_t*)weights)[place] : 0;
    return word == 1ull << 63 ? 0 : word;
}

/* A fingerprint that a thread adds to. */
struct Sums {
    uint64_t first, second;

    __device__ __forceinline__ void add(const uint64_t* __restrict__ keys, uint64_t tail, uint64_t head, uint64_t word) {
        const uint64_t weight = (word + keys[4]) * UNSIGNED(WEIGHT_FACTOR);
        first += mixed(mixed(tail + keys[0]) + mixed(head + keys[2]) + weight);
        second += mixed(mixed(tail + keys[1]) + mixed(head + keys[3]) + weight);
    }

    /* Add the sums of all lanes to `total`. */
    __device__ __forceinline__ void store(unsigned long long* total) {
        for (int step = 16; step > 0; step /= 2) {
            first += __shfl_xor_sync(FULL_WARP, first, step);
            second += __shfl_xor_sync(FULL_WARP, second, step);
        }
        if ((threadIdx.x & 31) == 0) {
            atomicAdd(total, (unsigned long long)first);
            atomicAdd(total + 1, (unsigned long long)second);
        }
    }
};

struct Reading : EveryRow {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const void* __restrict__ weights;
    int weight_bytes;
    const int64_t* __restrict__ ids;
    int64_t num_ids;
    int role;
    bool distinct;
    const uint64_t* __restrict__ keys;
    unsigned long long* broken;
    Sums sums, reversed;

    struct Loaded {
        int64_t id;
        uint64_t word;
    };

    __device__ __forceinline__ int64_t id_of(ROW index) const { return index < 0 || index >= num_ids ? -1 : ids[index]; }

    __device__ __forceinline__ Loaded load(int64_t, int64_t arc, ROW index) const {
        return {id_of(index), word_at(weights, weight_bytes, arc)};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t arc, ROW, const Loaded& seen, bool active) {
        if (!active) {
            return;
        }
        bool ordered = seen.id >= 0;
        if (arc > offsets[row]) {
            const int64_t before = id_of(indices[arc - 1]);
            const bool equal = before == seen.id && !distinct && word_at(weights, weight_bytes, arc - 1) <= seen.word;
            ordered = ordered && (before < seen.id || equal);
        }
        if (!ordered) {
            *broken = 1;
            return;
        }
        const int64_t own = ids[row];
        if (role == FORWARD || (role == BOTH && seen.id >= own)) {
            sums.add(keys, own, seen.id, seen.word);
        }
        if (role == BACKWARD) {
            sums.add(keys, seen.id, own, seen.word);
        }
        if (role == BOTH && seen.id <= own) {
            reversed.add(keys, seen.id, own, seen.word);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
arc_sums(const int64_t* offsets, const ROW* indices, const void* weights, int weight_bytes, int64_t num_rows,
         const int64_t* ids, int64_t num_ids, int role, bool distinct, const uint64_t* keys, unsigned long long* sums,
         unsigned long long* broken) {
    Reading visit = {{}, offsets, indices, weights, weight_bytes, ids, num_ids, role, distinct, keys, broken, {}, {}};
    walk_arcs(offsets, indices, num_rows, visit);
    visit.sums.store(sums);
    visit.reversed.store(sums + 2);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
edge_sums(const EDGE* __restrict__ src, const EDGE* __restrict__ dst, const void* __restrict__ weights, int weight_bytes,
          int64_t num_edges, int role, bool self_loops, const uint64_t* __restrict__ keys, unsigned long long* total) {
    Sums sums = {0, 0}, reversed = {0, 0};
    for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
        const int64_t tail = src[edge], head = dst[edge];
        if (tail != head || self_loops) {
            const uint64_t word = word_at(weights, weight_bytes, edge);
            if (role != BOTH || tail <= head) {
                sums.add(keys, role == FORWARD ? tail : min(tail, head), role == FORWARD ? head : max(tail, head), word);
            }
            if (role == BOTH && tail >= head) {
                reversed.add(keys, head, tail, word);
            }
        }
    }
    sums.store(total);
    reversed.store(total + 2);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
all_stored(const ROW* rows, const int64_t* neighbours, const void* asked, int64_t count, const int64_t* offsets,
                 const ROW* indices, const void* weights, int weight_bytes, const int64_t* ids, bool alike,
                 unsigned long long* missing) {
    for (int64_t item = global_thread(); item < count; item += num_threads()) {
        const int64_t wanted = neighbours[item], end = offsets[rows[item] + 1];
        int64_t first = offsets[rows[item]], last = end;
        while (first < last) {
            const int64_t middle = first + (last - first) / 2;
            if (ids[indices[middle]] < wanted) {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        const bool found = first < end && ids[indices[first]] == wanted;
        const uint64_t stored = found ? word_at(weights, weight_bytes, first) : 0, own = word_at(asked, weight_bytes, item);
        if (!found || stored > own || (alike && stored != own)) {
            *missing = 1;
        }
    }
}
