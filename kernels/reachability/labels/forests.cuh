/* The dimensions of a pass, and the arrays of their forests. */
#pragma once

#include "reachability/order/sweeps.cuh"

struct Dimension {
    uint64_t salt;
    bool ascending; /* dimension 0 visits heads in ascending order */
    const ROW* parent;
    ROW *size, *first;
    ROW *low, *post;
};

struct Dimensions {
    int count;
    Dimension at[FUSED_DIMENSIONS];
};
