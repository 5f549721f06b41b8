/* Rows of which all votes have to be counted: a neighbour's label has changed, at most half of the votes are for the row's own
   label, and it is not the first round, in which all labels differ, unless arcs are parallel or have two sides. A warp takes a
   row; `into_offsets` is null if in-arcs are out-arcs, and `changed` in the first round. */
#include "gpu/device.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
find_undecided(const int64_t* out_offsets, const ROW* out, const int64_t* into_offsets, const ROW* into, int64_t num_own,
               const ROW* labels, const bool* changed, ROW* after, bool* undecided) {
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread() >> 5; row < num_own; row += num_threads() >> 5) {
        uint64_t votes = 0, own = 0, changes = 0, parallel = 0;
        ROW smallest = 0;  // of this lane's votes, if it has any
        for (int side = 0; side < (into_offsets ? 2 : 1); ++side) {
            const int64_t* offsets = side ? into_offsets : out_offsets;
            const ROW* neighbours = side ? into : out;
            for (int64_t arc = offsets[row] + lane; arc < offsets[row + 1]; arc += 32) {
                const ROW other = neighbours[arc];
                changes += !changed || changed[other];
                if (other != row) {
                    smallest = votes && smallest < labels[other] ? smallest : labels[other];
                    ++votes;
                    own += labels[other] == labels[row];
                    parallel += arc > offsets[row] && neighbours[arc - 1] == other;  // such arcs follow each other
                }
            }
        }
        for (int distance = 16; distance; distance >>= 1) {
            const ROW theirs = __shfl_xor_sync(FULL_WARP, smallest, distance);
            const uint64_t their_votes = __shfl_xor_sync(FULL_WARP, votes, distance);
            smallest = !votes || (their_votes && theirs < smallest) ? theirs : smallest;
            votes += their_votes;
        }
        own = sum_of_warp(own);
        changes = sum_of_warp(changes);
        parallel = sum_of_warp(parallel);
        if (lane == 0) {
            const bool differ = !changed && !into_offsets && !parallel;
            undecided[row] = changes && votes && 2 * own <= votes && !differ;
            if (differ && votes) {
                after[row] = smallest;
            }
        }
    }
}
