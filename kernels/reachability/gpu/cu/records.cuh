/* What the index says of a node, side by side: the first sector decides most queries, the second most of the others. */
#pragma once

#include "reachability/gpu/cu/unsigned.cuh"

#define IN_RECORD 3 /* dimensions; further ones stay in their arrays */

enum Decision : unsigned char { SAME, FILTER, POSITIVE_CUT, SEARCH };

/* Backward intervals are negated, so that a descendant's lies inside in every dimension. Absent dimensions are zero. */
struct alignas(32) Spans {
    int32_t level, height;
    ROW low[IN_RECORD], post[IN_RECORD];
};

struct alignas(32) Cuts {
    ROW first, last;
    uint64_t reaches, reached;
};

struct Record {
    Spans spans;
    Cuts cuts;
};

struct Index {
    const Record* records;
    int64_t num_nodes;
    int dimensions;
    bool alternating;       /* odd dimensions are backward */
    const ROW *low, *post;  /* [dimensions, num_nodes] */
};

struct alignas(16) Quarter {
    uint64_t words[2];
};

/* A struct in loads of 16 bytes. */
template <typename Struct>
__device__ __forceinline__ Struct load_whole(const Struct* address) {
    union Split {
        Struct whole;
        Quarter parts[sizeof(Struct) / sizeof(Quarter)];
        __device__ Split() {}
    } value;
#pragma unroll
    for (int k = 0; k < (int)(sizeof(Struct) / sizeof(Quarter)); ++k) {
        value.parts[k] = ((const Quarter*)address)[k];
    }
    return value.whole;
}

/* Whether levels or intervals say no. */
__device__ __forceinline__ bool is_filtered(const Spans& from, const Spans& to) {
    bool inside = from.level < to.level && from.height > to.height;
#pragma unroll
    for (int i = 0; i < IN_RECORD; ++i) {
        inside &= from.low[i] <= to.low[i] && to.post[i] <= from.post[i];
    }
    return !inside;
}

/* The same by the dimensions that no record holds. */
__device__ __forceinline__ bool is_filtered_further(const Index& index, ROW from, ROW to) {
    for (int i = IN_RECORD; i < index.dimensions; ++i) {
        const ROW* low = index.low + i * index.num_nodes;
        const ROW* post = index.post + i * index.num_nodes;
        const bool backward = index.alternating && i % 2;
        const ROW outer = backward ? to : from, inner = backward ? from : to;
        if (low[outer] > low[inner] || post[inner] > post[outer]) {
            return true;
        }
    }
    return false;
}

__device__ __forceinline__ Decision decide_by_cuts(const Cuts& from, const Cuts& to) {
    if ((from.reached & ~to.reached) | (to.reaches & ~from.reaches)) {
        return FILTER;
    }
    return (from.first <= to.last && to.last <= from.last) || (from.reaches & to.reached) ? POSITIVE_CUT : SEARCH;
}

/* What the index says of two different nodes. */
__device__ __forceinline__ Decision decide(const Index& index, ROW from, ROW to, const Record& of_from, const Record& of_to) {
    if (is_filtered(of_from.spans, of_to.spans)) {
        return FILTER;
    }
    const Decision decision = decide_by_cuts(of_from.cuts, of_to.cuts);
    return decision != FILTER && index.dimensions > IN_RECORD && is_filtered_further(index, from, to) ? FILTER : decision;
}
