/* Edges of a random graph by their numbers, as cpu.py computes them: one thread an edge.

   Sources: Graph500's reference implementation, generator/graph_generator.c (the scrambling of ids); Steele, Lea, Flood, OOPSLA
   2014 (SplitMix64). */
#include "gpu/device.cuh"

struct Tables {
    const uint64_t* communities;  // rows of COMMUNITY_COLUMNS: edges before, first vertex, size of one, edges of one
    const uint64_t* members;      // rows of MEMBER_COLUMNS: units before, first vertex, units of one
    int64_t num_communities, num_members;
    uint64_t inside, outside;
};

struct Numbers {
    int kind, bits;
    uint64_t num_ids, seed, one, other;
};

__device__ __forceinline__ uint64_t word_of(uint64_t seed, uint64_t number) {
    uint64_t word = seed + 0x9e3779b97f4a7c15ull * (number + 1);
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
    return word ^ (word >> 31);
}

/* A permutation of 0..num_ids-1, by one of 0..2^bits-1 that is repeated until it gives an id. */
__device__ __forceinline__ uint64_t scrambled(uint64_t row, const Numbers& of) {
    do {
        row = __brevll((row + of.one + of.other) * (of.one | 0x4519840211493211ull)) >> (64 - of.bits);
        row = __brevll(row * (of.other | 0x3050852102c843a5ull)) >> (64 - of.bits);
    } while (row >= of.num_ids);
    return row;
}

/* The last row of a table whose first entry is at most the value. */
__device__ __forceinline__ const uint64_t* row_of(const uint64_t* table, int64_t rows, int columns, uint64_t value) {
    int64_t low = 0;
    for (int64_t high = rows; high - low > 1;) {
        const int64_t middle = (low + high) >> 1;
        if (table[middle * columns] <= value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return table + low * columns;
}

__device__ __forceinline__ uint64_t member(const Tables& tables, uint64_t unit) {
    const uint64_t* row = row_of(tables.members, tables.num_members, MEMBER_COLUMNS, unit);
    return row[1] + (unit - row[0]) / row[2];
}

__device__ __forceinline__ void ends_of(const Numbers& of, const Tables& tables, uint64_t edge, uint64_t& src, uint64_t& dst) {
    const uint64_t first = edge * WORDS;
    src = dst = 0;
    if (of.kind == GRAPH500) {
        uint64_t word = 0;
        for (int level = 0; level < of.bits; ++level) {
            word = level & 1 ? word >> 32 : word_of(of.seed, first + (level >> 1));
            const uint32_t place = (uint32_t)(word & 0xffffffffu);
            const int right = place >= (uint32_t)FIRST, below = place >= (uint32_t)SECOND;
            src = 2 * src + below;
            dst = 2 * dst + (right ^ below ^ (int)(place >= (uint32_t)THIRD));
        }
    } else {
        const uint64_t one = word_of(of.seed, first), other = word_of(of.seed, first + 1);
        if (edge < tables.inside) {
            const uint64_t* row = row_of(tables.communities, tables.num_communities, COMMUNITY_COLUMNS, edge);
            const uint64_t begin = row[1] + (edge - row[0]) / row[3] * row[2];
            src = one % row[2];
            dst = other % (row[2] - 1);
            dst += dst >= src;
            src += begin;
            dst += begin;
        } else {
            src = member(tables, one % tables.outside);
            dst = member(tables, other % tables.outside);
        }
    }
    src = scrambled(src, of);
    dst = scrambled(dst, of);
}

#define NUMBERS int kind, int bits, uint64_t num_ids, uint64_t seed, uint64_t one, uint64_t other
#define TABLES \
    const uint64_t *communities, int64_t num_communities, const uint64_t *members, int64_t num_members, uint64_t inside, \
        uint64_t outside

extern "C" __global__ void __launch_bounds__(THREADS) draw_ends(NUMBERS, TABLES, uint64_t begin, int64_t count, int64_t* ends) {
    const Numbers of = {kind, bits, num_ids, seed, one, other};
    const Tables tables = {communities, members, num_communities, num_members, inside, outside};
    for (int64_t item = global_thread(); item < count; item += num_threads()) {
        uint64_t src, dst;
        ends_of(of, tables, begin + item, src, dst);
        ends[item] = (int64_t)src;
        ends[count + item] = (int64_t)dst;
    }
}

/* Keys smaller << bits | larger of the edges whose smaller end is in low..high-1, behind each other in any order. */
extern "C" __global__ void __launch_bounds__(THREADS)
    draw_keys(NUMBERS, TABLES, uint64_t begin, int64_t count, uint64_t low, uint64_t high, uint64_t* keys, uint64_t* length) {
    const Numbers of = {kind, bits, num_ids, seed, one, other};
    const Tables tables = {communities, members, num_communities, num_members, inside, outside};
    for (int64_t item = global_thread(); item < count; item += num_threads()) {
        uint64_t src, dst;
        ends_of(of, tables, begin + item, src, dst);
        const uint64_t smaller = min(src, dst);
        if (src != dst && low <= smaller && smaller < high) {
            keys[append(length)] = smaller << bits | max(src, dst);
        }
    }
}

/* Adds how many edges have a smaller end of each `id >> shift`. */
extern "C" __global__ void __launch_bounds__(THREADS)
    count_smaller(NUMBERS, TABLES, uint64_t begin, int64_t count, int shift, uint64_t* counts) {
    const Numbers of = {kind, bits, num_ids, seed, one, other};
    const Tables tables = {communities, members, num_communities, num_members, inside, outside};
    for (int64_t item = global_thread(); item < count; item += num_threads()) {
        uint64_t src, dst;
        ends_of(of, tables, begin + item, src, dst);
        if (src != dst) {
            atomicAdd(counts + (min(src, dst) >> shift), 1ull);
        }
    }
}
