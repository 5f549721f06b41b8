/* Triangles with two or three hubs, which are the last places of the order; each hub has a row of bits, which hubs are its
   neighbours.

   A warp takes an edge between hubs, and counts the bits that both rows have in common: a triangle of three hubs is found once
   from each of its edges. Or it takes another row, and tests for each of its hubs which of the others are neighbours of it: a
   triangle of two hubs is found once from each of these. */
#include "gpu/device.cuh"

/* Set the bits for entries of the lists on one side, `words` words for each hub; a warp takes a hub. `mutual`, for entries to
   which arcs lead both ways, is null here and below if all count alike. */
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
set_bits(const int64_t* begins, const int64_t* ends, const ROW* places, const uint8_t* arcs, int64_t first_hub, int64_t num_rows,
         int64_t words, uint32_t* joined, uint32_t* mutual) {
    for (int64_t row = first_hub + (global_thread() >> 5); row < num_rows; row += num_threads() >> 5) {
        for (int64_t entry = begins[row] + (threadIdx.x & 31); entry < ends[row]; entry += 32) {
            const int64_t hub = places[entry] - first_hub;
            if (hub >= 0) {
                const int64_t word = (row - first_hub) * words + (hub >> 5);
                atomicOr(joined + word, 1u << (hub & 31));
                if (mutual && arcs[entry] == 2) {
                    atomicOr(mutual + word, 1u << (hub & 31));
                }
            }
        }
    }
}

/* Add the triangles of edges from `first_edge` on, which lead from hubs to later ones, to `sums` of hubs: each of these twice.
   `found` gets three times their number, and their edges as their arcs count. */
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
add_edges(const int64_t* ends, const ROW* places, const uint8_t* arcs, int64_t first_hub, int64_t num_rows, int64_t first_edge,
          int64_t words, const uint32_t* joined, const uint32_t* mutual, uint64_t* sums, uint64_t* found) {
    uint64_t thrice = 0, total = 0;
    const int lane = threadIdx.x & 31;
    const int64_t end = first_hub < num_rows ? ends[num_rows - 1] : first_edge;
    for (int64_t edge = first_edge + (global_thread() >> 5); edge < end; edge += num_threads() >> 5) {
        const int64_t one = first_not(first_hub, num_rows, [=](int64_t row) { return ends[row] <= edge; }) - first_hub;
        const int64_t other = places[edge] - first_hub;
        uint64_t closed = 0, of_one = 0, of_other = 0;
        for (int64_t word = lane; word < words; word += 32) {
            const uint32_t mine = joined[one * words + word], theirs = joined[other * words + word];
            closed += __popc(mine & theirs);
            if (mutual) {
                of_one += __popc(mine & mutual[other * words + word]);
                of_other += __popc(mutual[one * words + word] & theirs);
            }
        }
        closed = sum_of_warp(closed);
        of_one = closed + sum_of_warp(of_one);
        of_other = closed + sum_of_warp(of_other);
        if (lane == 0 && closed) {
            atomicAdd(sums + one, of_one);
            atomicAdd(sums + other, of_other);
            thrice += closed;
            total += closed * (mutual ? arcs[edge] : 1);
        }
    }
    if (lane == 0 && thrice) {
        atomicAdd(found, thrice);
        atomicAdd(found + 1, total);
    }
}

/* Add the triangles of places before `first_hub` and two hubs, to the sums of the rows and of hubs.
   `found` gets twice their number, and their edges as their arcs count. */
extern "C" __global__ void __launch_bounds__(EDGE_THREADS)
add_pairs(const int64_t* begins, const int64_t* ends, const ROW* places, const uint8_t* arcs, int64_t first_hub, int64_t words,
          const uint32_t* joined, const uint32_t* mutual, uint64_t* sums, uint64_t* of_hubs, uint64_t* found) {
    uint64_t twice = 0, total = 0;
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread() >> 5; row < first_hub; row += num_threads() >> 5) {
        const int64_t end = ends[row];
        const int64_t begin = first_not(begins[row], end, [=](int64_t entry) { return places[entry] < first_hub; });
        uint64_t of_row = 0;
        for (int64_t group = begin; begin + 1 < end && group < end; group += 32) {
            const int64_t mine = group + lane < end ? places[group + lane] - first_hub : 0;
            uint64_t of_mine = 0, closed_of_mine = 0;
            for (int64_t before = begin; before < end; before += 32) {
                const bool has_other = before + lane < end;
                const int64_t other = has_other ? places[before + lane] - first_hub : 0;
                const uint32_t both = mutual ? __ballot_sync(FULL_WARP, has_other && arcs[before + lane] == 2) : 0;
                for (int step = 0; step < 32 && group + step < end; ++step) {
                    const int64_t word = __shfl_sync(FULL_WARP, mine, step) * words + (other >> 5);
                    const bool is_closed = has_other && (joined[word] >> (other & 31) & 1);
                    const uint32_t closed = __ballot_sync(FULL_WARP, is_closed);
                    of_row += is_closed + (mutual && is_closed && (mutual[word] >> (other & 31) & 1));
                    if (step == lane) {
                        closed_of_mine += __popc(closed);
                        of_mine += __popc(closed) + __popc(closed & both);
                    }
                }
            }
            if (closed_of_mine) {
                atomicAdd(of_hubs + mine, of_mine);
                twice += closed_of_mine;
                total += closed_of_mine * (mutual ? arcs[group + lane] : 1);
            }
        }
        of_row = sum_of_warp(of_row);
        if (lane == 0 && of_row) {
            sums[row] += of_row / 2;
            total += of_row / 2;
        }
    }
    twice = sum_of_warp(twice);
    total = sum_of_warp(total);
    if (lane == 0 && twice) {
        atomicAdd(found, twice);
        atomicAdd(found + 1, total);
    }
}
