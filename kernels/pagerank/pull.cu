/* PageRank in which every row adds the shares of its in-arcs' tails. Returns what pagerank.cu does.

   All iterations are in one cooperative launch, with one barrier for each: shares, that is scores over out-degrees rounded to
   float, are read from one array and written to another. A lane has a row of fewer than LONG_ROW in-arcs, and a warp a piece of
   a longer row. The sums of a row's pieces are added by the warp that finishes the last of them, in the order of the pieces, so
   the order of every sum depends on the arcs only. Sums are made in double.
   Sources: Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999. Bell,
   Garland, Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors, SC 2009. */
#include "pagerank/control.cuh"

#define BATCH 4 /* loads in flight per lane */

/* Consecutive in-arcs of a long row, of which the first piece is number `first_piece`. */
struct Piece {
    int64_t row, first, end, first_piece;
};

/* The pieces, space for a sum of each, and how many of a row's are done, at its first; these are zeros before and after. */
struct Pieces {
    const Piece* all;
    int64_t count;
    double* sums;
    uint32_t* done;
};

struct Pull {
    const int64_t* out_offsets;
    const int64_t* in_offsets;
    const ROW* in_indices;
    const float* shares;
    Scoring scoring;

    /* The sum of the shares of every `step`th of `count` arcs. */
    __device__ __forceinline__ double sum_of(const ROW* tails_of_arcs, int count, int step) const {
        double sum = 0;
        for (int arc = 0; arc < count; arc += BATCH * step) {
            ROW tails[BATCH];
            float values[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                tails[k] = arc + k * step < count ? __ldcs(tails_of_arcs + arc + k * step) : (ROW)-1;
            }
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                values[k] = tails[k] >= 0 ? shares[tails[k]] : 0.0f;
            }
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                sum += values[k];
            }
        }
        return sum;
    }

    template <bool compares>
    __device__ __forceinline__ void pull_row(int64_t row, Sums& sums) const {
        const int64_t first = in_offsets[row], arcs = in_offsets[row + 1] - first;
        const int64_t out_arcs = out_offsets == in_offsets ? arcs : out_offsets[row + 1] - out_offsets[row];
        const float degree = (float)out_arcs;
        const double before = compares ? scoring.scores[row] : 0.0;
        if (arcs < LONG_ROW) {
            scoring.set<compares>(row, degree, before, sum_of(in_indices + first, (int)arcs, 1), sums);
        }
    }

    /* A warp adds the arcs of a piece; all lanes call it. */
    template <bool compares>
    __device__ __forceinline__ void pull_piece(const Pieces& pieces, int64_t number, Sums& sums) const {
        const int lane = threadIdx.x & 31;
        const Piece piece = pieces.all[number];
        double sum = sum_of_warp(sum_of(in_indices + piece.first + lane, (int)(piece.end - piece.first) - lane, 32));
        const int64_t arcs = in_offsets[piece.row + 1] - in_offsets[piece.row];
        if (arcs > PIECE) {
            const int64_t parts = (arcs + PIECE - 1) / PIECE;
            bool last = false;
            if (lane == 0) {
                pieces.sums[number] = sum;
                __threadfence();
                last = atomicAdd(pieces.done + piece.first_piece, 1u) == (uint32_t)(parts - 1);
            }
            if (!__any_sync(FULL_WARP, last)) {
                return;
            }
            __threadfence();
            sum = 0;
            for (int64_t part = lane; part < parts; part += 32) {
                sum += __ldcg(pieces.sums + piece.first_piece + part);
            }
            sum = sum_of_warp(sum);
            if (lane == 0) {
                pieces.done[piece.first_piece] = 0;
            }
        }
        if (lane == 0) {
            const double before = compares ? scoring.scores[piece.row] : 0.0;
            const float degree = (float)(out_offsets[piece.row + 1] - out_offsets[piece.row]);
            scoring.set<compares>(piece.row, degree, before, sum, sums);
        }
    }

    /* All rows: first the pieces, then the short rows, 32 for each warp. */
    template <bool compares>
    __device__ __forceinline__ void pull_all(const Pieces& pieces, int64_t num_rows, Sums& sums) const {
        const int64_t warps = num_threads() / 32;
        int64_t work = global_thread() / 32;
        for (; work < pieces.count; work += warps) {
            pull_piece<compares>(pieces, work, sums);
        }
        for (int64_t row = (work - pieces.count) * 32 + (threadIdx.x & 31); row < num_rows; row += warps * 32) {
            pull_row<compares>(row, sums);
        }
    }
};

extern "C" __global__ void __launch_bounds__(PULL_THREADS, 2) iterate(
    const int64_t* out_offsets, const int64_t* in_offsets, const ROW* in_indices, const Piece* pieces, int64_t num_pieces,
    int64_t num_rows, double damping, double tolerance, double settled, int64_t most_iterations, float* shares,
    double* sums_of_pieces, uint32_t* done, double* scores, Control* control) {
    const Pieces all_pieces{pieces, num_pieces, sums_of_pieces, done};
    const Rules rules{damping, tolerance, settled, most_iterations};
    Iterations all(control, num_rows);
    start(out_offsets, num_rows, all.base, shares, scores, &all.turn()->sums);
    grid_barrier((uint32_t*)&control->barrier);
    while (all.begin(rules, num_rows)) {
        const bool odd = all.begun & 1;
        const Scoring scoring{all.base, damping, settled, shares + (odd ? num_rows : 0), scores};
        const Pull pull{out_offsets, in_offsets, in_indices, shares + (odd ? 0 : num_rows), scoring};
        Sums sums{};
        if (all.compares(rules)) {
            pull.pull_all<true>(all_pieces, num_rows, sums);
        } else {
            pull.pull_all<false>(all_pieces, num_rows, sums);
        }
        publish(sums, &all.turn()->sums);
        grid_barrier((uint32_t*)&control->barrier);
    }
}
