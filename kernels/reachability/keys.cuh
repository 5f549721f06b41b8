/* The keys of random dimensions, which kernels/reachability/__init__.py defines. */
#pragma once

#include "gpu/device.cuh"

/* splitmix64 */
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
