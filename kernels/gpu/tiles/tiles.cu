/* The arcs of a band of rows in the order of tiles of heads.

   An arc becomes a key, `tile << (row_bits + tile_bits) | row of the band << tile_bits | head in its tile`; sorted by tile, the
   arcs are ordered by tile and within a tile by row. The arcs of a row in a tile are a segment; none crosses a chunk, the work of
   a warp. An arc is written as its head's row within the tile, 15 bits, and a bit that marks the last arc of its segment. */
#include "gpu/tiles/stream.cuh"

/* `offsets` begin with the band's first row; one row per warp. */
extern "C" __global__ void make_keys(
    const int64_t* offsets, const ROW* indices, int64_t num_rows, int32_t row_bits, int32_t tile_bits, int64_t* keys) {
    for (int64_t row = global_thread() >> 5; row < num_rows; row += num_threads() >> 5) {
        for (int64_t arc = offsets[row] + (threadIdx.x & 31); arc < offsets[row + 1]; arc += 32) {
            const int64_t head = indices[arc], tile = head >> tile_bits, place = head & ((1 << tile_bits) - 1);
            keys[arc - offsets[0]] = tile << (row_bits + tile_bits) | row << tile_bits | place;
        }
    }
}

/* `starts` holds the tiles' first keys. */
extern "C" __global__ void mark_ends(
    const int64_t* keys, int64_t num_arcs, int32_t row_bits, int32_t tile_bits, const int64_t* starts, uint8_t* ends) {
    for (int64_t arc = global_thread(); arc < num_arcs; arc += num_threads()) {
        const int64_t segment = keys[arc] >> tile_bits, after = arc - starts[segment >> row_bits] + 1;
        ends[arc] = after % TILE_CHUNK_ARCS == 0 || arc + 1 == num_arcs || keys[arc + 1] >> tile_bits != segment;
    }
}

/* The arcs and tasks of tile t begin at `first_arcs[t]` and `first_tasks[t]`; `ordinals` count the ends up to an arc. Weights, of
   `weight_bytes` or 0 if there are none, are written beside the arcs. */
extern "C" __global__ void write_arcs(
    const int64_t* keys, const void* sorted_weights, int32_t weight_bytes, int64_t num_arcs, int32_t row_bits, int32_t tile_bits,
    const int64_t* starts, const uint8_t* ends, const int64_t* ordinals, const int64_t* first_arcs, const int64_t* first_tasks,
    int64_t first_segment, uint16_t* arcs, void* weights, Task* tasks, int64_t* items) {
    for (int64_t arc = global_thread(); arc < num_arcs; arc += num_threads()) {
        const int64_t key = keys[arc], tile = key >> (row_bits + tile_bits), from = arc - starts[tile];
        const int64_t row = (key >> tile_bits) & (((int64_t)1 << row_bits) - 1);
        arcs[first_arcs[tile] + from] = (uint16_t)((key & ((1 << tile_bits) - 1)) | (int64_t)ends[arc] << 15);
        copy_element(sorted_weights, weight_bytes, arc, weights, first_arcs[tile] + from);
        if (ends[arc]) {
            items[ordinals[arc] - 1] = row << 32 | ordinals[arc];
        }
        if (from % TILE_CHUNK_ARCS == 0) {
            const int64_t count = min((int64_t)TILE_CHUNK_ARCS, starts[tile + 1] - arc), before = ordinals[arc] - ends[arc];
            tasks[first_tasks[tile] + from / TILE_CHUNK_ARCS] = Task{
                tile, first_arcs[tile] + from, (int32_t)count, (int32_t)(ordinals[arc + count - 1] - before),
                first_segment + before};
        }
    }
}
