/* A hand-written kernel for the methods of `top_down` and `bellman_ford_partial`: rounds over queues in one cooperative launch.

   Rows of 32 arcs or more are queued as chunks of 1024 arcs, of which a warp takes one; four lanes take a shorter row. WEIGHED
   is 0 for levels (VALUE is int), and 1 for distances (VALUE is the pattern of a double that is not negative, which compares as
   an integer).

   Source: Merrill, Garland, Grimshaw, Scalable GPU Graph Traversal (PPoPP 2012). */
#include "gpu/device.cuh"

#define CHUNK 1024
#define WIDE 32
#define LANES 4

struct Chunk {
    ROW row;
    int number;
};

struct Control {
    uint64_t barrier;
    uint64_t counts[3][2]; /* short rows and chunks of a round */
};

struct Queues {
    ROW* rows;
    Chunk* chunks;
    uint64_t* counts;
    uint32_t* bits;
    const int64_t* offsets;
};

__device__ __forceinline__ void put(const Queues& next, ROW row) {
    const int64_t degree = next.offsets[row + 1] - next.offsets[row];
    if (degree < WIDE) {
        next.rows[append(&next.counts[0])] = row;
        return;
    }
    const int chunks = (int)((degree + CHUNK - 1) / CHUNK);
    const uint64_t first = atomicAdd(&next.counts[1], (uint64_t)chunks);
    for (int number = 0; number < chunks; ++number) {
        next.chunks[first + number] = Chunk{row, number};
    }
}

/* Visit an arc from a row of value `own`. */
__device__ __forceinline__ void visit(
    const Queues& next, VALUE* values, VALUE own, ROW head, const WEIGHT* weights, int64_t arc) {
#if WEIGHED
    const VALUE sum = __double_as_longlong(__longlong_as_double(own) + (double)weights[arc]);
    if (sum < values[head] && sum < atomicMin(values + head, sum)) {
        const uint32_t bit = 1u << (head & 31);
        if ((next.bits[head >> 5] & bit) == 0 && (atomicOr(&next.bits[head >> 5], bit) & bit) == 0) {
            put(next, head);
        }
    }
#else
    if (values[head] < 0 && atomicCAS(values + head, -1, own + 1) == -1) {
        put(next, head);
    }
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) search(
    const int64_t* offsets, const ROW* indices, const WEIGHT* weights, int64_t num_rows, int64_t source, VALUE* values,
    uint32_t* bits, ROW* rows, Chunk* chunks, int64_t num_chunks, Control* control) {
    const int64_t words = (num_rows + 31) / 32;
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        values[row] = row == source ? 0 : WEIGHED ? __double_as_longlong(1.0 / 0.0) : -1;
    }
    if (global_thread() == 0) {
        put(Queues{rows, chunks, control->counts[0], bits, offsets}, (ROW)source);
    }
    grid_barrier((uint32_t*)&control->barrier);
    for (int64_t round = 0;; ++round) {
        const int64_t half = round & 1, other = half ^ 1;
        const int64_t shorts = __ldcg(&control->counts[round % 3][0]), wides = __ldcg(&control->counts[round % 3][1]);
        if (shorts + wides == 0) {
            return;
        }
        const Queues next{rows + other * num_rows, chunks + other * num_chunks, control->counts[(round + 1) % 3],
                          bits + other * words, offsets};
        uint32_t* spent = bits + half * words;
        if (global_thread() < 2) {
            control->counts[(round + 2) % 3][global_thread()] = 0;
        }
        const int lane = threadIdx.x & 31;
        for (int64_t item = global_thread() >> 5; item < wides; item += num_threads() >> 5) {
            const Chunk chunk = chunks[half * num_chunks + item];
            const int64_t begin = offsets[chunk.row] + (int64_t)chunk.number * CHUNK;
            const int64_t end = begin + CHUNK < offsets[chunk.row + 1] ? begin + CHUNK : offsets[chunk.row + 1];
            const VALUE own = WEIGHED ? values[chunk.row] : (VALUE)round;
            if (WEIGHED && lane == 0) {
                spent[chunk.row >> 5] = 0;
            }
#pragma unroll 2
            for (int64_t arc = begin + lane; arc < end; arc += 32) {
                visit(next, values, own, indices[arc], weights, arc);
            }
        }
        for (int64_t item = global_thread() / LANES; item < shorts; item += num_threads() / LANES) {
            const ROW row = rows[half * num_rows + item];
            const VALUE own = WEIGHED ? values[row] : (VALUE)round;
            if (WEIGHED && threadIdx.x % LANES == 0) {
                spent[row >> 5] = 0;
            }
            for (int64_t arc = offsets[row] + threadIdx.x % LANES; arc < offsets[row + 1]; arc += LANES) {
                visit(next, values, own, indices[arc], weights, arc);
            }
        }
        grid_barrier((uint32_t*)&control->barrier);
    }
}
