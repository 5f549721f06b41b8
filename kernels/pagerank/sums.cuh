/* Sums over all rows that both methods of an iteration share, and the scores to begin with.

   Changes and the scores without out-arcs are added as integers of 2^-60, so that any order gives the same bits. */
#pragma once
#include "gpu/device.cuh"

/* `unsettled` counts blocks with rows whose score has not settled, once for each group of rows. */
struct Sums {
    uint64_t change, dangling, unsettled;
};

__device__ __forceinline__ uint64_t in_units(double value) { return (uint64_t)(value * UNIT); }

__device__ __forceinline__ bool is_unsettled(double before, double score, double settled) {
    return fabs(score - before) * settled > score;
}

/* How scores follow from sums, and where they and the next shares are written. */
struct Scoring {
    double base, damping, settled;
    float* shares;
    double* scores;

    /* Set the share of a row; if it `compares`, also the score, with its change from the one `before`. */
    template <bool compares>
    __device__ __forceinline__ void set(int64_t row, float degree, double before, double sum, Sums& sums) const {
        const double score = base + damping * sum;
        shares[row] = degree > 0 ? (float)score / degree : 0.0f;
        if (compares) {
            scores[row] = score;
            sums.change += in_units(fabs(score - before));
            sums.unsettled += is_unsettled(before, score, settled);
        }
        sums.dangling += degree > 0 ? 0 : in_units(score);
    }
};

/* Add the sums of a thread to the totals. */
__device__ __forceinline__ void add(const Sums& sums, Sums* totals) {
    atomicAdd(&totals->change, sums.change);
    atomicAdd(&totals->dangling, sums.dangling);
    atomicAdd(&totals->unsettled, sums.unsettled);
}

/* Add the sums of a block's threads to the totals, with one atomic for each; all threads call it, once between two barriers. */
__device__ void publish(const Sums& sums, Sums* totals) {
    __shared__ Sums of_warps[32];
    const int lane = threadIdx.x & 31;
    const uint64_t change = sum_of_warp(sums.change), dangling = sum_of_warp(sums.dangling);
    const bool unsettled = __any_sync(FULL_WARP, sums.unsettled > 0);
    if (lane == 0) {
        of_warps[threadIdx.x >> 5] = Sums{change, dangling, unsettled};
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        const Sums own = lane < blockDim.x / 32 ? of_warps[lane] : Sums{};
        const uint64_t all[3] = {sum_of_warp(own.change), sum_of_warp(own.dangling), __any_sync(FULL_WARP, own.unsettled > 0)};
        uint64_t* const words[3] = {&totals->change, &totals->dangling, &totals->unsettled};
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            if (lane == k && all[k]) {
                atomicAdd(words[k], all[k]);
            }
        }
    }
}

/* The totals, which one thread of a block reads for all; all threads call it, once between two barriers. */
__device__ Sums read(const Sums* totals) {
    __shared__ Sums held;
    if (threadIdx.x == 0) {
        held = Sums{__ldcg(&totals->change), __ldcg(&totals->dangling), __ldcg(&totals->unsettled)};
    }
    __syncthreads();
    return held;
}

/* Set equal scores and their shares. */
__device__ void start(const int64_t* out_offsets, int64_t num_rows, double score, float* shares, double* scores, Sums* totals) {
    Sums sums{};
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        const int64_t degree = out_offsets[row + 1] - out_offsets[row];
        scores[row] = score;
        shares[row] = degree ? (float)(score / (double)degree) : 0.0f;
        sums.dangling += degree ? 0 : in_units(score);
    }
    publish(sums, totals);
}
