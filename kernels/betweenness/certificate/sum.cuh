/* What some paths weigh, for all kernels of the certificate. */
#pragma once

#include "gpu/device.cuh"

/* Of the paths to a row: their number and the sum of their weights; or, as LOGARITHMS, its logarithm and their mean weight. */
struct alignas(16) Paths {
    double number;
    double weight;
};

template <bool LOGARITHMS>
struct Sum {
    double most; // the largest logarithm: `paths` and `weight` are divided by its number of paths
    double paths;
    double weight;

    __device__ __forceinline__ static Sum none() { return {LOGARITHMS ? -1.0 / 0.0 : 0, 0, 0}; }

    /* Add the paths of a tail that weighs `own` itself. */
    __device__ __forceinline__ void add_tail(Paths tail, double own) {
        if (LOGARITHMS) {
            add(tail.number, 1, tail.weight + own);
        } else {
            paths += tail.number;
            weight += tail.weight + own * tail.number;
        }
    }

    __device__ __forceinline__ void add(double logarithm, double times, double weighs) {
        if (LOGARITHMS && logarithm > most) {
            const double smaller = exp(most - logarithm);
            paths = paths * smaller + times;
            weight = weight * smaller + weighs;
            most = logarithm;
        } else if (times > 0) {
            const double share = LOGARITHMS ? exp(logarithm - most) : 1;
            paths += times * share;
            weight += weighs * share;
        }
    }

    __device__ __forceinline__ Paths all() const {
        return LOGARITHMS ? Paths{most + log(paths), weight / paths} : Paths{paths, weight};
    }
};
