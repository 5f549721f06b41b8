/* What ranks the candidates for supports. */
#pragma once

#include "gpu/device.cuh"

/* (in-degree + 1) * (out-degree + 1) of a node. */
__device__ __forceinline__ int64_t support_score(const int64_t* child_offsets, const int64_t* parent_offsets, int64_t node) {
    return (child_offsets[node + 1] - child_offsets[node] + 1) * (parent_offsets[node + 1] - parent_offsets[node] + 1);
}
