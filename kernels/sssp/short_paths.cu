/* Shortest paths in graphs of many arcs a row and short paths (social networks, webs): the lengths from a source.

   One cooperative launch, in three parts. Most arcs of such a graph are heavier than most of its lengths, so few need be followed:
     light   rows shorter than `core` are settled bucket by bucket (delta-stepping); of an arc that leads to `core` or beyond, only
             the weight is read;
     pull    every row that is still unreached looks through its in-arcs: these rows are many, but have few arcs;
     rest    these rows are settled bucket by bucket, too, now along all their arcs.
   A bucket is relaxed again while rows fall into it. Lengths only decrease and whatever improves is relaxed again, so every
   order ends at the same lengths.

   Encodings. A queue is two lists: rows of fewer than 32 arcs, which a warp takes 32 at a time and deals their arcs to its lanes; and
   pieces of 512 arcs of the other rows, a warp each. `queued` holds two bitmaps of the rows in the queue that is being filled, so that it
   holds each once. What a later bucket holds is found by a pass over the lengths. SUM, WEIGHT, ROW: lengths.cuh.

   Sources: Meyer, Sanders, Delta-stepping (J. Algorithms 49, 2003), for buckets, light and heavy arcs; Chakaravarthy, Checconi,
   Petrini, Sabharwal, Scalable Single Source Shortest Path Algorithms for Massively Parallel Systems (IPDPS 2014), for pulling. */
#include "sssp/lengths.cuh"

#define THREADS 512
#define SMALL_ROW 32
#define PIECE 512
#define BATCH 4

struct Piece {
    ROW row;
    uint32_t number;
};

struct Control {
    uint32_t barrier;
    uint32_t unused;
    uint64_t rows[3]; /* lengths of the queue's lists: now, next, and one that is zero */
    uint64_t pieces[3];
    uint64_t nearest[3]; /* least length beyond the bucket that a pass looks for */
};

struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
    const WEIGHT* __restrict__ weights;
};

struct Search {
    Arcs out, into;
    int64_t num_rows;
    Length* lengths;
    ROW* rows; /* two lists of `num_rows` */
    Piece* pieces;
    int64_t most_pieces; /* of each of two lists */
    uint32_t* queued;    /* two bitmaps */
    Control* control;
    int turn, parity;
    Length limit, cap; /* the bucket's end; no arc is followed to `cap` or beyond */
};

extern "C" __global__ void prepare(int64_t num_rows, int64_t source, Length* lengths, uint32_t* queued, Control* control) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        lengths[row] = row == source ? (Length)0 : FAR;
    }
    for (int64_t word = global_thread(); word < (num_rows + 31) / 32 * 2; word += num_threads()) {
        queued[word] = 0;
    }
    if (global_thread() == 0) {
        *control = Control{};
        for (int turn = 0; turn < 3; ++turn) {
            control->nearest[turn] = FAR;
        }
    }
}

/* Put `row` into the next queue, with these arcs of it. */
__device__ __forceinline__ void enqueue(const Search& search, const Arcs& arcs, int64_t row) {
    const int64_t degree = arcs.offsets[row + 1] - arcs.offsets[row];
    const int next = (search.turn + 1) % 3, side = search.parity ^ 1;
    if (degree >= SMALL_ROW) {
        const int64_t count = (degree + PIECE - 1) / PIECE;
        Piece* place = search.pieces + side * search.most_pieces + atomicAdd(&search.control->pieces[next], (uint64_t)count);
        for (int64_t number = 0; number < count; ++number) {
            place[number] = Piece{(ROW)row, (uint32_t)number};
        }
    } else if (degree > 0) {
        search.rows[side * search.num_rows + append(&search.control->rows[next])] = (ROW)row;
    }
}

__device__ __forceinline__ uint32_t* bitmap(const Search& search, int side) {
    return search.queued + side * ((search.num_rows + 31) / 32);
}

/* Lower a row to `total`, if that is less. */
__device__ __forceinline__ void improve(const Search& search, ROW row, Length total) {
    if (atomicMin(search.lengths + row, total) > total && total < search.limit) {
        const uint32_t bit = 1u << (row & 31);
        if (!(atomicOr(bitmap(search, search.parity ^ 1) + (row >> 5), bit) & bit)) {
            enqueue(search, search.out, row);
        }
    }
}

/* Relax arcs of one piece. */
__device__ __forceinline__ void push_piece(const Search& search, Length length, int64_t begin, int64_t end) {
    for (int64_t first = begin + (threadIdx.x & 31); first < end; first += 32 * BATCH) {
        Length total[BATCH], old[BATCH];
        ROW far[BATCH];
        for (int k = 0; k < BATCH; ++k) {
            const int64_t arc = first + 32 * k;
            total[k] = arc < end ? plus(length, length_of(search.out.weights[arc])) : FAR;
        }
        for (int k = 0; k < BATCH; ++k) {
            far[k] = total[k] < search.cap ? search.out.indices[first + 32 * k] : (ROW)-1;
        }
        for (int k = 0; k < BATCH; ++k) {
            old[k] = far[k] >= 0 ? search.lengths[far[k]] : (Length)0;
        }
        for (int k = 0; k < BATCH; ++k) {
            if (total[k] < old[k]) {
                improve(search, far[k], total[k]);
            }
        }
    }
}

/* Lower a row over the in-arcs of one piece. */
__device__ __forceinline__ void pull_piece(const Search& search, ROW row, int64_t begin, int64_t end) {
    Length least = FAR;
    for (int64_t arc = begin + (threadIdx.x & 31); arc < end; arc += 32) {
        const Length near = search.lengths[search.into.indices[arc]];
        least = near < FAR ? smaller(least, plus(near, length_of(search.into.weights[arc]))) : least;
    }
    least = least_of_warp(least);
    if ((threadIdx.x & 31) == 0 && least < FAR) {
        atomicMin(search.lengths + row, least);
    }
}

template <bool PULL>
__device__ __forceinline__ void take_pieces(const Search& search, int64_t count) {
    const Arcs& arcs = PULL ? search.into : search.out;
    const Piece* pieces = search.pieces + search.parity * search.most_pieces;
    for (int64_t place = global_thread() >> 5; place < count; place += num_threads() >> 5) {
        const Piece piece{__ldcg(&pieces[place].row), __ldcg(&pieces[place].number)};
        const int64_t begin = arcs.offsets[piece.row] + (int64_t)piece.number * PIECE, row_end = arcs.offsets[piece.row + 1];
        const int64_t end = begin + PIECE < row_end ? begin + PIECE : row_end;
        if (PULL) {
            pull_piece(search, piece.row, begin, end);
        } else {
            if ((threadIdx.x & 31) == 0) {
                bitmap(search, search.parity)[piece.row >> 5] = 0;
            }
            push_piece(search, __ldcg(search.lengths + piece.row), begin, end);
        }
    }
}

template <bool PULL>
__device__ __forceinline__ void take_rows(const Search& search, int64_t count) {
    const Arcs& arcs = PULL ? search.into : search.out;
    const int lane = threadIdx.x & 31;
    for (int64_t place = global_thread(); place - lane < count; place += num_threads()) {
        ROW row = 0;
        Length length = FAR;
        int64_t begin = 0;
        int degree = 0;
        if (place < count) {
            row = __ldcg(search.rows + search.parity * search.num_rows + place);
            begin = arcs.offsets[row];
            degree = (int)(arcs.offsets[row + 1] - begin);
            length = __ldcg(search.lengths + row);
            bitmap(search, search.parity)[row >> 5] = 0;
        }
        int ends = degree; /* of this lane's row, in the arcs of all 32 */
        for (int apart = 1; apart < 32; apart <<= 1) {
            const int other = __shfl_up_sync(FULL_WARP, ends, apart);
            ends += lane >= apart ? other : 0;
        }
        const int all = __shfl_sync(FULL_WARP, ends, 31);
        begin -= ends - degree;
        for (int first = 0; first < all; first += 32) {
            const int item = first + lane;
            int of = 0;
            for (int apart = 16; apart > 0; apart >>= 1) {
                of += __shfl_sync(FULL_WARP, ends, of + apart - 1) <= item ? apart : 0;
            }
            const int64_t arc = __shfl_sync(FULL_WARP, begin, of) + item;
            const Length near = __shfl_sync(FULL_WARP, length, of);
            const ROW owner = __shfl_sync(FULL_WARP, row, of);
            if (item < all) {
                const Length step = length_of(arcs.weights[arc]);
                if (PULL) {
                    const Length other = search.lengths[arcs.indices[arc]];
                    if (other < FAR && plus(other, step) < near) {
                        atomicMin(search.lengths + owner, plus(other, step));
                    }
                } else {
                    const Length total = plus(near, step);
                    const ROW far = total < search.cap ? arcs.indices[arc] : owner;
                    if (total < search.cap && total < search.lengths[far]) {
                        improve(search, far, total);
                    }
                }
            }
        }
    }
}

/* Queue the rows with lengths from `from` up to the limit, and find the least length from there on. */
__device__ __forceinline__ void fill_bucket(const Search& search, Length from) {
    Length nearest = FAR;
#pragma unroll 4
    for (int64_t row = global_thread(); row < search.num_rows; row += num_threads()) {
        const Length length = __ldcg(search.lengths + row);
        if (length >= search.limit) {
            nearest = smaller(nearest, length);
        } else if (length >= from) {
            enqueue(search, search.out, row);
        }
    }
    __syncwarp();
    nearest = least_of_warp(nearest);
    if ((threadIdx.x & 31) == 0 && nearest < FAR) {
        atomicMin(&search.control->nearest[(search.turn + 1) % 3], (uint64_t)nearest);
    }
}

/* All blocks have done this turn: what they queued is the queue. */
__device__ __forceinline__ void end_turn(Search& search) {
    if (global_thread() == 0) {
        const int after = (search.turn + 2) % 3;
        search.control->rows[after] = search.control->pieces[after] = 0;
        search.control->nearest[after] = FAR;
    }
    grid_barrier(&search.control->barrier);
    search.turn = (search.turn + 1) % 3;
    search.parity ^= 1;
}

/* Settle, bucket by bucket, all rows with a length from `from` to the cap. The queue holds what there is below `from + width`. */
__device__ __forceinline__ void settle(Search& search, Length width) {
    for (;;) {
        const int64_t rows = (int64_t)__ldcg(&search.control->rows[search.turn]);
        const int64_t pieces = (int64_t)__ldcg(&search.control->pieces[search.turn]);
        if (rows + pieces > 0) {
            take_pieces<false>(search, pieces);
            take_rows<false>(search, rows);
            end_turn(search);
            continue;
        }
        const Length from = search.limit;
        search.limit = beyond(from, width);
        fill_bucket(search, from);
        end_turn(search);
        const Length nearest = (Length)__ldcg(&search.control->nearest[search.turn]);
        if (__ldcg(&search.control->rows[search.turn]) + __ldcg(&search.control->pieces[search.turn]) == 0) {
            if (nearest == FAR) {
                return;
            }
            search.limit = nearest; /* nothing lies between: the next bucket starts there */
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) shorten(
    const int64_t* out_offsets, const ROW* out_indices, const WEIGHT* out_weights, const int64_t* in_offsets, const ROW* in_indices,
    const WEIGHT* in_weights, int64_t num_rows, int64_t source, Length* lengths, ROW* rows, Piece* pieces, int64_t most_pieces,
    uint32_t* queued, Length core, Length light_width, Length width, Control* control) {
    Search search{
        {out_offsets, out_indices, out_weights}, {in_offsets, in_indices, in_weights}, num_rows, lengths, rows, pieces, most_pieces,
        queued, control, 0, 0, 0, core};
    settle(search, light_width);

    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        if (__ldcg(lengths + row) == FAR) {
            enqueue(search, search.into, row);
        }
    }
    end_turn(search);
    take_pieces<true>(search, (int64_t)__ldcg(&control->pieces[search.turn]));
    take_rows<true>(search, (int64_t)__ldcg(&control->rows[search.turn]));
    end_turn(search);

    search.limit = core;
    search.cap = FAR;
    settle(search, width);
}
