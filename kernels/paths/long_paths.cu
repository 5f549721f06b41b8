/* Shortest paths in graphs with few arcs per row and many arcs per path (roads, grids): the lengths from the rows on the pile,
   each of which starts with its own length, to the end of all paths or up to a bound.

   A step costs the chain of its dependent loads, and there are thousands of steps, so the chain is short and few blocks take
   part: one launch of one team of blocks (a cluster), whose shared memory holds the rows to relax. A step relaxes all rows that
   are nearer than the nearest of them plus a window; the other rows are held. The window follows the number of active rows: it is
   wide while lanes are idle, narrow while there is more work than lanes. Each lane follows a path for a few arcs before the next
   barrier of the team. Lengths only decrease, and every row that improves is relaxed again, so every order ends with the same
   lengths.

   Encodings. Arcs of row r in groups of four (`Quad`), in the order of the CSR row: up to 4, padded with r itself; of a longer
   row three, and ~q in the last slot: the rest is in Quad q, in the same encoding. lists.cuh has the lists. SUM, WEIGHT, ROW:
   lengths.cuh.

   Sources: Davidson, Baxter, Garland, Owens, Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths (IPDPS 2014),
   for near and far; Dong, Gu, Sun, Zhang, Efficient Stepping Algorithms and Implementations for Parallel Shortest Paths (SPAA
   2021), for the window that moves with every step. */
#include "paths/steps.cuh"

/* Write the arcs of a row to Quads; they weigh 1 if there are no weights. */
__device__ __forceinline__ void fill_quads(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t row, int64_t num_rows, Quad* quads,
    uint64_t* used) {
    int64_t arc = offsets[row];
    int64_t left = offsets[row + 1] - arc;
    for (int64_t at = row; at >= 0;) {
        const bool last = left <= SLOTS;
        const int64_t next = last ? -1 : num_rows + (int64_t)atomicAdd(used, (uint64_t)1);
        Quad quad;
        for (int k = 0; k < SLOTS; ++k) {
            const bool filled = k < (last ? left : SLOTS - 1);
            quad.end[k] = filled ? indices[arc + k] : last ? (ROW)row : (ROW)~next;
            quad.weight[k] = !filled ? (QuadWeight)0 : weights ? (QuadWeight)weights[arc + k] : (QuadWeight)1;
        }
        quads[at] = quad;
        arc += SLOTS - 1;
        left -= SLOTS - 1;
        at = next;
    }
}

/* Initialise a search, with the source, if there is one, on the pile. */
extern "C" __global__ void prepare(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, int64_t source, Quad* quads,
    Length* lengths, ROW* pile, uint32_t* piled, Control* control) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        lengths[row] = row == source ? (Length)0 : FAR;
        fill_quads(offsets, indices, weights, row, num_rows, quads, &control->quads);
    }
    for (int64_t word = global_thread(); word < (num_rows + 31) / 32; word += num_threads()) {
        piled[word] = word == source >> 5 ? 1u << (source & 31) : 0;
    }
    if (global_thread() == 0) {
        control->nearest = FAR;
        if (source >= 0) {
            pile[0] = (ROW)source;
            control->piled = 1;
        }
    }
}

/* Put rows on an empty pile, each once. */
extern "C" __global__ void pile_up(const ROW* rows, int64_t count, ROW* pile, uint32_t* piled, Control* control) {
    for (int64_t place = global_thread(); place < count; place += num_threads()) {
        pile[place] = rows[place];
        atomicOr(piled + (rows[place] >> 5), 1u << (rows[place] & 31));
    }
    if (global_thread() == 0) {
        control->piled = (uint64_t)count;
    }
}

extern "C" __global__ void TEAM __launch_bounds__(THREADS, 1) shorten(
    const Quad* quads, Length* lengths, ROW* pile, uint32_t* piled, Length least_window, Length most_window, int64_t few,
    int64_t many, int64_t most, int64_t most_thin, Control* control) {
    take_steps(quads, lengths, pile, piled, least_window, most_window, few, many, most, most_thin, control, Everywhere{});
}
