/* Labels: each names a row that names itself and has no greater id than those it names. */
#pragma once

#include "certificate/arcs.cuh"

/* First rows that break a rule, as in note_first: the label is not a row, is not labelled with itself, or is greater. */
struct Labels {
    unsigned long long outside, astray, greater;
};

/* Whether v's label is a row; notes the other rules that it breaks. */
__device__ __forceinline__ bool check_label(const ROW* __restrict__ labels, const ROW* __restrict__ positions, int64_t num_rows,
                                            int64_t v, Labels* broken) {
    const ROW label = labels[v];
    if (label < 0 || label >= num_rows) {
        note_first(&broken->outside, num_rows, v);
        return false;
    }
    if (labels[label] != label) {
        note_first(&broken->astray, num_rows, v);
    }
    if (positions[label] > positions[v]) {
        note_first(&broken->greater, num_rows, v);
    }
    return true;
}

/* The most frequent label of 32 rows, which hold evenly spaced arcs; in all lanes. */
__device__ ROW giant_class(const int64_t* offsets, int64_t num_rows, const ROW* __restrict__ labels) {
    const int64_t num_arcs = offsets[num_rows];
    const ROW label = labels[num_arcs == 0 ? 0 : row_of(offsets, num_rows, num_arcs / 32 * (threadIdx.x & 31))];
    const int equal = __popc(__match_any_sync(FULL_WARP, label));
    const int most = __reduce_max_sync(FULL_WARP, equal);
    return __shfl_sync(FULL_WARP, label, __ffs(__ballot_sync(FULL_WARP, equal == most)) - 1);
}
