/* The certificate of a closure (__init__.py states what it proves). Returns in `broken` whether it is refused.

   Encodings: pairs are in the order of the positions of both vertices; `begins` [V + 1] has where those of each position begin,
   `reached` [P] the positions of what they reach. `labels` [V] is written by `label` and read by the other kernels. */
#include "gpu/device.cuh"

struct Pairs {
    const int64_t* begins;
    const ROW* reached;

    /* The place of a pair, or -1. */
    __device__ __forceinline__ int64_t find_pair(int64_t position, ROW wanted) const {
        const int64_t end = begins[position + 1], place = find(reached, begins[position], end, wanted);
        return place < end ? place : -1;
    }
};

/* The first vertex that a vertex reaches and that reaches it, or itself. */
extern "C" __global__ void __launch_bounds__(THREADS)
label(const int64_t* begins, const ROW* reached, const ROW* rows_by_id, int64_t num_rows, ROW* labels) {
    const Pairs pairs = {begins, reached};
    for (int64_t position = global_thread(); position < num_rows; position += num_threads()) {
        int64_t found = position;
        if (pairs.find_pair(position, (ROW)position) >= 0) {
            for (int64_t place = begins[position]; place < begins[position + 1]; ++place) {
                if (pairs.find_pair(reached[place], (ROW)position) >= 0) {
                    found = reached[place];
                    break;
                }
            }
        }
        labels[rows_by_id[position]] = rows_by_id[found];
    }
}

/* A pair of a vertex is at the same place among those of its label. */
extern "C" __global__ void __launch_bounds__(THREADS)
compare(const int64_t* begins, const ROW* reached, const ROW* rows_by_id, const ROW* positions, const ROW* labels,
        int64_t num_rows, uint32_t* broken) {
    for (int64_t position = global_thread() >> 5; position < num_rows; position += num_threads() >> 5) {
        const int64_t label = positions[labels[rows_by_id[position]]], length = begins[position + 1] - begins[position];
        bool differs = begins[label + 1] - begins[label] != length;
        for (int64_t step = threadIdx.x & 31; !differs && label != position && step < length; step += 32) {
            differs = reached[begins[position] + step] != reached[begins[label] + step];
        }
        if (differs) {
            *broken = 1;
        }
    }
}

/* A warp for each row: marks the pairs of its label that its arcs explain, and refuses where one is missing. Pairs have second
   vertices at the positions from `first_column` on. */
extern "C" __global__ void __launch_bounds__(THREADS, 2)
follow(const int64_t* offsets, const ROW* indices, const int64_t* begins, const ROW* reached, const ROW* positions,
       const ROW* labels, int64_t num_rows, int64_t first_column, int64_t end_column, uint8_t* behind, uint32_t* broken) {
    for (int64_t row = global_thread() >> 5; row < num_rows; row += num_threads() >> 5) {
        const ROW name = labels[row];
        const int64_t label = positions[name], first = begins[label], last = begins[label + 1];
        for (int64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
            const ROW head = positions[indices[arc]];
            const int64_t begin = begins[head] - 1, end = labels[indices[arc]] == name ? begin + 1 : begins[head + 1];
            const bool is_here = head >= first_column && head < end_column;
            for (int64_t place = begin + !is_here + (threadIdx.x & 31); place < end; place += 32) {
                const int64_t found = find(reached, first, last, place == begin ? head : reached[place]);
                if (found == last) {
                    *broken = 1;
                } else {
                    behind[found] = 1;
                }
            }
        }
    }
}
