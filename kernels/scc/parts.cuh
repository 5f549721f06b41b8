/* What the phases of scc.cu share: the graph and the searches' bitmaps, the listed arcs, and barriers that sum. */
#pragma once

#include "gpu/device.cuh"

#define THREADS 512
#define LANE_ARCS 32 /* of a row, before its warp helps a lane */
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
    uint64_t barrier;
    uint64_t count[3];
    Pivot best[1];  /* one a block */
};

/* Barriers that also sum: what is added to `count()` before one is what `close` returns after it. */
struct Turns {
    Control* control;
    int turn;

    __device__ uint64_t* count() const { return control->count + turn; }

    __device__ uint64_t close() {
        grid_barrier((uint32_t*)&control->barrier);
        const uint64_t sum = __ldcg(control->count + turn);
        if (global_thread() == 0) {
            control->count[(turn + 2) % 3] = 0;
        }
        turn = (turn + 1) % 3;
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
