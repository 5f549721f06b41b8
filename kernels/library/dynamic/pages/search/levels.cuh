/* Breadth-first search that pushes: every row of the frontier marks the unseen heads of its arcs, and each head keeps the
   smallest tail of the level before. One cooperative launch does all levels; advance.cuh divides the arcs.

   SEARCH_THREADS, UNSEEN: constants.py. */
#pragma once

#include "library/dynamic/pages/search/advance.cuh"

/* Zero before the launch. */
struct Control {
    uint32_t barrier;
    uint64_t found[3]; /* rows that this level finds, and two that are zero or no longer read */
    uint64_t waiting;  /* parts that were put off so far */
};
static_assert(sizeof(Control) == CONTROL_WORDS * 8, "CONTROL_WORDS is wrong");

struct Search {
    int32_t* levels;
    int32_t* predecessors;
    int32_t* queue; /* begins with the rows of level 0 */
    int32_t* part_rows;
    int32_t* part_numbers;
    Control* control;
};

__device__ __forceinline__ void reach(
    const Search& search, int32_t row, int32_t head, int32_t level, int64_t end, uint64_t* found) {
    int32_t seen = __ldcg(search.levels + head);
    if (seen == UNSEEN) {
        seen = atomicCAS(search.levels + head, UNSEEN, level);
        if (seen == UNSEEN) {
            search.queue[end + append(found)] = head;
            seen = level;
        }
    }
    if (seen == level && __ldcg(search.predecessors + head) > row) {
        atomicMin(search.predecessors + head, row);
    }
}

/* Search from `sources` rows along the arcs for which `follows(row, part, place)`. */
template <typename Lists, typename Follows>
__device__ void search_by_levels(const Search& search, const Lists& lists, int64_t sources, Follows follows) {
    __shared__ OfWarp<typename Lists::Part> of_warps[WARPS];
    const int64_t warp = global_thread() / 32, warps = num_threads() / 32;
    const Waiting waiting{search.part_rows, search.part_numbers, &search.control->waiting};
    int64_t begin = 0, end = sources, done = 0; /* the frontier in the queue; parts that were visited */
    int turn = 0;
    for (int32_t level = 1; begin < end; ++level) {
        uint64_t* const found = &search.control->found[turn];
        const auto row_at = [&](int64_t place) { return __ldcg(search.queue + place); };
        const auto visit = [&](int32_t row, const typename Lists::Part& part, int place) {
            if (follows(row, part, place)) {
                reach(search, row, part.heads[place], level, end, found);
            }
        };
        for (int64_t first = begin + warp * 32; first < end; first += warps * 32) {
            visit_rows(lists, of_warps[threadIdx.x / 32], first, end, waiting, row_at, visit);
        }
        grid_barrier(&search.control->barrier);
        done = visit_waiting(lists, waiting, done, visit);
        turn = (turn + 1) % 3;
        if (global_thread() == 0) {
            search.control->found[turn] = 0;
        }
        grid_barrier(&search.control->barrier);
        begin = end;
        end += (int64_t)__ldcg(found);
    }
}
