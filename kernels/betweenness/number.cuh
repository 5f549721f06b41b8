/* A value of unlimited exponent, as in cpu.py: a double times 2^(SPAN exponent). */
#pragma once

#include "gpu/device.cuh"

#define HIGH 0x1p512
#define LOW 0x1p-512
static_assert(SPAN == 512, "HIGH and LOW are 2^SPAN and 2^-SPAN");

struct Value {
    double number; // 0: no value
    int32_t exponent;
};

/* As _plus of cpu.py. */
__device__ __forceinline__ void add(Value& sum, Value other) {
    if (other.number == 0) {
        return;
    }
    if (sum.number == 0) {
        sum = other;
        return;
    }
    if (other.exponent > sum.exponent) {
        const Value less = sum;
        sum = other;
        other = less;
    }
    if (other.exponent == sum.exponent) {
        sum.number += other.number;
    } else if (other.exponent == sum.exponent - 1) {
        sum.number += other.number * LOW;
    }
}

__device__ __forceinline__ void scale_down(Value& value) {
    if (value.number >= HIGH) {
        value = {value.number * LOW, value.exponent + 1};
    }
}

/* Number of units that a source's paths through a row are, from their number and the sum of the row's coefficients. */
__device__ __forceinline__ int64_t dependency_of(Value paths, Value sum, double units) {
    double share = sum.number * paths.number;
    for (int32_t exponent = sum.exponent + paths.exponent; exponent < 0 && share > 0; exponent++) {
        share *= LOW;
    }
    return (int64_t)rint(share * units);
}

/* The coefficient of a row, (1 + dependency) / paths. */
__device__ __forceinline__ Value coefficient_of(Value paths, Value sum) {
    if (paths.number > 1) {
        add(sum, {1 / paths.number * HIGH, -paths.exponent - 1});
    } else {
        add(sum, {1 / paths.number, -paths.exponent});
    }
    scale_down(sum);
    return sum;
}
