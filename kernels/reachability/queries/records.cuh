/* A node's labels in one record: the first sector decides most queries, the second most of the others. */
#pragma once

#include "reachability/nodes.cuh"

enum Decision : unsigned char { Same = SAME, Filter = FILTER, PositiveCut = POSITIVE_CUT, Undecided = SEARCH };

/* Backward intervals are negated, so that a descendant's interval is inside in every dimension. Absent dimensions are zero. */
struct alignas(32) Spans {
    int32_t level, height;
    ROW low[RECORD_DIMENSIONS], post[RECORD_DIMENSIONS];
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

/* Whether levels or intervals rule the path out. */
__device__ __forceinline__ bool is_filtered(const Spans& from, const Spans& to) {
    bool inside = from.level < to.level && from.height > to.height;
#pragma unroll
    for (int i = 0; i < RECORD_DIMENSIONS; ++i) {
        inside &= from.low[i] <= to.low[i] && to.post[i] <= from.post[i];
    }
    return !inside;
}

/* The same by the dimensions that are not in records. */
__device__ __forceinline__ bool is_filtered_further(const Index& index, ROW from, ROW to) {
    for (int i = RECORD_DIMENSIONS; i < index.dimensions; ++i) {
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
        return Filter;
    }
    return (from.first <= to.last && to.last <= from.last) || (from.reaches & to.reached) ? PositiveCut : Undecided;
}

/* What the index decides for two different nodes. */
__device__ __forceinline__ Decision decide(const Index& index, ROW from, ROW to, const Record& of_from, const Record& of_to) {
    if (is_filtered(of_from.spans, of_to.spans)) {
        return Filter;
    }
    const Decision decision = decide_by_cuts(of_from.cuts, of_to.cuts);
    return decision != Filter && index.dimensions > RECORD_DIMENSIONS && is_filtered_further(index, from, to) ? Filter : decision;
}
