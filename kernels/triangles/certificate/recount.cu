/* The second count of triangles, one by one: a warp takes an edge from a row to an earlier one, and looks for later rows that
   both have. The lanes go through the shorter of both lists of later rows, and search the longer one. */
#include "gpu/device.cuh"

struct Found {
    unsigned long long triangles;
    unsigned long long total;
};

extern "C" __global__ void __launch_bounds__(EDGE_THREADS, 4)
add(const int64_t* earlier_ends, const ROW* earlier, const uint8_t* earlier_arcs, int64_t num_edges, int64_t num_rows,
    const int64_t* later_begins, const int64_t* later_ends, const ROW* later, const uint8_t* later_arcs, const int64_t* begins,
    const int64_t* ends, const ROW* listed, const uint8_t* listed_arcs, uint64_t* sums, Found* found) {
    const int lane = threadIdx.x & 31;
    uint64_t triangles = 0, total = 0;
    for (int64_t edge = global_thread() >> 5; edge < num_edges; edge += num_threads() >> 5) {
        const int64_t second = first_not(0, num_rows, [=](int64_t row) { return earlier_ends[row] <= edge; });
        const int64_t first = earlier[edge];
        const uint32_t arcs = earlier_arcs ? earlier_arcs[edge] : 1;
        const int64_t mine = later_begins[second], mine_end = later_ends[second], end = ends[first];
        const int64_t theirs = first_not(begins[first], end, [=](int64_t place) { return listed[place] <= second; });
        const bool through_mine = mine_end - mine <= end - theirs;
        const int64_t count = through_mine ? mine_end - mine : end - theirs;
        uint64_t of_first = 0, of_second = 0;
        uint32_t closed = 0;
        for (int64_t number = lane; number < count; number += 32) {
            const ROW third = through_mine ? later[mine + number] : listed[theirs + number];
            const int64_t at = through_mine ? find(listed, theirs, end, third) : find(later, mine, mine_end, third);
            if (at != (through_mine ? end : mine_end)) {
                of_first += later_arcs ? later_arcs[through_mine ? mine + number : at] : 1;
                of_second += later_arcs ? listed_arcs[through_mine ? at : theirs + number] : 1;
                atomicAdd(sums + third, (uint64_t)arcs);
                ++closed;
            }
        }
        triangles += closed;
        total += (uint64_t)closed * arcs + of_first + of_second;
        of_first = sum_of_warp(of_first);
        of_second = sum_of_warp(of_second);
        if (lane == 0 && of_first) {
            atomicAdd(sums + first, of_first);
            atomicAdd(sums + second, of_second);
        }
    }
    triangles = sum_of_warp(triangles);
    total = sum_of_warp(total);
    if (lane == 0 && triangles) {
        atomicAdd(&found->triangles, triangles);
        atomicAdd(&found->total, total);
    }
}
