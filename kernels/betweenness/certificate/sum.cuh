#pragma once

#include "gpu/device.cuh"

/* Of some paths: the largest logarithm of a number, the sum of all numbers over it, and the sum of their weights over it. */
struct Sum {
    double most;
    double paths;
    double weight;

    __device__ __forceinline__ void add(double logarithm, double times, double weighs) {
        if (logarithm > most) {
            const double smaller = exp(most - logarithm);
            paths = paths * smaller + times;
            weight = weight * smaller + weighs;
            most = logarithm;
        } else if (times > 0) {
            const double share = exp(logarithm - most);
            paths += times * share;
            weight += weighs * share;
        }
    }
};
