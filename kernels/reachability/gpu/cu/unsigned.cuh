/* The unsigned number as wide as another, for atomics and keys. */
#pragma once

#include "gpu/device.cuh"

template <int BYTES>
struct UnsignedOf {
    typedef uint32_t type;
};
template <>
struct UnsignedOf<8> {
    typedef uint64_t type;
};
