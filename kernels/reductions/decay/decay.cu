/* Decayed sums of k trees of V rows each; kernels/reductions/decay/__init__.py defines them.

   Factors are computed as factors.py computes them: operation by operation, none of them fused with another, so that both have
   the same bits. Sums are of integers, so atomic additions give the same bits in any order. `parameters` are those of Decay.

   WEIGHT is the type of a distance, negative where a row is not reached. */
#include "gpu/device.cuh"

__device__ __forceinline__ double times(double left, double right) { return __dmul_rn(left, right); }
__device__ __forceinline__ double plus(double left, double right) { return __dadd_rn(left, right); }

__device__ __forceinline__ double power_of_two(int64_t power) { return __longlong_as_double((power + 1023) << 52); }

#define LOG2_HIGH 6.93147180369123816490e-01
#define LOG2_LOW 1.90821492927058770002e-10

/* Not infinite, which the largest factor was checked for. */
__device__ double exponential(double value, const double* __restrict__ parameters) {
    const double power = rint(times(value, 1.4426950408889634));
    if (power < LEAST_EXPONENT) {
        return 0.0;
    }
    const double rest = plus(plus(value, -times(power, LOG2_HIGH)), -times(power, LOG2_LOW));
    double total = parameters[2];
    for (int term = 3; term < 2 + EXPONENTS; ++term) {
        total = plus(times(total, rest), parameters[term]);
    }
    return times(total, power_of_two((int64_t)power));
}

__device__ double logarithm(double value, const double* __restrict__ parameters) {
    const int64_t bits = __double_as_longlong(value);
    int64_t power = (bits >> 52) - 1022;
    double mantissa = __longlong_as_double((bits & 0xfffffffffffffll) | (1022ll << 52));
    if (mantissa < 0.7071067811865476) {
        mantissa = times(2.0, mantissa);
        --power;
    }
    const double share = __ddiv_rn(plus(mantissa, -1.0), plus(mantissa, 1.0)), square = times(share, share);
    double total = parameters[2 + EXPONENTS];
    for (int term = 3 + EXPONENTS; term < 2 + EXPONENTS + LOGARITHMS; ++term) {
        total = plus(times(total, square), parameters[term]);
    }
    const double low = plus(times(times(2.0, share), total), times((double)power, LOG2_LOW));
    return plus(times((double)power, LOG2_HIGH), low);
}

__device__ double factor(double distance, int64_t kind, const double* __restrict__ parameters) {
    if (kind == CUMULATIVE) {
        return 1.0;
    }
    if (kind == EXPONENTIAL) {
        return exponential(-times(parameters[0], distance), parameters);
    }
    const double at_least = distance > parameters[1] ? distance : parameters[1];
    return exponential(-times(parameters[0], logarithm(at_least, parameters)), parameters);
}

/* Take the next BITS bits of a term, in units of its scale. */
__device__ __forceinline__ int64_t next_part(double* rest) {
    const double whole = floor(*rest);
    *rest = times(plus(*rest, -whole), (double)(1ll << BITS));
    return (int64_t)whole;
}

__device__ void add_to(int64_t value, int64_t* total) {
    const int64_t sum = sum_of_warp(value);
    if ((threadIdx.x & 31) == 0 && sum) {
        atomicAdd((unsigned long long*)total, (unsigned long long)sum);
    }
}

/* `values` are [num_columns, num_rows]; `totals` are [num_trees, num_thresholds, 1 + PARTS num_columns]. A block takes a chunk
   of a tree's rows. */
extern "C" __global__ void sum_decayed(
    const WEIGHT* __restrict__ distances, const WEIGHT* __restrict__ thresholds, const double* __restrict__ values,
    const double* __restrict__ scales, const double* __restrict__ parameters, int64_t kind, int64_t num_trees, int64_t num_rows,
    int64_t num_thresholds, int64_t num_columns, int64_t* totals) {
    const int64_t chunks = (num_rows + CHUNK - 1) / CHUNK;
    for (int64_t item = blockIdx.x; item < num_trees * chunks; item += gridDim.x) {
        const int64_t tree = item / chunks, begin = item % chunks * CHUNK;
        const int64_t end = begin + CHUNK < num_rows ? begin + CHUNK : num_rows;
        for (int64_t result = 0; result < num_thresholds * (1 + num_columns); ++result) {
            const int64_t place = result / (1 + num_columns), column = result % (1 + num_columns) - 1;
            const WEIGHT threshold = thresholds[place];
            int64_t count = 0, parts[PARTS] = {0};
            for (int64_t row = begin + threadIdx.x; row < end; row += blockDim.x) {
                const WEIGHT distance = distances[tree * num_rows + row];
                if (distance < 0 || distance > threshold) {
                    continue;
                }
                if (column < 0) {
                    ++count;
                    continue;
                }
                const double share = factor((double)distance, kind, parameters);
                double rest = times(times(values[column * num_rows + row], share), scales[column]);
                for (int part = 0; part < PARTS; ++part) {
                    parts[part] += next_part(&rest);
                }
            }
            int64_t* const of_threshold = totals + (tree * num_thresholds + place) * (1 + PARTS * num_columns);
            if (column < 0) {
                add_to(count, of_threshold);
                continue;
            }
            for (int part = 0; part < PARTS; ++part) {
                add_to(parts[part], of_threshold + 1 + PARTS * column + part);
            }
        }
    }
}

/* `amounts` are [num_trees, num_thresholds]; `totals` are [PARTS, num_thresholds, num_rows]. A thread has rows of its own. */
extern "C" __global__ void spread(
    const WEIGHT* __restrict__ distances, const WEIGHT* __restrict__ thresholds, const double* __restrict__ amounts,
    const double* __restrict__ scales, const double* __restrict__ parameters, int64_t kind, int64_t num_trees, int64_t num_rows,
    int64_t num_thresholds, int64_t* totals) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        for (int64_t tree = 0; tree < num_trees; ++tree) {
            const WEIGHT distance = distances[tree * num_rows + row];
            if (distance < 0 || distance > thresholds[num_thresholds - 1]) {
                continue;
            }
            const double share = factor((double)distance, kind, parameters);
            for (int64_t place = 0; place < num_thresholds; ++place) {
                if (distance <= thresholds[place]) {
                    double rest = times(times(amounts[tree * num_thresholds + place], share), scales[place]);
                    for (int part = 0; part < PARTS; ++part) {
                        totals[(part * num_thresholds + place) * num_rows + row] += next_part(&rest);
                    }
                }
            }
        }
    }
}
