/* Shortest paths in graphs with many arcs per row and short paths (social networks, webs): the lengths from a source.

   One cooperative launch in four phases. Once the search has reached the first large rows, most arcs weigh more than the
   remaining distance of most rows, so few arcs have to be followed:
     start   rows are settled bucket by bucket (delta-stepping), until one queue is `enough` work;
     light   rows up to `core` farther are settled in the same way; of an arc that leads farther, only the weight is read;
     pull    every row beyond reads its in-arcs: these rows are many, but have few arcs;
     rest    these rows are settled bucket by bucket as well, now along all their arcs.
   A bucket is relaxed again while rows fall into it. Lengths only decrease, and every row that improves is relaxed again, so
   every order ends with the same lengths.

   queues.cuh has the queues, buckets.cuh the work on them. The rows of a later bucket are found by a pass over the lengths.
   SUM, WEIGHT, ROW: lengths.cuh.

   Sources: Meyer, Sanders, Delta-stepping (J. Algorithms 49, 2003), for buckets, light and heavy arcs; Chakaravarthy, Checconi,
   Petrini, Sabharwal, Scalable Single Source Shortest Path Algorithms for Massively Parallel Systems (IPDPS 2014), for
   pulling. */
#include "sssp/buckets.cuh"

__device__ __forceinline__ void fill_bucket(const Search& search, Stages& stages, Length from) {
    const Length nearest = least_of_warp(queue_between(search, stages, search.out, search.num_rows, from, search.limit - 1));
    if ((threadIdx.x & 31) == 0 && nearest < FAR) {
        atomicMin(&search.control->nearest[(search.turn + 1) % 3], (uint64_t)nearest);
    }
}

#define PATIENCE 32 /* buckets after which paths are taken to be long, and widths follow the rows in the queue */

/* Settle, bucket by bucket, all rows with a length from the limit to the cap. Returns true, with rows in the queue, as soon as
   the queue is `enough` work: its chunks, where 16 small rows count as one. Gives up when more than `thin_left` turns had few
   rows: it then becomes negative. */
__device__ __forceinline__ bool settle(Search& search, Stages& stages, Length width, int64_t enough, int64_t& thin_left) {
    const Length least_width = width;
    int64_t most = 0; /* rows in the queue, in this bucket */
    for (int buckets = 0;;) {
        const int64_t rows = (int64_t)__ldcg(&search.control->rows[search.turn]);
        const int64_t chunks = (int64_t)__ldcg(&search.control->chunks[search.turn]);
        if (rows + chunks > 0) {
            if (chunks + rows / 16 >= enough) {
                return true;
            }
            most = rows + 16 * chunks > most ? rows + 16 * chunks : most;
            thin_left -= rows + chunks < THIN_ROUND;
            if (thin_left < 0) {
                search.control->deep = 1;
                return false;
            }
            take_chunks<false>(search, stages, chunks);
            take_rows<false>(search, stages, rows);
            end_turn(search, stages);
            continue;
        }
        const Length from = search.limit;
        if (from >= search.cap) {
            return false;
        }
        if (++buckets > PATIENCE && most < num_threads() / 2) {
            width = plus(width, width);
        } else if (most > 4 * num_threads() && width > least_width) {
            width = Kind<SUM>::part(width, 4);
        }
        most = 0;
        search.limit = smaller(beyond(from, width), search.cap);
        fill_bucket(search, stages, from);
        end_turn(search, stages);
        const Length nearest = (Length)__ldcg(&search.control->nearest[search.turn]);
        if (__ldcg(&search.control->rows[search.turn]) + __ldcg(&search.control->chunks[search.turn]) == 0) {
            search.limit = nearest; /* no row is between: the next bucket starts there */
        }
    }
}

// spills: a few words, by choice; with registers for all of them fewer warps fit a processor, and R-MAT 24 takes 4 % longer
extern "C" __global__ void __launch_bounds__(THREADS, 2) shorten(
    const int64_t* out_offsets, const ROW* out_indices, const WEIGHT* out_weights, const int64_t* in_offsets,
    const ROW* in_indices, const WEIGHT* in_weights, int64_t num_rows, Length* lengths, ROW* rows, Chunk* chunks,
    int64_t most_chunks, uint32_t* queued, Length from, Length core, Length light_width, Length width, int64_t enough,
    int64_t most_thin, Control* control) {
    Search search{
        {out_offsets, out_indices, out_weights}, {in_offsets, in_indices, in_weights}, num_rows, lengths, rows, chunks,
        most_chunks, queued, control, 0, 0, from, FAR};
    Stages stages{0, 0};
    if (!settle(search, stages, light_width, enough, most_thin)) {
        return;
    }
    search.cap = plus(search.limit, core);
    settle(search, stages, light_width, ALL, most_thin);
    if (most_thin < 0) {
        return;
    }
    pull_rows(search, stages, search.num_rows, search.cap);
    search.limit = search.cap;
    search.cap = FAR;
    settle(search, stages, width, ALL, most_thin);
}
