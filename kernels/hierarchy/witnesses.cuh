/* Dijkstra's search for witnesses, of limited size, by the lanes of a warp: kernels/hierarchy/witnesses.py, vertex by vertex, so
   that both find the same.

   Lanes take the arcs of a vertex at the same time, whose heads differ. Entries are numbered in the order in which the CPU enters
   them. There is no heap: lanes look through all entries for the nearest one that is open, of equally near ones that of the
   smallest vertex. */
#pragma once
#include "gpu/device.cuh"

/* Lengths are added unsigned: a sum of two that fit int64 does not wrap, and one that does not fit is FAR or more. */
template <typename Weight> struct Lengths {
    typedef uint64_t Type;
    static __device__ __forceinline__ uint64_t far() { return 1ull << 63; }
    static __device__ __forceinline__ uint64_t bits(uint64_t length) { return length; }
    static __device__ __forceinline__ uint64_t of_bits(uint64_t bits) { return bits; }
};
template <> struct Lengths<double> {
    typedef double Type;
    static __device__ __forceinline__ double far() { return __longlong_as_double(0x7ff0000000000000ll); }
    static __device__ __forceinline__ uint64_t bits(double length) { return (uint64_t)__double_as_longlong(length); }
    static __device__ __forceinline__ double of_bits(uint64_t bits) { return __longlong_as_double((int64_t)bits); }
};
template <> struct Lengths<float> : Lengths<double> {};

typedef Lengths<WEIGHT> Kind;
typedef Kind::Type Length;

struct Arcs {
    const int64_t* offsets;
    const int32_t* heads;
    const Length* weights;
};

struct Place {
    int32_t key;   /* vertex, or -1 between searches */
    int32_t entry; /* its number */
};

/* Memory for the search of each team of lanes: `size` is a power of 2, and at least twice `most`. Lengths are three arrays, and
   numbers three others, of `most` entries each. */
struct Memory {
    Place* places;
    Length* lengths;
    int32_t* numbers;
    int64_t size, most;
};

__device__ __forceinline__ int64_t global_team() { return global_thread() / TEAM; }

__device__ __forceinline__ int64_t num_teams() { return num_threads() / TEAM; }

__device__ __forceinline__ uint32_t lanes_of_team() {
    return TEAM == 32 ? FULL_WARP : ((1u << (TEAM & 31)) - 1) << (threadIdx.x % 32 / TEAM * TEAM);
}

/* The largest and the least value of a team's lanes. */
__device__ __forceinline__ uint64_t largest(uint32_t team, uint64_t value) {
    const uint32_t high = __reduce_max_sync(team, (uint32_t)(value >> 32));
    const uint32_t low = __reduce_max_sync(team, (uint32_t)(value >> 32) == high ? (uint32_t)value : 0u);
    return (uint64_t)high << 32 | low;
}

__device__ __forceinline__ uint64_t least(uint32_t team, uint64_t value) {
    const uint32_t high = __reduce_min_sync(team, (uint32_t)(value >> 32));
    const uint32_t low = __reduce_min_sync(team, (uint32_t)(value >> 32) == high ? (uint32_t)value : ~0u);
    return (uint64_t)high << 32 | low;
}

struct Search {
    Place* places;
    Length *lengths, *through, *open; /* open: the length of an entry that is to be settled, or FAR */
    int32_t *keys, *middles, *slots;
    int64_t mask, most;
    int32_t count, lane;
    uint32_t team;

    __device__ Search(const Memory& memory, int64_t number)
        : places(memory.places + number * memory.size), lengths(memory.lengths + number * memory.most * 3),
          through(lengths + memory.most), open(through + memory.most), keys(memory.numbers + number * memory.most * 3),
          middles(keys + memory.most), slots(middles + memory.most), mask(memory.size - 1), most(memory.most), count(0),
          lane(threadIdx.x % TEAM), team(lanes_of_team()) {}

    /* The lanes of the team for which `value` holds, and how many of some lanes are before this one. */
    __device__ __forceinline__ uint32_t voted(bool value) const { return __ballot_sync(team, value); }
    __device__ __forceinline__ int32_t before(uint32_t lanes) const { return __popc(lanes & ((1u << (threadIdx.x & 31)) - 1)); }

    /* The place of `key`, or the empty place where it belongs. */
    __device__ __forceinline__ int64_t slot(int32_t key) const {
        int64_t place = ((int64_t)key * 0x9e3779b1ll >> 7) & mask;
        while (places[place].key >= 0 && places[place].key != key) {
            place = (place + 1) & mask;
        }
        return place;
    }

    /* The entry of `key`, or -1. */
    __device__ __forceinline__ int32_t entry_of(int32_t key) const {
        const Place place = places[slot(key)];
        return place.key >= 0 ? place.entry : -1;
    }

    /* The entries of the keys of active lanes, which differ. A new one is entered, or -1 if there are `limit` entries. */
    __device__ int32_t enter(bool active, int32_t key, int64_t limit) {
        __syncwarp(team);
        int64_t place = active ? slot(key) : 0;
        const bool known = active && places[place].key >= 0;
        const int32_t entry = known ? places[place].entry : -1;
        const uint32_t all = voted(active && !known);
        if (all == 0) {
            return entry;
        }
        const int32_t made = count + before(all);
        const bool enters = active && !known && made < limit;
        if (enters) {
            while (atomicCAS(&places[place].key, -1, key) >= 0) {
                place = (place + 1) & mask;
            }
            places[place].entry = made;
            keys[made] = key;
            slots[made] = (int32_t)place;
            lengths[made] = through[made] = open[made] = Kind::far();
        }
        count += __popc(voted(enters));
        __syncwarp(team);
        return enters ? made : entry;
    }

    /* The nearest open vertex, of equally near ones the smallest, with its length; it is settled. -1 if there is none. */
    __device__ int32_t settle_nearest(Length& length) {
        length = Kind::far();
        int32_t settled = -1;
        for (int32_t entry = lane; entry < count; entry += TEAM) {
            if (open[entry] < length || (settled >= 0 && open[entry] == length && keys[entry] < keys[settled])) {
                length = open[entry];
                settled = entry;
            }
        }
        const uint64_t bits = least(team, Kind::bits(length));
        if (bits == Kind::bits(Kind::far())) {
            return -1;
        }
        const bool first = Kind::bits(length) == bits;
        const int32_t near = (int32_t)__reduce_min_sync(team, first ? (uint32_t)keys[settled] : ~0u);
        if (first && keys[settled] == near) {
            open[settled] = Kind::far();
        }
        length = Kind::of_bits(bits);
        return near;
    }

    /* See `kernels.hierarchy.witnesses`. */
    __device__ void run(const Arcs& arcs, const bool* chosen, int32_t avoid, int32_t settle, int32_t limit) {
        uint64_t bits = 0;
        int32_t pending = 0;
        for (int32_t entry = lane; entry < count; entry += TEAM) {
            if (through[entry] < lengths[entry]) {
                bits = bits < Kind::bits(through[entry]) ? Kind::bits(through[entry]) : bits;
                ++pending;
            }
        }
        const Length bound = Kind::of_bits(largest(team, bits));
        pending = __reduce_add_sync(team, pending);
        for (int32_t entry = lane; entry < count; entry += TEAM) {
            open[entry] = lengths[entry] <= bound ? lengths[entry] : Kind::far();
        }
        for (; settle && pending; --settle) {
            Length length;
            const int32_t near = settle_nearest(length);
            if (near < 0) {
                break;
            }
            const int64_t end = arcs.offsets[near + 1];
            for (int64_t begin = arcs.offsets[near]; begin < end; begin += TEAM) {
                const int64_t arc = begin + lane;
                const int32_t head = arc < end ? arcs.heads[arc] : avoid;
                const Length total = arc < end ? length + arcs.weights[arc] : Kind::far();
                const int32_t entry = enter(head != avoid && total <= bound && !chosen[head], head, limit);
                const bool nearer = entry >= 0 && total < lengths[entry];
                pending -= __popc(voted(nearer && total <= through[entry] && through[entry] < lengths[entry]));
                if (nearer) {
                    lengths[entry] = open[entry] = total;
                }
            }
            __syncwarp(team);
        }
    }

    /* Forget all entries. */
    __device__ void clear() {
        __syncwarp(team);
        for (int32_t entry = lane; entry < count; entry += TEAM) {
            places[slots[entry]].key = -1;
        }
        count = 0;
        __syncwarp(team);
    }
};
