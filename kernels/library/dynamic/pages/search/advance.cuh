/* The arcs of many rows, divided among warps: what the searches of pages share.

   A warp takes 32 rows and divides their arcs among its lanes. Lists of more than one part (a page, in slotted pages) wait until
   all others are done; then a warp takes one part at a time, so a large row is divided over all warps.

   `Lists` says where arcs are: `parts(row)`, and `part(row, k)`, a `Lists::Part` with the arcs of part k: `heads` and `length`.
   `visit(row, part, place)` is called for each arc. SEARCH_THREADS: constants.py.

   Merrill, Garland, Grimshaw: Scalable GPU Graph Traversal (PPoPP 2012). */
#pragma once

#include "gpu/device.cuh"

#define WARPS (SEARCH_THREADS / 32)

/* Of the parts that were put off: row and number, and how many there are. */
struct Waiting {
    int32_t* rows;
    int32_t* numbers;
    uint64_t* count;
};

template <typename Part>
struct OfWarp {
    Part parts[32];
    int32_t rows[32];
    int before[32]; /* arcs of the lanes before */
};

/* Rows `row_at(first..first+31)`, those below `end`; -1 stands for none. Called by all lanes. */
template <typename Lists, typename Rows, typename Visit>
__device__ void visit_rows(
    const Lists& lists, OfWarp<typename Lists::Part>& mine, int64_t first, int64_t end, const Waiting& waiting, Rows row_at,
    Visit visit) {
    const int lane = threadIdx.x & 31;
    int degree = 0;
    const int32_t row = first + lane < end ? row_at(first + lane) : -1;
    if (row >= 0) {
        const int parts = lists.parts(row);
        if (parts > 1) {
            const uint64_t place = atomicAdd(waiting.count, (uint64_t)parts);
            for (int number = 0; number < parts; ++number) {
                waiting.rows[place + number] = row;
                waiting.numbers[place + number] = number;
            }
        } else {
            mine.parts[lane] = lists.part(row, 0);
            degree = mine.parts[lane].length;
        }
    }
    const int up_to = sum_up_to_lane(degree);
    mine.rows[lane] = row;
    mine.before[lane] = up_to - degree;
    __syncwarp();
    const int total = __shfl_sync(FULL_WARP, up_to, 31);
    for (int arc = lane; arc < total; arc += 32) {
        const int owner = (int)first_not(0, 32, [&](int64_t other) { return mine.before[other] <= arc; }) - 1;
        visit(mine.rows[owner], mine.parts[owner], arc - mine.before[owner]);
    }
    __syncwarp();
}

/* The parts that were put off, from `begin` on; returns where they end. Behind a barrier. */
template <typename Lists, typename Visit>
__device__ int64_t visit_waiting(const Lists& lists, const Waiting& waiting, int64_t begin, Visit visit) {
    const int64_t warp = global_thread() / 32, warps = num_threads() / 32, end = (int64_t)__ldcg(waiting.count);
    for (int64_t item = begin + warp; item < end; item += warps) {
        const int32_t row = __ldcg(waiting.rows + item);
        const typename Lists::Part part = lists.part(row, __ldcg(waiting.numbers + item));
        for (int arc = threadIdx.x & 31; arc < part.length; arc += 32) {
            visit(row, part, arc);
        }
    }
    return end;
}
