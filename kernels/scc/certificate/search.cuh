/* A breadth-first search whose queue holds chunks of arcs: a row, and the first of up to CHUNK of its arcs. */
#pragma once

#include "gpu/device.cuh"

#define GROUP 8

struct Chunk {
    int64_t row, first;
};

/* Search level by level; GROUP lanes read a chunk. Returns false if the search was given up, after more than `most_thin` levels
   of few chunks. */
template <typename Peeling>
__device__ bool search(Peeling peeling, bool waits, int64_t most_thin, uint32_t* barrier, unsigned long long* queued) {
    unsigned long long head = 0;
    int64_t thin = 0;
    for (int level = 0;; ++level) {
        grid_barrier(barrier);
        const unsigned long long tail = head + *(volatile unsigned long long*)&queued[level % 3];
        if (head == tail) {
            return true;
        }
        thin += tail - head < THIN_ROUND;
        if (thin > most_thin) {
            return false;
        }
        if (global_thread() == 0) {
            queued[(level + 2) % 3] = 0;
        }
        Peeling next = peeling;
        next.queue += tail;
        next.queued = &queued[(level + 1) % 3];
        for (unsigned long long place = head + global_thread() / GROUP; place < tail; place += num_threads() / GROUP) {
            const Chunk chunk = peeling.queue[place];
            const int64_t end = min(chunk.first + CHUNK, peeling.offsets[chunk.row + 1]);
            for (int64_t arc = chunk.first + threadIdx.x % GROUP; arc < end; arc += GROUP) {
                next.read(chunk.row, peeling.indices[arc], waits);
            }
        }
        head = tail;
    }
}
