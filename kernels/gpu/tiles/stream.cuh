/* Reading the arcs of a tile in their order (tiles.cu has the encoding). */
#pragma once
#include "gpu/device.cuh"

#define LAST 0x80008000u /* of its segment: the marks of two arcs */

/* A chunk of a tile's arcs, the work of a warp. */
struct Task {
    int64_t tile, first_arc;
    int32_t count, num_segments;
    int64_t first_segment;
};

/* 16 bytes, read once: eight arcs. */
__device__ __forceinline__ void load_once(const uint32_t* from, uint32_t (&words)[4]) {
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "l"(from));
}

/* Load eight arcs of a lane from `arc` on, and zeros behind the end. */
__device__ __forceinline__ void load_round(const uint32_t* arcs, int arc, int count, uint32_t (&words)[4]) {
    words[0] = words[1] = words[2] = words[3] = 0;
    if (arc < count) {
        load_once(arcs + arc / 2, words);
    }
}

/* How many of a lane's eight arcs are the last of a segment. */
__device__ __forceinline__ int marks_of(const uint32_t (&words)[4]) {
    return __popc(words[0] & LAST) + __popc(words[1] & LAST) + __popc(words[2] & LAST) + __popc(words[3] & LAST);
}

/* The next of the tasks from `first` on, for a warp of which all lanes call it; `taken` counts those that the block's warps
   have. */
__device__ __forceinline__ int64_t next_task(int64_t first, unsigned* taken) {
    int64_t place = 0;
    if ((threadIdx.x & 31) == 0) {
        place = first + atomicAdd(taken, 1u);
    }
    return __shfl_sync(FULL_WARP, place, 0);
}
