/* Steps of strong components on one shard, between two exchanges (kernels/scc/sharded/reach_cuda.py): peel off rows on no cycle,
   mark the rows that the pivot reaches, spread the least value along arcs, and keep the arcs inside classes.

   Encodings: rows are local rows, own rows first. `classes` are 0 for rows whose component is found; they lose all their arcs. */
#include "distributed/gpu/levels.cuh"

__device__ __forceinline__ int32_t add(int32_t* place, int32_t value) { return atomicAdd(place, value); }

__device__ __forceinline__ int64_t add(int64_t* place, int64_t value) {
    return (int64_t)atomicAdd((unsigned long long*)place, (unsigned long long)value);
}

/* Marks the heads of a row's arcs: one bit each, so that most reads of marks hit a cache. */
struct Mark {
    Side arcs;
    ROW num_own;
    uint32_t* marks;

    __device__ __forceinline__ Side side(bool) const { return arcs; }
    __device__ __forceinline__ void open(int64_t) {}
    __device__ __forceinline__ void visit(ROW head, const Levels& levels) const {
        const uint32_t bit = 1u << (head & 31);
        if ((__ldcg(marks + (head >> 5)) & bit) == 0 && (atomicOr(marks + (head >> 5), bit) & bit) == 0 && head < num_own) {
            levels.push(arcs, head, false, levels.level + 1);
        }
    }
};

/* `starts` are marked already and distinct. */
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS, 2)
mark(const int64_t* offsets, const ROW* indices, ROW num_own, const ROW* starts, int64_t num_starts, uint32_t* marks,
     Entry* entries, int64_t capacity, Control* control) {
    Mark mark = {{offsets, indices}, num_own, marks};
    Levels levels = {control, entries, capacity, control->level};
    for (int64_t i = global_thread(); i < num_starts; i += num_threads()) {
        levels.push(mark.arcs, starts[i], false, levels.level);
    }
    grid_barrier(&control->barrier);
    levels.run(mark);
}

/* Lowers the values of the heads of a row's arcs. A row is queued once per level: `stamps` has the level it was last queued
   for. */
struct Spread {
    Side arcs;
    ROW num_own;
    uint64_t* values;
    uint32_t* stamps;
    uint64_t value;

    __device__ __forceinline__ Side side(bool) const { return arcs; }
    __device__ __forceinline__ void open(int64_t row) { value = __ldcg(values + row); }
    __device__ __forceinline__ void visit(ROW head, const Levels& levels) const {
        if (value < __ldcg(values + head) && value < atomicMin((unsigned long long*)values + head, value) && head < num_own) {
            queue(head, levels, levels.level + 1);
        }
    }
    __device__ __forceinline__ void queue(ROW row, const Levels& levels, uint32_t level) const {
        if (atomicExch(stamps + row, level) != level) {
            levels.push(arcs, row, false, level);
        }
    }
};

extern "C" __global__ void __launch_bounds__(LEVEL_THREADS, 2)
spread(const int64_t* offsets, const ROW* indices, ROW num_own, const ROW* starts, int64_t num_starts, uint64_t* values,
       uint32_t* stamps, Entry* entries, int64_t capacity, Control* control) {
    Spread spread = {{offsets, indices}, num_own, values, stamps, 0};
    Levels levels = {control, entries, capacity, control->level};
    for (int64_t i = global_thread(); i < num_starts; i += num_threads()) {
        spread.queue(starts[i], levels, levels.level);
    }
    grid_barrier(&control->barrier);
    levels.run(spread);
}

/* Peels off rows. A row's out-arc is an in-arc of its head, whose in-degree falls by one, and likewise for in-arcs. Arcs that
   ghosts lose are counted for their owners. */
struct Peel {
    Side out, into;
    ROW num_own;
    ROW *degrees_out, *degrees_in;
    ROW *lost_out, *lost_in;
    uint32_t* gone;
    bool of_into;

    __device__ __forceinline__ Side side(bool into_side) const { return into_side ? into : out; }
    __device__ __forceinline__ void open(int64_t row) { of_into = row < 0; }
    __device__ __forceinline__ void visit(ROW head, const Levels& levels) const {
        if (head >= num_own) {
            add((of_into ? lost_out : lost_in) + (head - num_own), (ROW)1);
        } else if (add((of_into ? degrees_out : degrees_in) + head, (ROW)-1) == 1) {
            queue(head, levels, levels.level + 1);
        }
    }
    __device__ __forceinline__ void queue(ROW row, const Levels& levels, uint32_t level) const {
        if (atomicExch(gone + row, 1u) == 0) {
            levels.push(out, row, false, level);
            levels.push(into, row, true, level);
        }
    }
};

extern "C" __global__ void __launch_bounds__(LEVEL_THREADS, 2)
peel(const int64_t* out_offsets, const ROW* out_indices, const int64_t* into_offsets, const ROW* into_indices, ROW num_own,
     const ROW* starts, int64_t num_starts, ROW* degrees_out, ROW* degrees_in, ROW* lost_out, ROW* lost_in, uint32_t* gone,
     Entry* entries, int64_t capacity, Control* control) {
    Peel peel = {{out_offsets, out_indices}, {into_offsets, into_indices}, num_own, degrees_out, degrees_in, lost_out, lost_in,
                 gone, false};
    Levels levels = {control, entries, capacity, control->level};
    for (int64_t i = global_thread(); i < num_starts; i += num_threads()) {
        peel.queue(starts[i], levels, levels.level);
    }
    grid_barrier(&control->barrier);
    levels.run(peel);
}

extern "C" __global__ void subtract(const ROW* rows, const ROW* fewer, int64_t count, ROW* degrees) {
    for (int64_t i = global_thread(); i < count; i += num_threads()) {
        if (fewer[i] > 0) {
            add(degrees + rows[i], -fewer[i]);
        }
    }
}

/* Count, or with WRITE write to `kept`, the arcs whose endpoints have one class. `counts` [num_own] are zeros when counting, and
   the new offsets when writing. Rows of 32 arcs and more are read in chunks. */
template <bool WRITE>
__device__ void keep_arcs(Side arcs, ROW num_own, const uint32_t* __restrict__ classes, const ROW* chunk_rows,
                          const int64_t* chunk_firsts, int64_t num_chunks, int64_t* counts, ROW* kept) {
    const int lane = threadIdx.x & 31;
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        const int64_t first = arcs.offsets[v], end = arcs.offsets[v + 1];
        const uint32_t own = classes[v];
        if (own == 0 || end - first >= LEVEL_LANE_ARCS) {
            continue;
        }
        int64_t place = WRITE ? counts[v] : 0;
        for (int64_t arc = first; arc < end; ++arc) {
            const ROW head = arcs.indices[arc];
            if (classes[head] == own) {
                if (WRITE) {
                    kept[place] = head;
                }
                ++place;
            }
        }
        if (!WRITE) {
            counts[v] = place;
        }
    }
    for (int64_t chunk = global_thread() / 32; chunk < num_chunks; chunk += num_threads() / 32) {
        const ROW row = chunk_rows[chunk];
        const uint32_t own = classes[row];
        const int64_t first = chunk_firsts[chunk], end = own == 0 ? first : min(first + LEVEL_CHUNK, arcs.offsets[row + 1]);
        for (int64_t tile = first; tile < end; tile += 32) {
            const ROW head = tile + lane < end ? arcs.indices[tile + lane] : 0;
            const uint32_t same = __ballot_sync(FULL_WARP, tile + lane < end && classes[head] == own);
            int64_t place = 0;
            if (lane == 0 && same) {
                place = (int64_t)atomicAdd((unsigned long long*)counts + row, (unsigned long long)__popc(same));
            }
            place = __shfl_sync(FULL_WARP, place, 0);
            if (WRITE && same >> lane & 1) {
                kept[place + __popc(same & ((1u << lane) - 1))] = head;
            }
        }
    }
}

extern "C" __global__ void count_kept(
    const int64_t* offsets, const ROW* indices, ROW num_own, const uint32_t* classes, const ROW* chunk_rows,
    const int64_t* chunk_firsts, int64_t num_chunks, int64_t* counts) {
    keep_arcs<false>({offsets, indices}, num_own, classes, chunk_rows, chunk_firsts, num_chunks, counts, nullptr);
}

extern "C" __global__ void keep(
    const int64_t* offsets, const ROW* indices, ROW num_own, const uint32_t* classes, const ROW* chunk_rows,
    const int64_t* chunk_firsts, int64_t num_chunks, int64_t* starts, ROW* kept) {
    keep_arcs<true>({offsets, indices}, num_own, classes, chunk_rows, chunk_firsts, num_chunks, starts, kept);
}
