/* Local rows of the arcs' neighbours, without a sort.

   One bit per row of the whole graph is set if the row is a ghost, and an integer per word of bits counts the ghosts before it:
   16 MB for 67 million rows, which stay in the L2 cache while all arcs look them up. Own rows have the first local rows, then the
   ghosts in the order of rows. `start` and `stop` bound the own rows, none of which is marked.
   Source: Jacobson, Space-efficient Static Trees and Graphs, FOCS 1989, for counting in a bit vector.

   mark_ghosts   mark neighbours that are not own rows
   count_ghosts  number of marks in each word
   list_ghosts   the marked rows
   number_arcs   rows to local rows
   place_rows    positions of own rows and ghosts in the order of external ids, from a block of all rows in that order */
#include "gpu/device.cuh"

extern "C" __global__ void mark_ghosts(const ROW* rows, int64_t count, int64_t start, int64_t stop, uint32_t* marks) {
    for (int64_t place = global_thread(); place < count; place += num_threads()) {
        const int64_t row = rows[place];
        if (row < start || row >= stop) {
            const uint32_t mark = 1u << (row & 31);
            if ((marks[row >> 5] & mark) == 0) {
                atomicOr(marks + (row >> 5), mark);
            }
        }
    }
}

extern "C" __global__ void count_ghosts(const uint32_t* marks, int64_t words, ROW* counts) {
    for (int64_t word = global_thread(); word < words; word += num_threads()) {
        counts[word] = __popc(marks[word]);
    }
}

extern "C" __global__ void list_ghosts(const uint32_t* marks, const ROW* before, int64_t words, ROW* ghosts) {
    for (int64_t word = global_thread(); word < words; word += num_threads()) {
        ROW* ghost = ghosts + before[word];
        for (uint32_t left = marks[word]; left != 0; left &= left - 1) {
            *ghost++ = (ROW)(word * 32 + __ffs(left) - 1);
        }
    }
}

/* Number of ghosts before `row`. */
__device__ __forceinline__ ROW ghosts_before(int64_t row, const uint32_t* marks, const ROW* before) {
    return before[row >> 5] + __popc(marks[row >> 5] & ((1u << (row & 31)) - 1));
}

extern "C" __global__ void number_arcs(
    ROW* neighbours, int64_t count, int64_t start, int64_t stop, const uint32_t* marks, const ROW* before) {
    for (int64_t arc = global_thread(); arc < count; arc += num_threads()) {
        const int64_t row = neighbours[arc];
        neighbours[arc] =
            row >= start && row < stop ? (ROW)(row - start) : (ROW)(stop - start) + ghosts_before(row, marks, before);
    }
}

/* `rows` are the rows at the positions from `first` on. */
extern "C" __global__ void place_rows(
    const ROW* rows, int64_t count, int64_t first, int64_t start, int64_t stop, const uint32_t* marks, const ROW* before,
    ROW* positions, ROW* ghost_positions) {
    for (int64_t place = global_thread(); place < count; place += num_threads()) {
        const int64_t row = rows[place];
        if (row >= start && row < stop) {
            positions[row - start] = (ROW)(first + place);
        } else if (marks[row >> 5] >> (row & 31) & 1) {
            ghost_positions[ghosts_before(row, marks, before)] = (ROW)(first + place);
        }
    }
}
