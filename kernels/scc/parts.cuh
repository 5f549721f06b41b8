/* Shared by the phases of scc.cu: the graph, the bitmaps of the searches, the listed arcs, and barriers that sum. */
#pragma once

#include "gpu/device.cuh"

#define LANE_ARCS 32 /* arcs of a row that one lane reads; its warp reads the others */
#define BATCH 4      /* loads in flight of a lane */

struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
};

struct alignas(2 * sizeof(ROW)) Arc {
    ROW from, to;
};

struct Pivot {
    uint64_t product;
    int64_t row;
};

struct Control {
    uint32_t barrier;
    uint32_t deep; /* signatures were given up, after too many rounds */
    uint64_t count[3];
    Pivot best[1];  /* one for each block */
};

/* Barriers that also sum: `close` is a barrier and returns the sum of what all blocks have added to `count()` since the last
   one. */
struct Summing {
    Control* control;
    int phase;

    __device__ uint64_t* count() const { return control->count + phase; }

    __device__ uint64_t close() {
        grid_barrier(&control->barrier);
        const uint64_t sum = __ldcg(control->count + phase);
        if (global_thread() == 0) {
            control->count[(phase + 2) % 3] = 0;
        }
        phase = (phase + 1) % 3;
        return sum;
    }
};

struct Search {
    Arcs out, into;
    int64_t num_rows, num_words;
    uint32_t *open, *fore, *back, *new_fore, *new_back;
    uint64_t* queue;
};

__device__ __forceinline__ bool has(const uint32_t* bitmap, ROW row) { return bitmap[row >> 5] >> (row & 31) & 1; }
