/* The pass of the certificate of a forest over one rank's arcs. Returns the first out-arc that contradicts the greatest edge between
   its ends.

   Method: walks of as many arcs a warp. An arc heavier than all edges above both ends in one tree cannot contradict; of the others
   the ways up are followed till they meet, which have equal length (hierarchy.py).

   Encodings: `parent` and `time` of a node, of which the first are the local numbers; -1 above a root. Of a local number `root` is
   the root above it, and `heaviest` the greatest weight on the way there. `greatest`, `lows` and `highs` are an edge's by its time. */
#include "certificate/arcs.cuh"

struct Contradicting {
    const WEIGHT* __restrict__ weights;
    const ROW* __restrict__ ranks;
    bool symmetric;
    const int64_t* __restrict__ parent;
    const int64_t* __restrict__ time;
    const int64_t* __restrict__ root;
    const WEIGHT* __restrict__ heaviest;
    const WEIGHT* __restrict__ greatest;
    const int64_t* __restrict__ lows;
    const int64_t* __restrict__ highs;
    int64_t num_arcs;
    unsigned long long* first;

    struct Loaded {
        WEIGHT weight, far_heaviest;
        int64_t far_root;
    };

    __device__ __forceinline__ bool skips(int64_t) const {
        return false;
    }

    __device__ __forceinline__ Loaded load(int64_t, int64_t arc, ROW far) const {
        return {weights == nullptr ? (WEIGHT)1 : weights[arc], heaviest[far], root[far]};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t arc, ROW far, const Loaded& seen, bool active) {
        if (!active || far == row) {
            return;
        }
        const bool one_tree = seen.far_root == root[row];
        if (one_tree && seen.weight > seen.far_heaviest && seen.weight > heaviest[row]) {
            return;
        }
        if ((!symmetric || ranks[row] < ranks[far]) && (!one_tree || contradicts(row, far, seen.weight))) {
            note_first(first, num_arcs, arc);
        }
    }

    __device__ __forceinline__ bool contradicts(int64_t row, int64_t far, WEIGHT weight) const {
        const int64_t low = min(ranks[row], ranks[far]), high = max(ranks[row], ranks[far]);
        int64_t last = -1;
        while (row != far) {
            last = max(last, max(time[row], time[far]));
            row = parent[row];
            far = parent[far];
        }
        return weight < greatest[last] || (weight == greatest[last] && (low < lows[last] || (low == lows[last] && high < highs[last])));
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) + sizeof(WEIGHT) == 8 ? 2 : 1)
find_contradiction(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, int64_t num_arcs,
                   const ROW* ranks, bool symmetric, const int64_t* parent, const int64_t* time, const int64_t* root,
                   const WEIGHT* heaviest, const WEIGHT* greatest, const int64_t* lows, const int64_t* highs,
                   unsigned long long* first) {
    Contradicting visit = {weights, ranks, symmetric, parent, time, root, heaviest, greatest, lows, highs, num_arcs, first};
    walk_arcs(offsets, indices, num_rows, visit);
}
