/* A breadth-first search whose queue holds pieces of rows: a row, and the first of up to CHUNK of its arcs. */
#pragma once

#include "gpu/device.cuh"

#define CHUNK 256
#define GROUP 8

struct Piece {
    int64_t row, first;
};

/* Search level by level; a few lanes read a piece of the queue. */
template <typename Peeling>
__device__ void search(Peeling peeling, bool waits, uint32_t* barrier, unsigned long long* queued) {
    unsigned long long head = 0;
    for (int level = 0;; ++level) {
        grid_barrier(barrier);
        const unsigned long long tail = head + *(volatile unsigned long long*)&queued[level % 3];
        if (head == tail) {
            return;
        }
        if (global_thread() == 0) {
            queued[(level + 2) % 3] = 0;
        }
        Peeling next = peeling;
        next.queue += tail;
        next.queued = &queued[(level + 1) % 3];
        for (unsigned long long place = head + global_thread() / GROUP; place < tail; place += num_threads() / GROUP) {
            const Piece piece = peeling.queue[place];
            const int64_t end = min(piece.first + CHUNK, peeling.offsets[piece.row + 1]);
            for (int64_t arc = piece.first + threadIdx.x % GROUP; arc < end; arc += GROUP) {
                next.read(piece.row, peeling.indices[arc], waits);
            }
        }
        head = tail;
    }
}
