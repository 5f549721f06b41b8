/* The unsigned integer type of a given size, for atomics and keys. */
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
