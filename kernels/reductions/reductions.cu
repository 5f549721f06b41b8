/* Reductions of k trees of V rows each, given as arrays [k, V]; kernels/reductions/__init__.py defines them.

   All sums are of integers, so atomic additions give the same bits in any order. A block takes a chunk of a tree's rows: it reads
   the chunk from memory once, and again for each further result from its cache.

   WEIGHT is the type of a distance, negative where a row is not reached. ROW is the type of a row number. */
#include "gpu/device.cuh"

/* Add the sum of all threads' values to `total`; all threads of the block call it. */
__device__ void add_of_block(int64_t value, int64_t* total) {
    const int64_t sum = sum_of_warp(value);
    if ((threadIdx.x & 31) == 0 && sum) {
        atomicAdd((unsigned long long*)total, (unsigned long long)sum);
    }
}

struct Chunk {
    int64_t tree, begin, end;
};

__device__ __forceinline__ int64_t chunks_of(int64_t num_rows) { return (num_rows + CHUNK - 1) / CHUNK; }

__device__ __forceinline__ Chunk chunk_of(int64_t number, int64_t num_rows) {
    const int64_t chunks = chunks_of(num_rows), begin = number % chunks * CHUNK;
    return {number / chunks, begin, begin + CHUNK < num_rows ? begin + CHUNK : num_rows};
}

/* `farthest` has the bits of the largest distance, which as a signed integer orders as floats that are not negative do. */
__device__ __forceinline__ int64_t ordered(double distance) { return __double_as_longlong(distance); }
__device__ __forceinline__ int64_t ordered(float distance) { return ordered((double)distance); }
__device__ __forceinline__ int64_t ordered(int64_t distance) { return distance; }
__device__ __forceinline__ int64_t ordered(int32_t distance) { return distance; }

extern "C" __global__ void measure(
    const WEIGHT* __restrict__ distances, int64_t num_trees, int64_t num_rows, int64_t* reached, int64_t* farthest, int64_t* high,
    int64_t* low) {
    for (int64_t item = blockIdx.x; item < num_trees * chunks_of(num_rows); item += gridDim.x) {
        const Chunk chunk = chunk_of(item, num_rows);
        int64_t count = 0, most = 0, upper = 0, lower = 0;
        for (int64_t row = chunk.begin + threadIdx.x; row < chunk.end; row += blockDim.x) {
            const WEIGHT distance = distances[chunk.tree * num_rows + row];
            if (distance >= 0) {
                const int64_t bits = ordered(distance);
                ++count;
                most = most < bits ? bits : most;
                upper += bits >> 32;
                lower += bits & 0xffffffff;
            }
        }
        add_of_block(count, reached + chunk.tree);
        add_of_block(upper, high + chunk.tree);
        add_of_block(lower, low + chunk.tree);
        for (int step = 16; step > 0; step >>= 1) {
            const int64_t other = __shfl_xor_sync(FULL_WARP, most, step);
            most = most < other ? other : most;
        }
        if ((threadIdx.x & 31) == 0) {
            atomicMax((long long*)(farthest + chunk.tree), (long long)most);
        }
    }
}

extern "C" __global__ void sum_floats(
    const WEIGHT* __restrict__ distances, const double* __restrict__ scales, int64_t num_trees, int64_t num_rows, int64_t* high,
    int64_t* low) {
    for (int64_t item = blockIdx.x; item < num_trees * chunks_of(num_rows); item += gridDim.x) {
        const Chunk chunk = chunk_of(item, num_rows);
        const double scale = scales[chunk.tree];
        int64_t upper = 0, lower = 0;
        for (int64_t row = chunk.begin + threadIdx.x; row < chunk.end; row += blockDim.x) {
            const WEIGHT distance = distances[chunk.tree * num_rows + row];
            if (distance >= 0) {
                const double scaled = distance * scale;
                const int64_t above = (int64_t)scaled;  // rounds down, because it is not negative
                upper += above;
                lower += (int64_t)((scaled - above) * (double)(1ll << BITS));
            }
        }
        add_of_block(upper, high + chunk.tree);
        add_of_block(lower, low + chunk.tree);
    }
}

/* `columns` are [num_columns, num_rows]; `found` is [num_trees, num_thresholds, 1 + num_columns]. */
extern "C" __global__ void count_within(
    const WEIGHT* __restrict__ distances, const WEIGHT* __restrict__ thresholds, const int64_t* __restrict__ columns,
    int64_t num_trees, int64_t num_rows, int64_t num_thresholds, int64_t num_columns, int64_t* found) {
    for (int64_t item = blockIdx.x; item < num_trees * chunks_of(num_rows); item += gridDim.x) {
        const Chunk chunk = chunk_of(item, num_rows);
        for (int64_t result = 0; result < num_thresholds * (1 + num_columns); ++result) {
            const int64_t column = result % (1 + num_columns);
            const WEIGHT threshold = thresholds[result / (1 + num_columns)];
            int64_t sum = 0;
            for (int64_t row = chunk.begin + threadIdx.x; row < chunk.end; row += blockDim.x) {
                const WEIGHT distance = distances[chunk.tree * num_rows + row];
                if (distance >= 0 && distance <= threshold) {
                    sum += column ? columns[(column - 1) * num_rows + row] : 1;
                }
            }
            add_of_block(sum, found + chunk.tree * num_thresholds * (1 + num_columns) + result);
        }
    }
}

/* `nearest` and `found` are [most, num_rows]; a row's facilities ascend by distance, and equally near ones as they were added. */
extern "C" __global__ void insert_nearest(
    const WEIGHT* __restrict__ distances, const int64_t* __restrict__ facilities, int64_t num_trees, int64_t num_rows,
    int64_t most, WEIGHT* nearest, int64_t* found) {
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        for (int64_t tree = 0; tree < num_trees; ++tree) {
            const WEIGHT distance = distances[tree * num_rows + row];
            int64_t place = most;
            while (distance >= 0 && place > 0) {
                const WEIGHT nearer = nearest[(place - 1) * num_rows + row];
                if (nearer >= 0 && nearer <= distance) {
                    break;
                }
                --place;
                if (place + 1 < most) {
                    nearest[(place + 1) * num_rows + row] = nearer;
                    found[(place + 1) * num_rows + row] = found[place * num_rows + row];
                }
            }
            if (distance >= 0 && place < most) {
                nearest[place * num_rows + row] = distance;
                found[place * num_rows + row] = facilities[tree];
            }
        }
    }
}

extern "C" __global__ void count_children(
    const ROW* __restrict__ predecessors, int64_t num_trees, int64_t num_rows, uint32_t* children) {
    for (int64_t entry = global_thread(); entry < num_trees * num_rows; entry += num_threads()) {
        if (predecessors[entry] >= 0) {
            atomicAdd(children + entry / num_rows * num_rows + predecessors[entry], 1u);
        }
    }
}

/* Add the paths that end at `row`, or came there, to the in-arc from `tail` and to `tail`; `paths` are those of one tree. */
__device__ __forceinline__ void load_arc(
    const int64_t* offsets, const ROW* indices, int64_t row, ROW tail, int64_t* paths, int64_t* loads) {
    const unsigned long long ending = atomicAdd((unsigned long long*)(paths + row), 0ull);
    int64_t arc = offsets[row];
    while (indices[arc] != tail) {
        ++arc;
    }
    if (ending) {
        atomicAdd((unsigned long long*)(loads + arc), ending);
        atomicAdd((unsigned long long*)(paths + tail), ending);
    }
}

/* From each leaf towards the source; the thread that arrives last at a vertex goes on with the paths of all its children. `paths`
   are those that end at each vertex; `arrived`, zero, counts children. */
extern "C" __global__ void load_arcs(
    const int64_t* __restrict__ offsets, const ROW* __restrict__ indices, const ROW* __restrict__ predecessors,
    const uint32_t* __restrict__ children, int64_t num_trees, int64_t num_rows, uint32_t* arrived, int64_t* paths,
    int64_t* loads) {
    for (int64_t entry = global_thread(); entry < num_trees * num_rows; entry += num_threads()) {
        const int64_t first = entry / num_rows * num_rows;
        int64_t row = entry - first;
        bool complete = children[entry] == 0;
        while (complete && predecessors[first + row] >= 0) {
            const ROW tail = predecessors[first + row];
            load_arc(offsets, indices, row, tail, paths + first, loads);
            __threadfence();
            complete = atomicAdd(arrived + first + tail, 1u) + 1 == children[first + tail];
            __threadfence();
            row = tail;
        }
    }
}

/* A vertex on a path: SEEN, DONE when its paths have been added to the arc before it, and below these bits the number of vertices
   behind it whose paths are still to come. */
#define SEEN 0x80000000u
#define DONE 0x40000000u

/* From the end of each path towards the source, to the first vertex that another path has seen. `ends` are entries of the trees;
   `state` and `paths` are zero. */
extern "C" __global__ void walk_paths(
    const int64_t* __restrict__ ends, const int64_t* __restrict__ amounts, int64_t num_paths, int64_t num_rows,
    const ROW* __restrict__ predecessors, uint32_t* state, int64_t* paths) {
    for (int64_t path = global_thread(); path < num_paths; path += num_threads()) {
        const int64_t first = ends[path] / num_rows * num_rows;
        int64_t row = ends[path] - first;
        atomicAdd((unsigned long long*)(paths + first + row), (unsigned long long)amounts[path]);
        while (!(atomicOr(state + first + row, SEEN) & SEEN) && predecessors[first + row] >= 0) {
            row = predecessors[first + row];
            atomicAdd(state + first + row, 1u);
        }
    }
}

/* The same way again; the thread that arrives last at a vertex, or starts there if none arrives, takes it. */
extern "C" __global__ void load_paths(
    const int64_t* __restrict__ offsets, const ROW* __restrict__ indices, const int64_t* __restrict__ ends, int64_t num_paths,
    int64_t num_rows, const ROW* __restrict__ predecessors, uint32_t* state, int64_t* paths, int64_t* loads) {
    for (int64_t path = global_thread(); path < num_paths; path += num_threads()) {
        const int64_t first = ends[path] / num_rows * num_rows;
        int64_t row = ends[path] - first;
        while (predecessors[first + row] >= 0 && atomicCAS(state + first + row, SEEN, SEEN | DONE) == SEEN) {
            __threadfence();
            const ROW tail = predecessors[first + row];
            load_arc(offsets, indices, row, tail, paths + first, loads);
            __threadfence();
            atomicSub(state + first + tail, 1u);
            row = tail;
        }
    }
}
