/* Unsigned integers in the order of weights: of an answer's weights, which may be anything, and of the graph's, which are not
   negative. */
#pragma once

#include "gpu/unsigned.cuh"

typedef UnsignedOf<sizeof(WEIGHT)>::type Bits;

#define SIGN_BIT ((Bits)1 << (8 * sizeof(Bits) - 1))
#define NOT_SHORT 0xffffu

__device__ constexpr bool integer_weights() { return (WEIGHT)0.5 == (WEIGHT)0; }

__device__ __forceinline__ Bits bits_of(WEIGHT weight) {
    union {
        WEIGHT weight;
        Bits bits;
    } both;
    both.weight = weight;
    return both.bits;
}

/* A key that ascends with the weight; -0 equals 0, and NaN is greatest. */
__device__ __forceinline__ Bits key_of(WEIGHT weight) {
    if (weight != weight) {
        return ~(Bits)0;
    }
    const Bits bits = weight == (WEIGHT)0 ? 0 : bits_of(weight);
    return !integer_weights() && (bits & SIGN_BIT) != 0 ? ~bits : bits ^ SIGN_BIT;
}

/* 16 bits that do not decrease as the weight grows, so that different ones decide which weight is greater. NOT_SHORT: not
   comparable. */
__device__ __forceinline__ uint32_t short_of(WEIGHT weight, int shift) {
    if (weight != weight) {
        return NOT_SHORT;
    }
    const Bits bits = weight > (WEIGHT)0 ? bits_of(weight) >> shift : 0;
    return bits < NOT_SHORT ? (uint32_t)bits : NOT_SHORT;
}

/* How far bits are shifted so that those of the greatest weight are short. */
__device__ __forceinline__ int shift_of(WEIGHT greatest) {
    const Bits bits = greatest > (WEIGHT)0 ? bits_of(greatest) : 0;
    const int length = 64 - __clzll((long long)bits);
    return length < 16 ? 0 : length - 15;
}
