/* Writes the marked edges in ascending order.

   The bitmap is divided into tiles of up to 32 words, which warps take in turn, so that neighbouring tiles, whose edges share
   rows, are written at about the same time. */
#pragma once

#include "forest/edges.cuh"

#define MARKS_OF_TILE 1024

/* Number of marks before each tile in its group of tiles, which belongs to a block, and number of marks of each group. */
struct Sums {
    uint32_t* of_tiles;
    unsigned long long* of_groups;
};

struct Tiles {
    int64_t num_words, words, count, group;

    __device__ explicit Tiles(int64_t num_edges) {
        num_words = (num_edges + 31) / 32;
        const int64_t warps = num_threads() / 32;
        words = min((int64_t)32, (num_words + warps - 1) / warps);
        count = (num_words + words - 1) / words;
        group = (count + gridDim.x - 1) / gridDim.x;
    }

    /* A lane's word of a tile. */
    __device__ __forceinline__ uint32_t word(const uint32_t* marks, int64_t tile) const {
        const int lane = threadIdx.x & 31;
        const int64_t place = tile * words + lane;
        return lane < words && place < num_words ? marks[place] : 0;
    }
};

__device__ void count_marks(const Tiles& tiles, const uint32_t* marks, Sums sums) {
    for (int64_t tile = global_thread() / 32; tile < tiles.count; tile += num_threads() / 32) {
        const uint32_t count = __reduce_add_sync(FULL_WARP, __popc(tiles.word(marks, tile)));
        if ((threadIdx.x & 31) == 0) {
            sums.of_tiles[tile] = count;
        }
    }
}

/* Prefix sums over the tiles of the block's group. `warps` is shared memory, one word per warp. */
__device__ void sum_group(const Tiles& tiles, Sums sums, uint32_t* warps) {
    const int64_t begin = blockIdx.x * tiles.group, end = min(begin + tiles.group, tiles.count);
    uint32_t carried = 0;
    for (int64_t base = begin; base < end; base += blockDim.x) {
        const int64_t tile = base + threadIdx.x;
        const uint32_t own = tile < end ? sums.of_tiles[tile] : 0;
        const uint32_t up_to_lane = sum_up_to_lane(own);
        if ((threadIdx.x & 31) == 31) {
            warps[threadIdx.x / 32] = up_to_lane;
        }
        __syncthreads();
        uint32_t before_warp = 0, all = 0;
        for (int warp = 0; warp < blockDim.x / 32; ++warp) {
            before_warp += warp < threadIdx.x / 32 ? warps[warp] : 0;
            all += warps[warp];
        }
        if (tile < end) {
            sums.of_tiles[tile] = carried + before_warp + up_to_lane - own;
        }
        carried += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums.of_groups[blockIdx.x] = carried;
    }
}

/* The last position of `low..high-1` whose edges begin at or before `edge`. */
__device__ __forceinline__ int64_t position_of_edge(const EDGE* __restrict__ first_edge, int64_t low, int64_t high, Bits edge) {
    return first_not(low + 1, high, [=](int64_t position) { return (Bits)first_edge[position] <= edge; }) - 1;
}

/* Index in the answer of a tile's first mark. */
__device__ int64_t place_of_tile(const Tiles& tiles, Sums sums, int64_t tile) {
    unsigned long long before = 0;
    for (int64_t group = threadIdx.x & 31; group < tile / tiles.group; group += 32) {
        before += sums.of_groups[group];
    }
    return (int64_t)sum_of_warp(before) + sums.of_tiles[tile];
}

/* Write the marked edges in their order. `slots` is the warp's shared memory for the marks of a tile. */
__device__ void write_edges(const Edges& g, const Tiles& tiles, const uint32_t* marks, Sums sums, uint16_t* slots, ROW* src,
                            ROW* dst, WEIGHT* weights, Control* control) {
    const int lane = threadIdx.x & 31;
    for (int64_t tile = global_thread() / 32; tile < tiles.count; tile += num_threads() / 32) {
        uint32_t word = tiles.word(marks, tile);
        const uint32_t up_to_lane = sum_up_to_lane((uint32_t)__popc(word));
        const int marked = (int)__shfl_sync(FULL_WARP, up_to_lane, 31);
        const int64_t place = place_of_tile(tiles, sums, tile);
        if (tile == tiles.count - 1 && lane == 0) {
            control->total = place + marked;
        }
        __syncwarp();
        for (int slot = (int)up_to_lane - __popc(word); word != 0; word &= word - 1) {
            slots[slot++] = (uint16_t)(lane * 32 + __ffs(word) - 1);
        }
        __syncwarp();
        const Bits first = (Bits)tile * (Bits)tiles.words * 32;
        const int64_t end = marked == 0 ? 0 : position_of_edge(
            g.first_edge, 0, g.num_rows, first + slots[lane == 0 ? 0 : marked - 1]);
        const int64_t low = __shfl_sync(FULL_WARP, end, 0), high = __shfl_sync(FULL_WARP, end, 1) + 1;
        for (int i = lane; i < marked; i += 32) {
            const Bits edge = first + slots[i];
            const int64_t position = position_of_edge(g.first_edge, low, high, edge);
            const ROW row = g.rows_by_id[position];
            const int64_t arc = g.offsets[row] + g.tails[row] + (int64_t)(edge - (Bits)g.first_edge[position]);
            src[place + i] = row;
            dst[place + i] = g.indices[arc];
            if (g.weights != nullptr) {
                weights[place + i] = g.weights[arc];
            }
        }
    }
}
