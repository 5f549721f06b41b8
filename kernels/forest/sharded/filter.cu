/* The arcs of a shard that may be in the forest: light ones, and those between different trees of light arcs.

   Edges are ordered by (weight, smaller position, larger position); an edge is light if (weight, smaller position) is less than a
   limit. Without `labels` only light arcs are kept; otherwise also those whose ends have different labels. A warp reads
   FILTER_ARCS consecutive arcs, whatever their rows. Rows are local ones; those of ghosts have no arcs.

   count_kept  the kept arcs of every row and of every warp's share
   list_kept   the kept arcs in their order; `begins` has where those of each share begin

   Source: Osipov, Sanders, Singler, The Filter-Kruskal Minimum Spanning Tree Algorithm, ALENEX 2009. */
#include "gpu/device.cuh"

struct Arcs {
    const int64_t* offsets;
    const ROW* indices;
    const WEIGHT* weights; /* null: each is 1 */
    int64_t num_rows, num_arcs;
    const ROW *positions, *labels;
    WEIGHT heaviest;
    int64_t low;

    __device__ __forceinline__ bool keeps(int64_t row, int64_t arc) const {
        const ROW head = indices[arc];
        if (labels && labels[row] != labels[head]) {
            return true;
        }
        const WEIGHT weight = weights ? weights[arc] : (WEIGHT)1;
        return weight < heaviest || (weight == heaviest && (int64_t)min(positions[row], positions[head]) < low);
    }

    /* Call `visit(row, arc, kept, lanes)` on all lanes for 32 arcs of a share at a time; those of `lanes` are kept. */
    template <typename Visit>
    __device__ __forceinline__ void visit(int64_t share, Visit visit) const {
        const int64_t begin = share * FILTER_ARCS, end = min(begin + FILTER_ARCS, num_arcs);
        const int64_t first = row_of(begin, 0, num_rows - 1), last = row_of(end - 1, first, num_rows - 1);
        for (int64_t arc = begin + (threadIdx.x & 31); arc - (threadIdx.x & 31) < end; arc += 32) {
            const int64_t row = arc < end ? row_of(arc, first, last) : 0;
            const bool kept = arc < end && keeps(row, arc);
            visit(row, arc, kept, __ballot_sync(FULL_WARP, kept));
        }
    }

    /* The row of an arc, which is one of `first..last`. */
    __device__ __forceinline__ int64_t row_of(int64_t arc, int64_t first, int64_t last) const {
        return first_not(first, last, [=](int64_t row) { return offsets[row + 1] <= arc; });
    }
};

#define PARAMETERS                                                                                                     \
    const int64_t *offsets, const ROW *indices, const WEIGHT *weights, int64_t num_rows, int64_t num_arcs,             \
        const ROW *positions, const ROW *labels, WEIGHT heaviest, int64_t low

#define SETTING                                                                                                        \
    const Arcs arcs = {offsets, indices, weights, num_rows, num_arcs, positions, labels, heaviest, low};               \
    const int64_t shares = (num_arcs + FILTER_ARCS - 1) / FILTER_ARCS;

extern "C" __global__ void count_kept(PARAMETERS, unsigned long long* degrees, int64_t* counts) {
    SETTING
    for (int64_t share = global_thread() / 32; share < shares; share += num_threads() / 32) {
        int64_t count = 0;
        arcs.visit(share, [&](int64_t row, int64_t, bool kept, uint32_t lanes) {
            if (kept) {
                atomicAdd(degrees + row, 1ull);
            }
            count += __popc(lanes);
        });
        if ((threadIdx.x & 31) == 0) {
            counts[share] = count;
        }
    }
}

extern "C" __global__ void list_kept(PARAMETERS, const int64_t* begins, ROW* out, WEIGHT* out_weights) {
    SETTING
    for (int64_t share = global_thread() / 32; share < shares; share += num_threads() / 32) {
        int64_t next = begins[share];
        arcs.visit(share, [&](int64_t, int64_t arc, bool kept, uint32_t lanes) {
            if (kept) {
                const int64_t place = next + __popc(lanes & ((1u << (threadIdx.x & 31)) - 1));
                out[place] = indices[arc];
                if (weights) {
                    out_weights[place] = weights[arc];
                }
            }
            next += __popc(lanes);
        });
    }
}
