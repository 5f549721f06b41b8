/* The pass of the certificate of a forest over the arcs of one rank's rows, on one level of the hierarchy (hierarchy.py).
   Returns whether an out-arc whose endpoints meet there is contradicted by the greatest edge between them.

   Method: walks that give every warp equally many arcs, without the rows whose arcs have all met below.

   Encodings: `before` and `after` are the nodes of the local rows on the level and on the next one; -1 where the tree is
   complete. `lows`, `highs` and `greatest` are the endpoints and weight of the greatest edge on the path up. `apart` is set for
   rows with an arc whose endpoints do not meet yet. A weight that is NaN counts as a contradiction, which the CPU decides. */
#include "certificate/arcs.cuh"

struct Contradicting {
    const WEIGHT* __restrict__ weights;
    const ROW* __restrict__ positions;
    bool symmetric;
    const ROW* __restrict__ before;
    const ROW* __restrict__ after;
    const ROW* __restrict__ lows;
    const ROW* __restrict__ highs;
    const WEIGHT* __restrict__ greatest;
    const bool* __restrict__ waits;
    bool* __restrict__ apart;
    uint32_t* contradicted;

    struct Loaded {
        WEIGHT weight;
        ROW head_before, head_after;
    };

    __device__ __forceinline__ bool skips(int64_t row) const { return !waits[row]; }

    __device__ __forceinline__ Loaded load(int64_t, int64_t arc, ROW head) const {
        return {weights == nullptr ? (WEIGHT)1 : weights[arc], before[head], after[head]};
    }

    __device__ __forceinline__ void take(int64_t row, int64_t, ROW head, const Loaded& seen, bool active) {
        if (!active || seen.head_before == before[row] || (symmetric && positions[row] > positions[head])) {
            return;
        }
        const ROW own_after = after[row];
        if (seen.head_after < 0 || own_after < 0) {
            *contradicted = 1;
        } else if (seen.head_after != own_after) {
            apart[row] = true;
        } else if (!holds(row, head, seen.weight)) {
            *contradicted = 1;
        }
    }

    __device__ __forceinline__ bool holds(int64_t row, int64_t head, WEIGHT weight) const {
        if (weight > greatest[row] && weight > greatest[head]) {
            return true;
        }
        const bool less = greatest[row] < greatest[head] || (greatest[row] == greatest[head] &&
            (lows[row] < lows[head] || (lows[row] == lows[head] && highs[row] < highs[head])));
        const int64_t last = less ? head : row;
        const ROW low = min(positions[row], positions[head]), high = max(positions[row], positions[head]);
        return weight > greatest[last] || (weight == greatest[last] &&
            (low > lows[last] || (low == lows[last] && high >= highs[last])));
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) + sizeof(WEIGHT) == 8 ? 2 : 1)
find_contradiction(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, const ROW* positions,
                   bool symmetric, const ROW* before, const ROW* after, const ROW* lows, const ROW* highs,
                   const WEIGHT* greatest, const bool* waits, bool* apart, uint32_t* contradicted) {
    Contradicting visit = {weights, positions, symmetric, before, after, lows, highs, greatest, waits, apart, contradicted};
    walk_arcs(offsets, indices, num_rows, visit);
}
