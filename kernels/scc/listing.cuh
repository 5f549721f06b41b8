/* The rows that the searches leave, and the arcs along which these may be connected: the second phase of scc.cu. */
#pragma once

#include "scc/parts.cuh"

#define ROW_COST 64 /* cost of reading a row, in arcs */
#define STAGED 128  /* arcs that a warp collects before it appends them */

/* Label the giant component by the pivot; `new_fore` becomes the rows that are left. */
__device__ void leave_rest(const Search& search, bool searched, ROW pivot, ROW* labels) {
    const int lane = threadIdx.x & 31;
    for (int64_t word = global_thread() >> 5; word < search.num_words; word += num_threads() >> 5) {
        const uint32_t open = search.open[word];
        const uint32_t giant = searched ? open & search.fore[word] & search.back[word] : 0;
        if (giant >> lane & 1) {
            labels[word * 32 + lane] = pivot;
        }
        if (lane == 0) {
            search.new_fore[word] = open & ~giant;
            if (!searched) {
                search.fore[word] = search.back[word] = 0;
            }
        }
    }
}

/* A warp's buffer in front of the list of arcs. */
struct Stage {
    Arc* held;
    int length;

    __device__ void flush(Arc* list, uint64_t* listed) {
        const int lane = threadIdx.x & 31;
        uint64_t first = 0;
        if (lane == 0 && length) {
            first = atomicAdd(listed, (uint64_t)length);
        }
        first = __shfl_sync(FULL_WARP, first, 0);
        __syncwarp();
        for (int k = lane; k < length; k += 32) {
            list[first + k] = held[k];
        }
        __syncwarp();
        length = 0;
    }

    __device__ void add(bool kept, ROW from, ROW to, Arc* list, uint64_t* listed) {
        const uint32_t lanes = __ballot_sync(FULL_WARP, kept);
        if (length + __popc(lanes) > STAGED) {
            flush(list, listed);
        }
        if (kept) {
            held[length + __popc(lanes & ((1u << (threadIdx.x & 31)) - 1))] = {from, to};
        }
        length += __popc(lanes);
    }
};

/* Whether a row is left and was reached by the same searches as one with these marks. */
__device__ __forceinline__ bool is_alike(const Search& search, ROW row, bool fore, bool back) {
    return has(search.new_fore, row) & (has(search.fore, row) == fore) & (has(search.back, row) == back);
}

/* Units of work, which warps share evenly: row r has ROW_COST units from `offsets[r] + ROW_COST * r` on, then one for each
   arc. */
__device__ __forceinline__ int64_t first_unit(const int64_t* offsets, int64_t row) { return offsets[row] + ROW_COST * row; }

/* The row of a unit of work, by a 32-ary search. All lanes of a warp have to call it. */
__device__ int64_t row_of(const int64_t* offsets, int64_t num_rows, int64_t unit) {
    int64_t low = 0, size = num_rows; /* the row lies in low..low + size - 1 */
    while (size > 1) {
        const int64_t step = (size + 31) / 32, row = low + (threadIdx.x & 31) * step;
        const uint32_t before = __ballot_sync(FULL_WARP, row < low + size && first_unit(offsets, row) <= unit);
        const int64_t skipped = (31 - __clz(before)) * step;
        low += skipped;
        size = size - skipped < step ? size - skipped : step;
    }
    return low;
}

/* List the arcs of the rows of one word, which is not empty, whose units are in `begin..stop-1`. */
__device__ void list_word(
    const Search& search, int64_t word, int64_t begin, int64_t stop, Stage& stage, Arc* list, uint64_t* listed) {
    const int lane = threadIdx.x & 31;
    const int64_t row = word * 32 + lane;
    const bool fore = search.fore[word] >> lane & 1, back = search.back[word] >> lane & 1;
    int64_t arc = 0, end = 0;
    if (search.new_fore[word] >> lane & 1) {
        arc = max(begin - ROW_COST * (row + 1), search.out.offsets[row]);
        end = min(stop - ROW_COST * (row + 1), search.out.offsets[row + 1]);
    }
    const bool is_long = end - arc > LANE_ARCS;
    for (int64_t k = arc; __any_sync(FULL_WARP, !is_long && k < end); k += BATCH / 2) {
        ROW to[BATCH / 2];
        bool kept[BATCH / 2];
        for (int i = 0; i < BATCH / 2; ++i) {
            kept[i] = !is_long && k + i < end;
            to[i] = kept[i] ? search.out.indices[k + i] : 0;
        }
        for (int i = 0; i < BATCH / 2; ++i) {
            kept[i] = kept[i] && is_alike(search, to[i], fore, back);
        }
        for (int i = 0; i < BATCH / 2; ++i) {
            stage.add(kept[i], (ROW)row, to[i], list, listed);
        }
    }
    uint32_t longs = __ballot_sync(FULL_WARP, is_long);
    for (; longs; longs &= longs - 1) {
        const int source = __ffs(longs) - 1;
        const int64_t first = __shfl_sync(FULL_WARP, arc, source), last = __shfl_sync(FULL_WARP, end, source);
        const bool fore_of = __shfl_sync(FULL_WARP, fore, source), back_of = __shfl_sync(FULL_WARP, back, source);
        for (int64_t k = first + lane; k - lane < last; k += 32) {
            const ROW to = k < last ? search.out.indices[k] : 0;
            stage.add(k < last && is_alike(search, to, fore_of, back_of), (ROW)(word * 32 + source), to, list, listed);
        }
    }
}

/* List the arcs between rows that are left and were reached by the same searches; every warp takes an equal share of the work. */
__device__ void list_arcs(const Search& search, Arc* list, uint64_t* listed) {
    __shared__ Arc held[THREADS / 32][STAGED];
    Stage stage{held[threadIdx.x >> 5], 0};
    const int lane = threadIdx.x & 31;
    const int64_t units = first_unit(search.out.offsets, search.num_rows), warps = num_threads() >> 5;
    const int64_t share = (units + warps - 1) / warps;
    const int64_t begin = (global_thread() >> 5) * share, stop = min(begin + share, units);
    if (begin >= stop) {
        return;
    }
    const int64_t last = row_of(search.out.offsets, search.num_rows, stop - 1) >> 5;
    for (int64_t tile = row_of(search.out.offsets, search.num_rows, begin) >> 5; tile <= last; tile += 32) {
        uint32_t words = __ballot_sync(FULL_WARP, tile + lane <= last && search.new_fore[tile + lane]);
        for (; words; words &= words - 1) {
            list_word(search, tile + __ffs(words) - 1, begin, stop, stage, list, listed);
        }
    }
    stage.flush(list, listed);
}
