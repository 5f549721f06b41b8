/* Breadth-first search that pushes, on a CSR: the static counterpart of kernels/library/dynamic/search.cu, by the same code.

   Rows of more than PART arcs are divided into parts, as pages divide them. */
#include "library/dynamic/search.cuh"

#define PART 1018 /* neighbours of the first page of a large list, in pages of 1024 words */

struct ListsOfRows {
    const int64_t* offsets;
    const int32_t* indices;
    __device__ int parts(int32_t row) const { return (int)max((offsets[row + 1] - offsets[row] + PART - 1) / PART, (int64_t)1); }
    __device__ Part part(int32_t row, int number) const {
        const int64_t begin = offsets[row] + (int64_t)number * PART;
        return {indices + begin, (int)min(offsets[row + 1] - begin, (int64_t)PART)};
    }
};

extern "C" __global__ void __launch_bounds__(SEARCH_THREADS, 4) search_rows(
    const int64_t* offsets, const int32_t* indices, int32_t* levels, int32_t* predecessors, int32_t* queue, int32_t* part_rows,
    int32_t* part_numbers, Control* control) {
    search_by_levels(Search{levels, predecessors, queue, part_rows, part_numbers, control}, ListsOfRows{offsets, indices});
}
