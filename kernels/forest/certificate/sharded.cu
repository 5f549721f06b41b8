/* The pass of the certificate of a forest over the arcs of one rank's rows. Returns whether an out-arc is
   contradicted by the greatest edge between its endpoints.

   Method: walks that give every warp equally many arcs. An arc heavier than all edges above both endpoints in one tree is not
   contradicted; for the others, the paths up, which have equal length, are followed until they meet (hierarchy.py).

   Encodings: `parent` and `time` are those of nodes, the first of which are the local rows; -1 above a root. For a local row,
   `root` is the root above it, and `heaviest` the greatest weight on the path there. `greatest`, `lows` and `highs` have an entry
   for each edge, by time. */
#include "certificate/arcs.cuh"

struct Contradicting : EveryRow {
    const WEIGHT* __restrict__ weights;
    const ROW* __restrict__ positions;
    bool symmetric;
    const int64_t* __restrict__ parent;
    const int64_t* __restrict__ time;
    const int64_t* __restrict__ root;
    const WEIGHT* __restrict__ heaviest;
    const WEIGHT* __restrict__ greatest;
    const int64_t* __restrict__ lows;
    const int64_t* __restrict__ highs;
    uint32_t* contradicted;

    struct Loaded {
        WEIGHT weight, head_heaviest;
        int64_t head_root;
    };

    __device__ __forceinline__ Loaded load(int64_t, int64_t arc, ROW head) const {
        return {weights == nullptr ? (WEIGHT)1 : weights[arc], heaviest[head], root[head]};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW head, const Loaded& seen, bool active) {
        if (!active || head == row) {
            return;
        }
        const bool one_tree = seen.head_root == root[row];
        if (one_tree && seen.weight > seen.head_heaviest && seen.weight > heaviest[row]) {
            return;
        }
        if ((!symmetric || positions[row] < positions[head]) && (!one_tree || contradicts(row, head, seen.weight))) {
            *contradicted = 1;
        }
    }

    __device__ __forceinline__ bool contradicts(int64_t row, int64_t head, WEIGHT weight) const {
        const int64_t low = min(positions[row], positions[head]), high = max(positions[row], positions[head]);
        int64_t last = -1;
        while (row != head) {
            last = max(last, max(time[row], time[head]));
            row = parent[row];
            head = parent[head];
        }
        return weight < greatest[last] || (weight == greatest[last] &&
            (low < lows[last] || (low == lows[last] && high < highs[last])));
    }
};

// spills: a few words on sm_120; two blocks per multiprocessor are faster
extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) + sizeof(WEIGHT) == 8 ? 2 : 1)
find_contradiction(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, const ROW* positions,
                   bool symmetric, const int64_t* parent, const int64_t* time, const int64_t* root,
                   const WEIGHT* heaviest, const WEIGHT* greatest, const int64_t* lows, const int64_t* highs,
                   uint32_t* contradicted) {
    Contradicting visit = {{}, weights, positions, symmetric, parent, time, root, heaviest, greatest, lows, highs, contradicted};
    walk_arcs(offsets, indices, num_rows, visit);
}
