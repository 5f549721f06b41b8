/* Arcs with their weights, distances in two widths, and sums of distance and weight. */
#pragma once

#include "gpu/device.cuh"

#define UNREACHED_CODE 0xffffu

typedef unsigned short Code;

struct Sides {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const WEIGHT* __restrict__ weights;

    __device__ __forceinline__ WEIGHT weight(int64_t arc) const { return weights == nullptr ? (WEIGHT)1 : weights[arc]; }
};

struct Wide {
    const SUM* __restrict__ distance;
    __device__ __forceinline__ SUM operator()(int64_t v) const { return distance[v]; }
};

struct Narrow {
    const Code* __restrict__ codes;
    __device__ __forceinline__ SUM operator()(int64_t v) const {
        const Code code = codes[v];
        return code == UNREACHED_CODE ? (SUM)-1 : (SUM)code;
    }
};

__device__ constexpr bool is_integer() { return (SUM)0.5 == (SUM)0; }

/* Set `length` to near + weight; returns whether the type holds it. */
__device__ __forceinline__ bool add(SUM near, WEIGHT weight, SUM* length) {
    if (is_integer() && (int64_t)weight > 0x7fffffffffffffffll - (int64_t)near) {
        return false;
    }
    *length = near + (SUM)weight;
    return true;
}

/* Whether an arc from a reached row leads to an unreached one, or shortens a path. */
__device__ __forceinline__ bool is_loose(SUM near, WEIGHT weight, SUM far, bool* tight) {
    SUM length;
    *tight = false;
    if (!(near >= 0)) {
        return false;
    }
    if (far < 0) {
        return true;
    }
    if (!add(near, weight, &length)) {
        return false;
    }
    *tight = length == far;
    return length < far;
}

/* Whether a value can be a distance: -1, or a finite sum from 0, which excludes -0 and NaN. */
__device__ __forceinline__ bool is_distance(int64_t value) { return value >= -1; }

__device__ __forceinline__ bool is_distance(double value) {
    return value == -1.0 || (__double_as_longlong(value) >= 0 && value <= 1.7976931348623157e308);
}
