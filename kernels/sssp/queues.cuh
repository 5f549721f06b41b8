/* The queues of short_paths.cu: the rows that are relaxed next, in tasks of equal work.

   A queue has two lists: rows of fewer than QUEUE_ROW arcs, of which a warp takes 32 at a time and divides their arcs among its
   lanes; and chunks of up to CHUNK_ARCS arcs of the other rows, one per warp. There are two queues, one that is processed and one
   that is filled, and for each a bitmap in `queued`, so that it holds a row only once. A warp collects elements in shared memory
   before it appends them. */
#pragma once

#include "paths/lengths.cuh"

struct alignas(16) Chunk {
    uint64_t arcs; /* the first one, and in the last 10 bits their number */
    ROW row;
};
static_assert(sizeof(Chunk) == CHUNK_BYTES, "CHUNK_BYTES is wrong");

struct Control {
    uint32_t barrier;
    uint32_t deep;    /* the search was given up, after too many thin turns */
    uint64_t rows[3]; /* lengths of the queue's lists: of this turn, of the next one, and one that is zero */
    uint64_t chunks[3];
    uint64_t nearest[3]; /* least length beyond the bucket that a pass fills */
};
static_assert(sizeof(Control) <= CONTROL_BYTES, "CONTROL_BYTES is too small");

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
    Chunk* chunks;
    int64_t most_chunks; /* of each of two lists */
    uint32_t* queued;    /* two bitmaps */
    Control* control;
    int turn, parity;
    Length limit, cap; /* end of the bucket; no arc is followed to a length of `cap` or more */
};

__device__ __forceinline__ uint32_t* bitmap(const Search& search, int side) {
    return search.queued + side * ((search.num_rows + 31) / 32);
}

/* Numbers of elements that a warp has staged for the lists of the next queue; appending 32 of them costs one atomic. */
struct Stages {
    int rows, chunks;
};

/* The elements that this warp has staged. */
template <typename T>
__device__ __forceinline__ T* staged() {
    __shared__ T elements[THREADS / 32][64];
    return elements[threadIdx.x >> 5];
}

template <typename T>
__device__ __forceinline__ void flush(int& waiting, T* list, uint64_t* length, int count) {
    const int lane = threadIdx.x & 31;
    uint64_t first = 0;
    __syncwarp();
    if (lane == 0) {
        first = atomicAdd(length, (uint64_t)count);
    }
    first = __shfl_sync(FULL_WARP, first, 0);
    if (lane < count) {
        list[first + lane] = staged<T>()[lane];
    }
    __syncwarp();
    staged<T>()[lane] = staged<T>()[lane + 32];
    __syncwarp();
    waiting -= count;
}

template <typename T>
__device__ __forceinline__ void append(int& waiting, T* list, uint64_t* length, bool wanted, T element) {
    const uint32_t lanes = __ballot_sync(FULL_WARP, wanted);
    if (wanted) {
        staged<T>()[waiting + __popc(lanes & ((1u << (threadIdx.x & 31)) - 1))] = element;
    }
    waiting += __popc(lanes);
    if (waiting >= 32) {
        flush(waiting, list, length, 32);
    }
}

__device__ __forceinline__ ROW* next_rows(const Search& search) { return search.rows + (search.parity ^ 1) * search.num_rows; }

__device__ __forceinline__ Chunk* next_chunks(const Search& search) {
    return search.chunks + (search.parity ^ 1) * search.most_chunks;
}

/* Append the lanes' wanted rows to the next queue, with these arcs. Called by all lanes of the warp. */
__device__ __forceinline__ void enqueue(const Search& search, Stages& stages, const Arcs& arcs, bool wanted, int64_t row) {
    if (!__any_sync(FULL_WARP, wanted)) {
        return;
    }
    uint64_t* chunks = &search.control->chunks[(search.turn + 1) % 3];
    int64_t begin = wanted ? arcs.offsets[row] : 0;
    int64_t left = wanted ? arcs.offsets[row + 1] - begin : 0;
    if (left > CHUNK_ARCS) {
        Chunk* place = next_chunks(search) + atomicAdd(chunks, (uint64_t)((left - 1) / CHUNK_ARCS));
        for (; left > CHUNK_ARCS; left -= CHUNK_ARCS, begin += CHUNK_ARCS) {
            *place++ = Chunk{(uint64_t)begin << 10 | CHUNK_ARCS, (ROW)row};
        }
        wanted = false;
    }
    const bool last = left >= QUEUE_ROW || (!wanted && left > 0);
    if (__any_sync(FULL_WARP, last)) {
        append(stages.chunks, next_chunks(search), chunks, last, Chunk{(uint64_t)begin << 10 | (uint64_t)left, (ROW)row});
    }
    append(stages.rows, next_rows(search), &search.control->rows[(search.turn + 1) % 3], wanted && left > 0 && !last, (ROW)row);
}
