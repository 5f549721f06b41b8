/* The transitive closure as bits of the condensation's nodes, a block of vertices at a time, and the list of its pairs.

   Method: Purdom, A transitive closure algorithm, BIT 10, 1970. A node has `width` words, of which bit i of word w stands for the
   vertex at position `first + 32 w + i` in the order of external ids. Nodes are united with their children in ascending order of
   height, all nodes of a height at once, a word by a thread; so neighbouring threads read neighbouring words. Since bits ascend
   by external id, the pairs of a vertex are listed in their order, a warp for each vertex.

   Encodings: `alone[node]` is the position of a node's vertex that does not reach itself, or -1. */
#include "gpu/device.cuh"

struct Block {
    const ROW* nodes;  // [V]: of each position
    const int64_t* alone;
    const uint32_t* bits;  // [C * width]
    int64_t first;
    int64_t width;

    __device__ __forceinline__ uint32_t word(int64_t position, int64_t number) const {
        const int64_t node = nodes[position];
        const int64_t own = alone[node] - first - 32 * number;
        const uint32_t found = bits[node * width + number];
        return own >= 0 && own < 32 ? found & ~(1u << own) : found;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
start_bits(const ROW* nodes, int64_t first, int64_t width, int64_t end, uint32_t* bits) {
    for (int64_t place = global_thread(); place < end - first; place += num_threads()) {
        atomicOr(bits + nodes[first + place] * width + (place >> 5), 1u << (place & 31));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
unite(const ROW* order, const int64_t* begins, int64_t heights, const int64_t* offsets, const ROW* children, int64_t width,
      uint32_t* bits, uint32_t* barrier) {
    for (int64_t height = 1; height < heights; ++height) {
        const int64_t begin = begins[height];
        for (int64_t item = global_thread(); item < (begins[height + 1] - begin) * width; item += num_threads()) {
            const int64_t node = order[begin + item / width], number = item % width;
            uint32_t word = bits[node * width + number];
            for (int64_t arc = offsets[node]; arc < offsets[node + 1]; ++arc) {
                word |= bits[children[arc] * width + number];
            }
            bits[node * width + number] = word;
        }
        grid_barrier(barrier);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
count_pairs(const ROW* nodes, const int64_t* alone, const uint32_t* bits, int64_t first, int64_t width, int64_t num_rows,
            int64_t* counts) {
    const Block block = {nodes, alone, bits, first, width};
    for (int64_t position = global_thread() >> 5; position < num_rows; position += num_threads() >> 5) {
        int64_t count = 0;
        for (int64_t number = threadIdx.x & 31; number < width; number += 32) {
            count += __popc(block.word(position, number));
        }
        count = sum_of_warp(count);
        if ((threadIdx.x & 31) == 0) {
            counts[position] += count;
        }
    }
}

/* `cursors[position]` is where the next pair of the vertex is written. */
extern "C" __global__ void __launch_bounds__(THREADS)
list_pairs(const ROW* nodes, const int64_t* alone, const uint32_t* bits, int64_t first, int64_t width, int64_t num_rows,
           const ROW* rows_by_id, int64_t* cursors, ROW* vertex, ROW* reached) {
    const Block block = {nodes, alone, bits, first, width};
    for (int64_t position = global_thread() >> 5; position < num_rows; position += num_threads() >> 5) {
        int64_t at = cursors[position];
        for (int64_t base = 0; base < width; base += 32) {
            const int64_t number = base + (threadIdx.x & 31);
            uint32_t word = number < width ? block.word(position, number) : 0;
            const int64_t behind = sum_up_to_lane((int64_t)__popc(word));
            int64_t place = at + behind - __popc(word);
            for (; word; word &= word - 1) {
                vertex[place] = rows_by_id[position];
                reached[place++] = rows_by_id[first + 32 * number + __ffs(word) - 1];
            }
            at += __shfl_sync(FULL_WARP, behind, 31);
        }
        if ((threadIdx.x & 31) == 0) {
            cursors[position] = at;
        }
    }
}
