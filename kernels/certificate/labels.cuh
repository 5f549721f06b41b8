/* Labels: each names a row that names itself and has no greater id than those it names. */
#pragma once

#include "certificate/arcs.cuh"

/* Whether labels are not rows, so that they cannot be looked up, and whether they break another rule. */
struct Labels {
    uint32_t outside, wrong;
};

/* Note whether v's label breaks a rule. */
__device__ __forceinline__ void check_label(const ROW* __restrict__ labels, const ROW* __restrict__ positions, int64_t num_rows,
                                            int64_t v, Labels* broken) {
    const ROW label = labels[v];
    if (label < 0 || label >= num_rows) {
        broken->outside = 1;
    } else if (labels[label] != label || positions[label] > positions[v]) {
        broken->wrong = 1;
    }
}

/* The most frequent label of 32 rows, which hold evenly spaced arcs; in all lanes. */
__device__ ROW giant_class(const int64_t* offsets, int64_t num_rows, const ROW* __restrict__ labels) {
    const int64_t num_arcs = offsets[num_rows];
    const ROW label = labels[num_arcs == 0 ? 0 : row_of(offsets, num_rows, num_arcs / 32 * (threadIdx.x & 31))];
    const int equal = __popc(__match_any_sync(FULL_WARP, label));
    const int most = __reduce_max_sync(FULL_WARP, equal);
    return __shfl_sync(FULL_WARP, label, __ffs(__ballot_sync(FULL_WARP, equal == most)) - 1);
}
