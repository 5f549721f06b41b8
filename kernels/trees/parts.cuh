/* Lengths of many trees: position p has a line of GROUP = 32 for each group of trees, line p * groups + g. A thread takes a part
   of 16 bytes of a line, and LINE threads all of it. */
#pragma once

#include "paths/lengths.cuh"

#define PART ((int)(16 / sizeof(Length)))
#define LINE (GROUP / PART)
#define STRIPES (32 / LINE)

struct alignas(16) Part {
    Length of[PART];
};

__device__ __forceinline__ Part part_of(Length length) {
    Part part;
    for (int i = 0; i < PART; ++i) {
        part.of[i] = length;
    }
    return part;
}

/* A part that other blocks of this launch may have written, before a barrier. */
__device__ __forceinline__ Part load_part(const Length* line, int number) {
    const longlong2 bits = __ldcg((const longlong2*)line + number);
    return *(const Part*)&bits;
}

__device__ __forceinline__ void store_part(Length* line, int number, const Part& part) { ((Part*)line)[number] = part; }

__device__ __forceinline__ void lower(Part& part, const Part& near, Length weight) {
#pragma unroll
    for (int i = 0; i < PART; ++i) {
        part.of[i] = smaller(part.of[i], plus(near.of[i], weight));
    }
}
