/* Dijkstra's search for witnesses, of limited size, by one thread: kernels/hierarchy/witnesses.py, step by step, so that both
   find the same. */
#pragma once
#include "gpu/device.cuh"

/* Lengths are added unsigned: a sum of two that fit int64 does not wrap, and one that does not fit is FAR or more. */
template <typename Weight> struct Lengths {
    typedef uint64_t Type;
    static __device__ __forceinline__ uint64_t far() { return 1ull << 63; }
};
template <> struct Lengths<double> {
    typedef double Type;
    static __device__ __forceinline__ double far() { return __longlong_as_double(0x7ff0000000000000ll); }
};
template <> struct Lengths<float> : Lengths<double> {};

typedef Lengths<WEIGHT>::Type Length;

struct Arcs {
    const int64_t* offsets;
    const int32_t* heads;
    const Length* weights;
};

/* Memory for the search of each thread: `places` is a power of 2, and at least twice `most`. Keys are -1 between searches. */
struct Memory {
    int32_t* keys;
    Length* lengths;
    Length* through;
    int32_t* middles;
    int32_t* used;
    Length* heap_lengths;
    int32_t* heap_slots;
    int64_t places, most;
};

struct Search {
    int32_t* keys;
    Length* lengths;
    Length* through;
    int32_t* middles;
    int32_t* used;
    Length* heap_lengths;
    int32_t* heap_slots;
    int64_t mask;
    int32_t count, size;

    __device__ Search(const Memory& memory, int64_t thread)
        : keys(memory.keys + thread * memory.places), lengths(memory.lengths + thread * memory.places),
          through(memory.through + thread * memory.places), middles(memory.middles + thread * memory.places),
          used(memory.used + thread * memory.most), heap_lengths(memory.heap_lengths + thread * memory.most * HEAP),
          heap_slots(memory.heap_slots + thread * memory.most * HEAP), mask(memory.places - 1), count(0), size(0) {}

    /* The place of `key`, or the empty place where it belongs. */
    __device__ int32_t slot(int32_t key) const {
        int64_t place = ((int64_t)key * 0x9e3779b1ll >> 7) & mask;
        while (keys[place] >= 0 && keys[place] != key) {
            place = (place + 1) & mask;
        }
        return (int32_t)place;
    }

    __device__ int32_t enter(int32_t key) {
        const int32_t place = slot(key);
        if (keys[place] < 0) {
            keys[place] = key;
            lengths[place] = through[place] = Lengths<WEIGHT>::far();
            used[count++] = place;
        }
        return place;
    }

    __device__ void push(Length length, int32_t entry) {
        int32_t place = size++;
        while (place) {
            const int32_t above = (place - 1) >> 1;
            if (heap_lengths[above] <= length) {
                break;
            }
            heap_lengths[place] = heap_lengths[above];
            heap_slots[place] = heap_slots[above];
            place = above;
        }
        heap_lengths[place] = length;
        heap_slots[place] = entry;
    }

    /* Remove the first entry. */
    __device__ int32_t pop(Length* first) {
        *first = heap_lengths[0];
        const int32_t entry = heap_slots[0];
        const Length length = heap_lengths[--size];
        const int32_t moved = heap_slots[size];
        int32_t place = 0;
        for (int32_t below = 1; below < size; below = 2 * place + 1) {
            below += below + 1 < size && heap_lengths[below + 1] < heap_lengths[below];
            if (heap_lengths[below] >= length) {
                break;
            }
            heap_lengths[place] = heap_lengths[below];
            heap_slots[place] = heap_slots[below];
            place = below;
        }
        heap_lengths[place] = length;
        heap_slots[place] = moved;
        return entry;
    }

    /* See `kernels.hierarchy.witnesses`; `chosen` may be missing. */
    __device__ void run(const Arcs& arcs, const bool* chosen, int32_t avoid, int32_t settle, int32_t most) {
        Length bound = 0;
        int32_t pending = 0;
        for (int32_t entry = 0; entry < count; ++entry) {
            const int32_t place = used[entry];
            if (through[place] < lengths[place]) {
                bound = bound < through[place] ? through[place] : bound;
                ++pending;
            }
        }
        size = 0;
        for (int32_t entry = 0; entry < count; ++entry) {
            if (lengths[used[entry]] <= bound) {
                push(lengths[used[entry]], used[entry]);
            }
        }
        while (size && settle && pending) {
            Length length;
            const int32_t settled = pop(&length);
            if (length > lengths[settled]) {
                continue;
            }
            --settle;
            const int32_t near = keys[settled];
            for (int64_t arc = arcs.offsets[near]; arc < arcs.offsets[near + 1]; ++arc) {
                const int32_t head = arcs.heads[arc];
                const Length total = length + arcs.weights[arc];
                if (total > bound || (chosen && chosen[head]) || head == avoid) {
                    continue;
                }
                int32_t place = slot(head);
                if (keys[place] < 0 && count < most) {
                    place = enter(head);
                }
                if (keys[place] == head && total < lengths[place] && size < HEAP * most) {
                    pending -= total <= through[place] && through[place] < lengths[place];
                    lengths[place] = total;
                    push(total, place);
                }
            }
        }
    }

    /* Forget all entries. */
    __device__ void clear() {
        while (count) {
            keys[used[--count]] = -1;
        }
    }
};
