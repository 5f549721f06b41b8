/* Components from all arcs, first within tiles of rows. */
#pragma once

#include "wcc/arcs.cuh"

#define TILE_THREADS 1024

/* Pairs of a tile's rows to unite, a warp's: searches are taken up 32 at a time, so that no lane waits for others' loops. */
struct Pairs {
    uint32_t* slots;
    int count;

    __device__ __forceinline__ void push(bool take, int near, int far, unsigned short* local) {
        const int lane = threadIdx.x & 31;
        const uint32_t taken = __ballot_sync(FULL_WARP, take);
        if (take) {
            slots[count + __popc(taken & ((1u << lane) - 1))] = (uint32_t)near << 16 | (uint32_t)far;
        }
        count += __popc(taken);
        __syncwarp();
        if (count >= 32) {
            count -= 32;
            unite_pair(slots[count + lane], local);
            __syncwarp();
        }
    }

    __device__ __forceinline__ void flush(unsigned short* local) {
        if ((threadIdx.x & 31) < count) {
            unite_pair(slots[threadIdx.x & 31], local);
        }
    }

    static __device__ __forceinline__ void unite_pair(uint32_t pair, unsigned short* local) {
        unite<ScrambledOrder>(local, (unsigned short)(pair >> 16), (unsigned short)pair);
    }
};

/* Unite the tile's rows by the arcs of small rows inside it, a symmetric arc from its later end; every row's parent becomes a root
   of the tile. A row's first link needs no search. Rows whose other arcs are still to be read get their bit in `open`. */
template <typename Side>
__device__ void join_tile(Side arcs, bool symmetric, int64_t base, int size, const ROW* __restrict__ ranks, unsigned short* local,
                          uint32_t* slots, ROW* parent, ROW* names, uint32_t* open) {
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        local[i] = (unsigned short)i;
    }
    __syncthreads();
    Pairs pairs = {slots, 0};
    for (int i = threadIdx.x; i - (int)(threadIdx.x & 31) < size; i += blockDim.x) {
        const int64_t first = i < size ? arcs.offsets[base + i] : 0;
        const int64_t length = i < size ? arcs.offsets[base + i + 1] - first : 0;
        const int small = length < WARP_ROW ? (int)length : 0;
        const int longest = __reduce_max_sync(FULL_WARP, small);
        bool root = true, leaves = length >= WARP_ROW;
        for (int k = 0; k < longest; k += 2) {
            int64_t fars[2];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                fars[j] = k + j < small ? (int64_t)arcs.indices[first + k + j] - base : i;
            }
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int far = (int)fars[j];
                const bool inside = fars[j] >= 0 && fars[j] < size;
                leaves |= symmetric ? fars[j] < 0 : !inside;
                const bool precedes = inside && ScrambledOrder::before(far, i);
                bool take = inside && (precedes || !symmetric);
                if (precedes && root) {
                    root = false;
                    take = swap_if(&local[i], (unsigned short)i, (unsigned short)far) != i;
                }
                pairs.push(take, i, far, local);
            }
        }
        const uint32_t leaving = __ballot_sync(FULL_WARP, leaves);
        if ((threadIdx.x & 31) == 0) {
            open[(base + i) >> 5] = leaving;
        }
    }
    pairs.flush(local);
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        const ROW place = arcs.place(base + i);
        parent[place] = arcs.place(base + root_of(local, (unsigned short)i));
        names[place] = ranks[base + i];
    }
    __syncthreads();
}

/* Unite the trees of different tiles by the arcs of small open rows; large rows go to the queue. */
template <typename Side>
__device__ void leave_tile(Side arcs, bool symmetric, int64_t base, int size, const uint32_t* open, ROW* parent, Chunk* queue,
                           Control* control) {
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        if ((open[(base + i) >> 5] >> (i & 31) & 1) == 0) {
            continue;
        }
        const int64_t first = arcs.offsets[base + i], end = arcs.offsets[base + i + 1];
        if (end - first >= WARP_ROW) {
            enqueue(queue, &control->queued[1], base + i, first, end);
            continue;
        }
        for (int64_t arc = first; arc < end; ++arc) {
            const ROW far = arcs.indices[arc];
            if (far < base || (!symmetric && far >= base + size)) {
                unite<ScrambledOrder>(parent, arcs.place(base + i), arcs.far(arc));
            }
        }
    }
}
