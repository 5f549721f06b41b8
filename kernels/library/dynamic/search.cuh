/* Breadth-first search that pushes: every row of the frontier marks the unseen heads of its arcs, and each head keeps the
   smallest tail of the level before. One cooperative launch does all levels.

   A warp takes 32 rows of the frontier and divides their arcs among its lanes. Lists of more than one part (a page, in slotted
   pages) wait until all others of the level are done; then a warp takes one part at a time, so a large row is divided over all
   warps.

   `Lists` says where arcs are: `parts(row)`, and `part(row, k)`, the arcs of part k. SEARCH_THREADS, UNSEEN: constants.py.

   Merrill, Garland, Grimshaw: Scalable GPU Graph Traversal (PPoPP 2012). */
#pragma once

#include "gpu/device.cuh"

#define WARPS (SEARCH_THREADS / 32)

struct Part {
    const int32_t* heads;
    int length;
};

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
    int32_t* queue;
    int32_t* part_rows; /* of the parts that were put off: row and number */
    int32_t* part_numbers;
    Control* control;
};

__device__ __forceinline__ void visit(
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

struct OfWarp {
    int64_t heads[32]; /* addresses */
    int32_t rows[32];
    int before[32]; /* arcs of the lanes before */
};

/* Rows `queue[first..first+31]` that are below `end`. */
template <typename Lists>
__device__ void visit_rows(
    const Search& search, const Lists& lists, OfWarp& mine, int64_t first, int64_t end, int32_t level, uint64_t* found) {
    const int lane = threadIdx.x & 31;
    int degree = 0;
    int32_t row = 0;
    Part part{nullptr, 0};
    if (first + lane < end) {
        row = __ldcg(search.queue + first + lane);
        const int parts = lists.parts(row);
        if (parts > 1) {
            const uint64_t place = atomicAdd(&search.control->waiting, (uint64_t)parts);
            for (int number = 0; number < parts; ++number) {
                search.part_rows[place + number] = row;
                search.part_numbers[place + number] = number;
            }
        } else if (parts == 1) {
            part = lists.part(row, 0);
            degree = part.length;
        }
    }
    const int up_to = sum_up_to_lane(degree);
    mine.heads[lane] = (int64_t)part.heads;
    mine.rows[lane] = row;
    mine.before[lane] = up_to - degree;
    __syncwarp();
    const int total = __shfl_sync(FULL_WARP, up_to, 31);
    for (int arc = lane; arc < total; arc += 32) {
        const int owner = (int)first_not(0, 32, [&](int64_t other) { return mine.before[other] <= arc; }) - 1;
        visit(search, mine.rows[owner], ((const int32_t*)mine.heads[owner])[arc - mine.before[owner]], level, end, found);
    }
    __syncwarp();
}

template <typename Lists>
__device__ void search_by_levels(const Search& search, const Lists& lists) {
    __shared__ OfWarp of_warps[WARPS];
    const int64_t warp = global_thread() / 32, warps = num_threads() / 32;
    const int lane = threadIdx.x & 31;
    int64_t begin = 0, end = 1, done = 0; /* the frontier in the queue; parts that were visited */
    int turn = 0;
    for (int32_t level = 1; begin < end; ++level) {
        uint64_t* const found = &search.control->found[turn];
        for (int64_t first = begin + warp * 32; first < end; first += warps * 32) {
            visit_rows(search, lists, of_warps[threadIdx.x / 32], first, end, level, found);
        }
        grid_barrier(&search.control->barrier);
        const int64_t waiting = (int64_t)__ldcg(&search.control->waiting);
        for (int64_t item = done + warp; item < waiting; item += warps) {
            const int32_t row = __ldcg(search.part_rows + item);
            const Part part = lists.part(row, __ldcg(search.part_numbers + item));
            for (int arc = lane; arc < part.length; arc += 32) {
                visit(search, row, part.heads[arc], level, end, found);
            }
        }
        done = waiting;
        turn = (turn + 1) % 3;
        if (global_thread() == 0) {
            search.control->found[turn] = 0;
        }
        grid_barrier(&search.control->barrier);
        begin = end;
        end += (int64_t)__ldcg(found);
    }
}
