/* What the kernels of the index share about nodes: unsigned numbers, keys and scores. Including a header of this folder gives
   the sources of its subfolders also its constants.py. */
#pragma once

#include "gpu/unsigned.cuh"

/* splitmix64, of which kernels/reachability/__init__.py makes the keys of random dimensions. */
__device__ __forceinline__ uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

/* key(i, a, b), where `salt` is mix(mix(seed) ^ i). */
__device__ __forceinline__ uint64_t key_of(uint64_t salt, int64_t a, int64_t b) {
    return mix(mix(salt ^ (uint64_t)a) ^ (uint64_t)b);
}

/* (in-degree + 1) * (out-degree + 1) of a node, which ranks the candidates for supports. */
__device__ __forceinline__ int64_t support_score(const int64_t* child_offsets, const int64_t* parent_offsets, int64_t node) {
    return (child_offsets[node + 1] - child_offsets[node] + 1) * (parent_offsets[node + 1] - parent_offsets[node] + 1);
}
