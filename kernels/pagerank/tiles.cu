/* The in-arcs of a band of rows in the order of tiles, as pagerank.cu reads them.

   An arc becomes a key, `tile << (row_bits + TILE_BITS) | row of the band << TILE_BITS | tail in its tile`; sorted by tile, the
   arcs are ordered by tile and within a tile by row. The arcs of a row in a tile are a segment; none crosses a chunk, the work of
   a warp. An arc is written as its tail's row within the tile, 15 bits, and a bit that marks the last arc of its segment. */
#include "gpu/device.cuh"

struct Task {
    int64_t tile, first_arc, count, first_partial;
};

/* `offsets` begin with the band's first row; one row per warp. */
extern "C" __global__ void make_keys(const int64_t* offsets, const ROW* indices, int64_t num_rows, int32_t row_bits,
    int64_t* keys) {
    for (int64_t row = global_thread() >> 5; row < num_rows; row += num_threads() >> 5) {
        for (int64_t arc = offsets[row] + (threadIdx.x & 31); arc < offsets[row + 1]; arc += 32) {
            const int64_t source = indices[arc], tile = source >> TILE_BITS, place = source & ((1 << TILE_BITS) - 1);
            keys[arc - offsets[0]] = tile << (row_bits + TILE_BITS) | row << TILE_BITS | place;
        }
    }
}

/* `starts` holds the tiles' first keys. */
extern "C" __global__ void mark_ends(const int64_t* keys, int64_t num_arcs, int32_t row_bits, const int64_t* starts,
    uint8_t* ends) {
    for (int64_t arc = global_thread(); arc < num_arcs; arc += num_threads()) {
        const int64_t segment = keys[arc] >> TILE_BITS, after = arc - starts[segment >> row_bits] + 1;
        ends[arc] = after % CHUNK_ARCS == 0 || arc + 1 == num_arcs || keys[arc + 1] >> TILE_BITS != segment;
    }
}

/* The arcs and tasks of tile t begin at `first_arcs[t]` and `first_tasks[t]`; `ordinals` count the ends up to an arc. */
extern "C" __global__ void write_arcs(
    const int64_t* keys, int64_t num_arcs, int32_t row_bits, const int64_t* starts, const uint8_t* ends, const int64_t* ordinals,
    const int64_t* first_arcs, const int64_t* first_tasks, int64_t first_partial, uint16_t* arcs, Task* tasks, int64_t* items) {
    for (int64_t arc = global_thread(); arc < num_arcs; arc += num_threads()) {
        const int64_t key = keys[arc], tile = key >> (row_bits + TILE_BITS), from = arc - starts[tile];
        const int64_t row = (key >> TILE_BITS) & (((int64_t)1 << row_bits) - 1);
        arcs[first_arcs[tile] + from] = (uint16_t)((key & ((1 << TILE_BITS) - 1)) | (int64_t)ends[arc] << TILE_BITS);
        if (ends[arc]) {
            items[ordinals[arc] - 1] = row << 32 | ordinals[arc];
        }
        if (from % CHUNK_ARCS == 0) {
            tasks[first_tasks[tile] + from / CHUNK_ARCS] = Task{
                tile, first_arcs[tile] + from, min((int64_t)CHUNK_ARCS, starts[tile + 1] - arc),
                first_partial + ordinals[arc] - ends[arc]};
        }
    }
}

/* Distribute the items, in the order of rows, to the lanes of slices: item k of a lane is 32 k behind its first. */
extern "C" __global__ void deal_items(
    const int64_t* items, int64_t num_items, const int64_t* first_of_row, const int64_t* lanes, const int64_t* first_of_slice,
    uint32_t* dealt) {
    for (int64_t item = global_thread(); item < num_items; item += num_threads()) {
        const int64_t row = items[item] >> 32, lane = lanes[row];
        dealt[first_of_slice[lane >> 5] + (item - first_of_row[row]) * 32 + (lane & 31)] = (uint32_t)items[item];
    }
}
