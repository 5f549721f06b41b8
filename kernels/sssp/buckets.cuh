/* Work on the queues of queues.cuh, for short_paths.cu and for shards: rows are relaxed along their out-arcs, or lowered over
   their in-arcs, and rows that have to be relaxed again are queued. */
#pragma once

#include "sssp/queues.cuh"

#define BATCH (sizeof(SUM) == 4 ? 4 : 2)
#define SCAN 4
#define ALL ((int64_t)1 << 62)

/* Initialise a search: from `source`, or with lengths that are known. */
extern "C" __global__ void prepare(
    int64_t num_rows, int64_t source, bool known, Length* lengths, uint32_t* queued, Control* control) {
    for (int64_t row = global_thread(); row < num_rows && !known; row += num_threads()) {
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

/* Lower a row to `total` if that is less; returns whether the row has to be queued. */
__device__ __forceinline__ bool improve(const Search& search, ROW row, Length total) {
    if (atomicMin(search.lengths + row, total) > total && total < search.limit) {
        const uint32_t bit = 1u << (row & 31);
        return !(atomicOr(bitmap(search, search.parity ^ 1) + (row >> 5), bit) & bit);
    }
    return false;
}

/* Relax the arcs of a chunk. */
__device__ __forceinline__ void push_chunk(const Search& search, Stages& stages, Length length, int64_t begin, int count) {
    const WEIGHT* weights = search.out.weights + begin;
    const ROW* indices = search.out.indices + begin;
    const int lane = threadIdx.x & 31;
    for (int first = lane; first - lane < count; first += 32 * BATCH) {
        Length total[BATCH];
        ROW far[BATCH];
        for (int k = 0; k < BATCH; ++k) {
            total[k] = first + 32 * k < count ? length_of(weights[first + 32 * k]) : FAR;
        }
        for (int k = 0; k < BATCH; ++k) {
            total[k] = plus(length, total[k]);
            far[k] = total[k] < search.cap ? indices[first + 32 * k] : (ROW)-1;
        }
        uint32_t wanted = 0;
        for (int k = 0; k < BATCH; ++k) {
            wanted |= total[k] < (far[k] >= 0 ? search.lengths[far[k]] : (Length)0) ? 1u << k : 0;
        }
        for (int k = 0; k < BATCH; ++k) {
            if ((wanted >> k & 1) && !improve(search, far[k], total[k])) {
                wanted &= ~(1u << k);
            }
        }
        if (__any_sync(FULL_WARP, wanted)) {
            for (int k = 0; k < BATCH; ++k) {
                enqueue(search, stages, search.out, wanted >> k & 1, far[k]);
            }
        }
    }
}

/* Lower a row over the in-arcs of a chunk. */
__device__ __forceinline__ void pull_chunk(const Search& search, ROW row, int64_t begin, int count) {
    Length least = FAR;
    for (int64_t arc = begin + (threadIdx.x & 31); arc < begin + count; arc += 32) {
        const Length near = search.lengths[search.into.indices[arc]];
        least = near < FAR ? smaller(least, plus(near, length_of(search.into.weights[arc]))) : least;
    }
    least = least_of_warp(least);
    if ((threadIdx.x & 31) == 0 && least < FAR) {
        atomicMin(search.lengths + row, least);
    }
}

__device__ __forceinline__ Chunk chunk_at(const Chunk* chunks, int64_t place, int64_t count) {
    return place < count ? Chunk{__ldcg(&chunks[place].arcs), __ldcg(&chunks[place].row)} : Chunk{0, 0};
}

template <bool PULL>
__device__ __forceinline__ void take_chunks(const Search& search, Stages& stages, int64_t count) {
    const Chunk* chunks = search.chunks + search.parity * search.most_chunks;
    const int64_t warps = num_threads() >> 5;
    int64_t place = global_thread() >> 5;
    Chunk next = chunk_at(chunks, place, count);
    for (; place < count; place += warps) {
        const Chunk chunk = next;
        next = chunk_at(chunks, place + warps, count); /* loaded while this one is relaxed */
        const int64_t begin = (int64_t)(chunk.arcs >> 10);
        const int arcs = (int)(chunk.arcs & 1023);
        if (PULL) {
            pull_chunk(search, chunk.row, begin, arcs);
        } else {
            if ((threadIdx.x & 31) == 0) {
                bitmap(search, search.parity)[chunk.row >> 5] = 0;
            }
            push_chunk(search, stages, __ldcg(search.lengths + chunk.row), begin, arcs);
        }
    }
}

template <bool PULL>
__device__ __forceinline__ void take_rows(const Search& search, Stages& stages, int64_t count) {
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
        const int ends = sum_up_to_lane(degree); /* end of this lane's row in the arcs of all 32 */
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
            const Length step = item < all ? length_of(arcs.weights[arc]) : FAR;
            if (PULL) {
                const Length other = item < all ? search.lengths[arcs.indices[arc]] : FAR;
                if (other < FAR && plus(other, step) < near) {
                    atomicMin(search.lengths + owner, plus(other, step));
                }
            } else {
                const Length total = plus(near, step);
                const ROW far = total < search.cap ? arcs.indices[arc] : owner;
                const bool wanted = total < search.cap && total < search.lengths[far] && improve(search, far, total);
                enqueue(search, stages, arcs, wanted, far);
            }
        }
    }
}

/* Of the first `count` rows queue those with lengths from `from` to `last`, with these arcs. Returns the least greater length
   that this lane saw. */
__device__ __forceinline__ Length queue_between(
    const Search& search, Stages& stages, const Arcs& arcs, int64_t count, Length from, Length last) {
    const int lane = threadIdx.x & 31;
    Length nearest = FAR;
    for (int64_t first = global_thread(); first - lane < count; first += SCAN * num_threads()) {
        Length length[SCAN];
        for (int k = 0; k < SCAN; ++k) {
            const int64_t row = first + k * num_threads();
            length[k] = row < count ? __ldcg(search.lengths + row) : 0;
        }
        for (int k = 0; k < SCAN; ++k) {
            const int64_t row = first + k * num_threads();
            nearest = length[k] > last ? smaller(nearest, length[k]) : nearest;
            enqueue(search, stages, arcs, row < count && length[k] >= from && length[k] <= last, row);
        }
    }
    return nearest;
}

/* End a turn of all blocks: the rows and chunks that they queued become the queue. */
__device__ __forceinline__ void end_turn(Search& search, Stages& stages) {
    const int next = (search.turn + 1) % 3;
    if (stages.rows > 0) {
        flush(stages.rows, next_rows(search), &search.control->rows[next], stages.rows);
    }
    if (stages.chunks > 0) {
        flush(stages.chunks, next_chunks(search), &search.control->chunks[next], stages.chunks);
    }
    if (global_thread() == 0) {
        const int after = (search.turn + 2) % 3;
        search.control->rows[after] = search.control->chunks[after] = 0;
        search.control->nearest[after] = FAR;
    }
    grid_barrier(&search.control->barrier);
    search.turn = next;
    search.parity ^= 1;
}

/* Lower the first `count` rows with lengths of `from` at least over their in-arcs. */
__device__ __forceinline__ void pull_rows(Search& search, Stages& stages, int64_t count, Length from) {
    queue_between(search, stages, search.into, count, from, FAR);
    end_turn(search, stages);
    take_chunks<true>(search, stages, (int64_t)__ldcg(&search.control->chunks[search.turn]));
    take_rows<true>(search, stages, (int64_t)__ldcg(&search.control->rows[search.turn]));
    end_turn(search, stages);
}
