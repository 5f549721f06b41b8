/* Work on rows by levels, inside one cooperative launch: the rows that one level queues are visited in the next one.

   An entry of the queue is up to LEVEL_CHUNK arcs of a row: (row, first arc), with the row's complement for in-arcs. A warp takes
   up to 32 entries at a time; those of few arcs are read by one lane each. If a level has few entries, a single block continues
   as long as they stay few, because a barrier of all blocks costs more than the work.

   LEVEL_* and the number of threads of a block, LEVEL_THREADS: constants.py. */
#pragma once

#include "gpu/device.cuh"

struct Side {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
};

struct Entry {
    int64_t row, first;
};

/* `level` increases over launches; in each level one of three counters is read, one is written and one is cleared. */
struct Control {
    uint32_t barrier;
    uint32_t level;
    uint32_t queued[4];
};

struct Levels {
    Control* control;
    Entry* entries;
    int64_t capacity;
    uint32_t level;

    __device__ __forceinline__ Entry* queue(uint32_t of) const { return entries + (of & 1) * capacity; }

    __device__ __forceinline__ void push(Side side, ROW row, bool into, uint32_t to) const {
        int64_t first = side.offsets[row];
        const int64_t end = side.offsets[row + 1], number = into ? ~(int64_t)row : (int64_t)row;
        if (end - first > 0 && end - first <= LEVEL_CHUNK) {
            queue(to)[append(&control->queued[to % 3])] = {number, first};
            return;
        }
        const uint32_t chunks = (uint32_t)((end - first + LEVEL_CHUNK - 1) / LEVEL_CHUNK);
        uint32_t place = end == first ? 0 : atomicAdd(&control->queued[to % 3], chunks);
        for (; first < end; first += LEVEL_CHUNK) {
            queue(to)[place++] = {number, first};
        }
    }

    /* Visit the arcs of the level's entries by the warps `warp`, `warp + step`, ... */
    template <typename Visitor>
    __device__ void visit_level(Visitor& visitor, uint32_t count, uint32_t warp, uint32_t warps) const {
        const int lane = threadIdx.x & 31;
        for (uint32_t base = warp; base < count; base += 32 * warps) {
            const uint32_t place = base + lane * warps;
            Entry entry = {0, 0};
            int64_t length = 0;
            if (place < count) {
                const longlong2 loaded = __ldcg((const longlong2*)(queue(level) + place));
                entry = {loaded.x, loaded.y};
                const int64_t row = entry.row < 0 ? ~entry.row : entry.row;
                length = min((int64_t)LEVEL_CHUNK, visitor.side(entry.row < 0).offsets[row + 1] - entry.first);
            }
            if (length > 0 && length < LEVEL_LANE_ARCS) {
                visitor.open(entry.row);
                const ROW* indices = visitor.side(entry.row < 0).indices;
                for (int64_t arc = entry.first; arc < entry.first + length; ++arc) {
                    visitor.visit(indices[arc], *this);
                }
            }
            __syncwarp();
            for (uint32_t large = __ballot_sync(FULL_WARP, length >= LEVEL_LANE_ARCS); large; large &= large - 1) {
                const int from = __ffs(large) - 1;
                const int64_t row = __shfl_sync(FULL_WARP, entry.row, from), first = __shfl_sync(FULL_WARP, entry.first, from);
                const int64_t end = first + __shfl_sync(FULL_WARP, length, from);
                visitor.open(row);
                const ROW* indices = visitor.side(row < 0).indices;
                for (int64_t arc = first + lane; arc < end; arc += 32) {
                    visitor.visit(indices[arc], *this);
                }
                __syncwarp();
            }
        }
    }

    __device__ __forceinline__ uint32_t count() const { return __ldcg(&control->queued[level % 3]); }

    __device__ __forceinline__ void clear_next_but_one() const {
        if (threadIdx.x == 0) {
            control->queued[(level + 2) % 3] = 0;
        }
    }

    /* Visit level after level until nothing is queued. The entries of the first level were queued for `level`, before a
       barrier. */
    template <typename Visitor>
    __device__ void run(Visitor& visitor) {
        for (uint32_t entries = count(); entries > 0; entries = count()) {
            if (entries > LEVEL_FEW) {
                if (blockIdx.x == 0) {
                    clear_next_but_one();
                }
                visit_level(visitor, entries, global_thread() / 32, num_threads() / 32);
                ++level;
                grid_barrier(&control->barrier);
                continue;
            }
            if (blockIdx.x == 0) {
                for (; entries > 0 && entries <= LEVEL_FEW; entries = count()) {
                    __syncthreads();
                    clear_next_but_one();
                    visit_level(visitor, entries, threadIdx.x / 32, blockDim.x / 32);
                    ++level;
                    __threadfence();
                    __syncthreads();
                }
                if (threadIdx.x == 0) {
                    control->level = level;
                }
            }
            grid_barrier(&control->barrier);
            level = __ldcg(&control->level);
        }
        if (global_thread() == 0) {
            control->level = level;
        }
    }
};
