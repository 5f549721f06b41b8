/* Rows of which all votes have to be counted: a neighbour's label has changed, and at most half of the votes are for the row's own
   label. A warp takes a row; `into_offsets` is null if in-arcs are out-arcs. */
#include "gpu/device.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
find_undecided(const int64_t* out_offsets, const ROW* out, const int64_t* into_offsets, const ROW* into, int64_t num_own,
               const ROW* labels, const bool* changed, bool* undecided) {
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread() >> 5; row < num_own; row += num_threads() >> 5) {
        uint64_t votes = 0, own = 0, changes = 0;
        for (int side = 0; side < (into_offsets ? 2 : 1); ++side) {
            const int64_t* offsets = side ? into_offsets : out_offsets;
            const ROW* neighbours = side ? into : out;
            for (int64_t arc = offsets[row] + lane; arc < offsets[row + 1]; arc += 32) {
                const ROW other = neighbours[arc];
                changes += changed[other];
                votes += other != row;
                own += other != row && labels[other] == labels[row];
            }
        }
        votes = sum_of_warp(votes);
        own = sum_of_warp(own);
        changes = sum_of_warp(changes);
        if (lane == 0) {
            undecided[row] = changes && votes && 2 * own <= votes;
        }
    }
}
