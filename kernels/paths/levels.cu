/* From levels of a breadth-first search to the answer: hops, and the unique predecessor of every reached row, which is the first
   of its in-arcs from the level before (in-arcs ascend by external id).

   `levels` are -1 where not reached. ROW is the type of a row number. */
#include "gpu/device.cuh"

extern "C" __global__ void find_predecessors(
    const int64_t* __restrict__ offsets, const ROW* __restrict__ indices, const ROW* __restrict__ levels, int64_t num_rows,
    int64_t* distance, ROW* predecessor) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        const ROW nearer = levels[row] - 1;
        ROW found = -1;
        if (nearer >= 0) {
            int64_t arc = offsets[row];
            found = indices[arc];
            while (levels[found] != nearer) {
                found = indices[++arc];
            }
        }
        distance[row] = nearer + 1;
        predecessor[row] = found;
    }
}
