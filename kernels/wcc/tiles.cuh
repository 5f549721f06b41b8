/* Components from all arcs, first within tiles of rows. */
#pragma once

#include "wcc/arcs.cuh"

/* A warp's buffer of pairs of a tile's rows to unite. They are united 32 at a time, so that all lanes search for roots
   together. */
struct Pairs {
    uint32_t* buffer;
    int count;

    __device__ __forceinline__ void push(bool take, int tail, int head, unsigned short* local) {
        const int lane = threadIdx.x & 31;
        const uint32_t taken = __ballot_sync(FULL_WARP, take);
        if (take) {
            buffer[count + __popc(taken & ((1u << lane) - 1))] = (uint32_t)tail << 16 | (uint32_t)head;
        }
        count += __popc(taken);
        __syncwarp();
        if (count >= 32) {
            count -= 32;
            unite_pair(buffer[count + lane], local);
            __syncwarp();
        }
    }

    __device__ __forceinline__ void flush(unsigned short* local) {
        if ((threadIdx.x & 31) < count) {
            unite_pair(buffer[threadIdx.x & 31], local);
        }
    }

    static __device__ __forceinline__ void unite_pair(uint32_t pair, unsigned short* local) {
        unite<ScrambledOrder>(local, (unsigned short)(pair >> 16), (unsigned short)pair);
    }
};

/* Unite a tile's rows by the arcs of small rows inside it, reading one arc of a symmetric pair; every row's parent becomes a root
   of the tile. A row's first link needs no search. Sets the bits in `open` of rows with arcs that remain to be read. */
template <typename Side>
__device__ void join_tile(Side arcs, bool symmetric, int64_t base, int size, const ROW* __restrict__ positions,
                          unsigned short* local, uint32_t* buffer, ROW* parent, ROW* names, uint32_t* open) {
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        local[i] = (unsigned short)i;
    }
    __syncthreads();
    Pairs pairs = {buffer, 0};
    for (int i = threadIdx.x; i - (int)(threadIdx.x & 31) < size; i += blockDim.x) {
        const int64_t first = i < size ? arcs.offsets[base + i] : 0;
        const int64_t length = i < size ? arcs.offsets[base + i + 1] - first : 0;
        const int small = length < WARP_ROW ? (int)length : 0;
        const int longest = __reduce_max_sync(FULL_WARP, small);
        bool root = true, leaves = length >= WARP_ROW;
        for (int k = 0; k < longest; k += 2) {
            int64_t heads[2];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                heads[j] = k + j < small ? (int64_t)arcs.indices[first + k + j] - base : i;
            }
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int head = (int)heads[j];
                const bool inside = heads[j] >= 0 && heads[j] < size;
                leaves |= symmetric ? heads[j] < 0 : !inside;
                const bool precedes = inside && ScrambledOrder::before(head, i);
                bool take = inside && (precedes || !symmetric);
                if (precedes && root) {
                    root = false;
                    take = swap_if(&local[i], (unsigned short)i, (unsigned short)head) != i;
                }
                pairs.push(take, i, head, local);
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
        const ROW slot = arcs.slot(base + i);
        parent[slot] = arcs.slot(base + root_of(local, (unsigned short)i));
        names[slot] = positions[base + i];
    }
    __syncthreads();
}

/* A warp's buffer of pairs of slots to unite in global memory, which all lanes do together, as with `Pairs`. */
struct FarPairs {
    ROW (*buffer)[2];
    int count;

    __device__ __forceinline__ void push(bool take, ROW tail, ROW head, ROW* parent) {
        const int lane = threadIdx.x & 31;
        const uint32_t taken = __ballot_sync(FULL_WARP, take);
        if (take) {
            ROW* const pair = buffer[count + __popc(taken & ((1u << lane) - 1))];
            pair[0] = tail;
            pair[1] = head;
        }
        count += __popc(taken);
        __syncwarp();
        if (count >= 32) {
            count -= 32;
            unite<ScrambledOrder>(parent, buffer[count + lane][0], buffer[count + lane][1]);
            __syncwarp();
        }
    }

    __device__ __forceinline__ void flush(ROW* parent) {
        const int lane = threadIdx.x & 31;
        if (lane < count) {
            unite<ScrambledOrder>(parent, buffer[lane][0], buffer[lane][1]);
        }
    }
};

/* Unite the trees of different tiles by the arcs of small open rows; large rows are queued. */
template <typename Side>
__device__ void leave_tiles(Side arcs, bool symmetric, int tile, int64_t num_rows, const uint32_t* open, ROW (*buffer)[2],
                            ROW* parent, Chunk* queue, Control* control) {
    const int lane = threadIdx.x & 31;
    FarPairs pairs = {buffer, 0};
    for (int64_t row = global_thread(); row - lane < num_rows; row += num_threads()) {
        const bool opened = row < num_rows && (open[row >> 5] >> lane & 1);
        const int64_t first = opened ? arcs.offsets[row] : 0, end = opened ? arcs.offsets[row + 1] : 0;
        if (end - first >= WARP_ROW) {
            enqueue(queue, &control->queued[1], row, first, end);
        }
        const int64_t base = opened ? row / tile * tile : 0, behind = min(base + tile, num_rows); /* a shard has more heads */
        const int small = end - first < WARP_ROW ? (int)(end - first) : 0, longest = __reduce_max_sync(FULL_WARP, small);
        for (int k = 0; k < longest; ++k) {
            const ROW head = k < small ? arcs.indices[first + k] : (ROW)base;
            const bool leaves = head < base || (!symmetric && head >= behind);
            pairs.push(leaves, arcs.slot(row), leaves ? arcs.head(first + k) : head, parent);
        }
    }
    pairs.flush(parent);
}

/* Both of these for all rows, in tiles of `tile` rows; large rows remain in the queue. `local` is shared memory for a tile, and
   for 64 pairs of each warp. */
template <typename Side>
__device__ __forceinline__ void join_tiles(
    Side arcs, bool symmetric, int tile, int64_t num_rows, const ROW* __restrict__ positions, unsigned short* local, ROW* parent,
    ROW* names, Chunk* queue, Control* control, uint32_t* open) {
    __shared__ uint32_t buffer[2 * TILE_THREADS];
    for (int64_t base = (int64_t)blockIdx.x * tile; base < num_rows; base += (int64_t)gridDim.x * tile) {
        join_tile(arcs, symmetric, base, (int)min((int64_t)tile, num_rows - base), positions, local,
                  buffer + (threadIdx.x & ~31) * 2, parent, names, open);
    }
    grid_barrier(&control->barrier);
    leave_tiles(arcs, symmetric, tile, num_rows, open, (ROW (*)[2])local + (threadIdx.x & ~31) * 2, parent, queue, control);
}
