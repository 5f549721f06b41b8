/* The arcs of a shard that may be in the forest: those between different trees of the arcs that are less.

   Edges are ordered by (weight, smaller position, larger position), and read in passes with growing limits of (weight, smaller
   position). A pass keeps the arcs below its limit, or all if it is `last`, between rows of different `labels`, which name the
   trees of the arcs below the limit before; the first pass has no labels. `marks` is a bitmap of the arcs that were kept so far.
   A warp reads FILTER_ARCS consecutive arcs, whatever their rows. Rows are local ones; those of ghosts have no arcs.

   mark_kept  a pass; then the kept arcs of every row and of every warp's share are counted
   list_kept  the kept arcs in their order; `begins` has where those of each share begin

   Source: Osipov, Sanders, Singler, The Filter-Kruskal Minimum Spanning Tree Algorithm, ALENEX 2009. */
#include "gpu/device.cuh"

struct Pass {
    const ROW *positions, *labels; /* no labels: null */
    WEIGHT heaviest;
    int64_t low;
    bool last;

    __device__ __forceinline__ bool keeps(int64_t row, ROW head, const WEIGHT* weight) const {
        if (labels && labels[row] == labels[head]) {
            return false;
        }
        const WEIGHT heavy = last || !weight ? (WEIGHT)1 : *weight;
        return last || heavy < heaviest || (heavy == heaviest && (int64_t)min(positions[row], positions[head]) < low);
    }
};

#define SHARES                                                                                                         \
    const int64_t shares = (num_arcs + FILTER_ARCS - 1) / FILTER_ARCS;                                                 \
    for (int64_t share = global_thread() / 32; share < shares; share += num_threads() / 32)

#define PLACES                                                                                                         \
    const int64_t begin = share * FILTER_ARCS, end = min(begin + FILTER_ARCS, num_arcs);                               \
    for (int64_t arc = begin + lane; arc - lane < end; arc += 32)

extern "C" __global__ void mark_kept(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, int64_t num_arcs, const ROW* positions,
    const ROW* labels, WEIGHT heaviest, int64_t low, bool last, uint32_t* marks, unsigned long long* degrees, int64_t* counts) {
    const Pass pass = {positions, labels, heaviest, low, last};
    const int lane = threadIdx.x & 31;
    SHARES {
        const int64_t first_arc = share * FILTER_ARCS, last_arc = min(first_arc + FILTER_ARCS, num_arcs) - 1;
        const auto row_of = [=](int64_t arc, int64_t first, int64_t last_row) {
            return first_not(first, last_row, [=](int64_t row) { return offsets[row + 1] <= arc; });
        };
        const int64_t first_row = row_of(first_arc, 0, num_rows - 1), last_row = row_of(last_arc, first_row, num_rows - 1);
        int64_t count = 0;
        PLACES {
            const uint32_t before = marks[arc / 32];
            const int64_t row = arc < end ? row_of(arc, first_row, last_row) : 0;
            const bool kept = arc < end
                && ((before >> lane & 1) || pass.keeps(row, indices[arc], weights ? weights + arc : nullptr));
            const uint32_t lanes = __ballot_sync(FULL_WARP, kept);
            if (kept) {
                atomicAdd(degrees + row, 1ull);
            }
            if (lane == 0) {
                marks[arc / 32] = lanes;
            }
            count += __popc(lanes);
        }
        if (lane == 0) {
            counts[share] = count;
        }
    }
}

extern "C" __global__ void list_kept(
    const ROW* indices, const WEIGHT* weights, int64_t num_arcs, const uint32_t* marks, const int64_t* begins, ROW* out,
    WEIGHT* out_weights) {
    const int lane = threadIdx.x & 31;
    SHARES {
        int64_t next = begins[share];
        PLACES {
            const uint32_t lanes = marks[arc / 32];
            if (lanes >> lane & 1) {
                const int64_t place = next + __popc(lanes & ((1u << lane) - 1));
                out[place] = indices[arc];
                if (weights) {
                    out_weights[place] = weights[arc];
                }
            }
            next += __popc(lanes);
        }
    }
}
