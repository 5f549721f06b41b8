/* The graph as the kernels of the forest read it: numbers and keys of its edges, and the lightest key of each tree. */
#pragma once

#include "gpu/union_find.cuh"
#include "gpu/unsigned.cuh"

#define WIDE (sizeof(EDGE) == 8)

typedef UnsignedOf<sizeof(EDGE)>::type Bits;

struct Key {
    Bits weight, edge;
};

struct Control {
    uint32_t barrier;
    uint32_t alive[3];
    unsigned long long listed[2];
    int64_t giant;
    int64_t total;
};

struct Edges {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const WEIGHT* __restrict__ weights;
    const ROW* __restrict__ positions;
    const ROW* __restrict__ rows_by_id;
    const ROW* __restrict__ tails;
    const EDGE* __restrict__ first_edge;
    const ROW* __restrict__ chunk_rows;
    const int64_t* __restrict__ chunk_firsts;
    int64_t num_rows, num_chunks;
};

/* The lightest key of each tree. Only WIDE keys use `edge`. */
struct Minima {
    unsigned long long* weight;
    unsigned long long* edge;
};

__device__ __forceinline__ Bits bits_of(int32_t weight) { return (Bits)weight; }
__device__ __forceinline__ Bits bits_of(int64_t weight) { return (Bits)weight; }
__device__ __forceinline__ Bits bits_of(float weight) {
    return __float_as_uint(weight) & 0x7fffffffu;  // -0 becomes 0
}
__device__ __forceinline__ Bits bits_of(double weight) { return (Bits)(__double_as_longlong(weight) & 0x7fffffffffffffffll); }

__device__ __forceinline__ Bits weight_of(const Edges& g, int64_t arc) {
    return g.weights == nullptr ? 1 : bits_of(g.weights[arc]);
}

__device__ __forceinline__ bool before(Key a, Key b) { return a.weight < b.weight || (a.weight == b.weight && a.edge < b.edge); }

__device__ __forceinline__ unsigned long long packed(Key key) {
    return WIDE ? (unsigned long long)key.weight : (unsigned long long)key.weight << 32 | key.edge;
}

/* A load first: many edges end in one tree, and stores to one address are serialised. */
__device__ __forceinline__ void reset(Minima minima, ROW tree) {
    if (minima.weight[tree] != ~0ull) {
        minima.weight[tree] = ~0ull;
    }
    if (WIDE && minima.edge[tree] != ~0ull) {
        minima.edge[tree] = ~0ull;
    }
}

__device__ __forceinline__ void offer(Minima minima, ROW tree, Key key) {
    const unsigned long long value = packed(key);
    if (value < __ldcg(&minima.weight[tree])) {
        atomicMin(&minima.weight[tree], value);
    }
}

/* For WIDE keys, after all weights were offered: the smallest edge among the lightest. */
__device__ __forceinline__ void offer_edge(Minima minima, ROW tree, Key key) {
    if (key.weight == minima.weight[tree] && key.edge < __ldcg(&minima.edge[tree])) {
        atomicMin(&minima.edge[tree], (unsigned long long)key.edge);
    }
}

__device__ __forceinline__ bool wins(Minima minima, ROW tree, Key key) {
    return packed(key) == minima.weight[tree] && (!WIDE || key.edge == minima.edge[tree]);
}

/* Number of an arc's edge: that of an arc to a smaller position is found among the arcs of its head. */
__device__ Bits edge_of(const Edges& g, ROW row, ROW head, int64_t arc) {
    const ROW position = g.positions[row];
    if (arc >= g.tails[row]) {
        return (Bits)g.first_edge[position] + (Bits)(arc - g.tails[row]);
    }
    const int64_t begin = g.offsets[head] + g.tails[head];
    const int64_t place = first_not(
        begin, g.offsets[head + 1], [&](int64_t other) { return g.positions[g.indices[other]] < position; });
    return (Bits)g.first_edge[g.positions[head]] + (Bits)(place - begin);
}

__device__ __forceinline__ void mark(uint32_t* marks, Bits edge) { atomicOr(&marks[edge >> 5], 1u << (edge & 31)); }

/* The lightest key of all lanes, in all lanes. */
__device__ __forceinline__ Key lightest_of_warp(Key key) {
    for (int step = 16; step > 0; step /= 2) {
        const Key other = {__shfl_xor_sync(FULL_WARP, key.weight, step), __shfl_xor_sync(FULL_WARP, key.edge, step)};
        key = before(other, key) ? other : key;
    }
    return key;
}
