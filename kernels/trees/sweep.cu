/* Lengths of many trees over a hierarchy (PHAST): searches upwards from all sources, then one pass over all positions.

   Both go level by level, with a barrier of the grid between two levels. An item of the searches is a line (parts.cuh) that a
   source of its group reaches upwards. It is listed at its level, and set to FAR, by whoever touches it first. In one step, the
   items of a level touch what is above them, and those of the level below, whose lengths are final, lower what they touched the
   step before. The pass then writes every line once. In narrow levels, where a step's latency counts, STRIPES threads share the
   arcs of a part.

   Delling, Goldberg, Nowatzyk, Werneck: PHAST: Hardware-Accelerated Shortest Path Trees. JPDC 73(7), 2013.
   SUM, WEIGHT, ROW: lengths.cuh. */
#include "trees/parts.cuh"

#define ABREAST 4 /* arcs whose lines a thread loads at a time */

struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ others;
    const Length* __restrict__ weights;
};

struct Search {
    const int64_t* __restrict__ level_starts;
    int64_t num_levels, groups;
    Length* lengths;
    uint32_t* touched; /* a bit for each line */
    int64_t* queue;    /* items of level l from level_starts[l] * groups */
    uint64_t* queued;  /* number of items of each level */

    __device__ __forceinline__ Length* line(int64_t item) const { return lengths + item * 32; }

    __device__ __forceinline__ bool is_touched(int64_t item) const { return __ldcg(touched + (item >> 5)) >> (item & 31) & 1; }

    __device__ void touch(int64_t item) const {
        if (is_touched(item) || (atomicOr(touched + (item >> 5), 1u << (item & 31)) >> (item & 31) & 1)) {
            return;
        }
        for (int number = 0; number < LINE; ++number) {
            store_part(line(item), number, part_of(FAR));
        }
        const int64_t position = item / groups;
        const int64_t level = first_not(0, num_levels, [=](int64_t l) { return level_starts[l + 1] <= position; });
        queue[level_starts[level] * groups + (int64_t)atomicAdd(queued + level, (uint64_t)1)] = item;
    }
};

/* Touch all lines above those of a level, a warp for each. */
__device__ void discover(const Search& search, const Arcs& up, int64_t level) {
    const int64_t count = (int64_t)__ldcg(search.queued + level), first = search.level_starts[level] * search.groups;
    for (int64_t place = global_thread() >> 5; place < count; place += num_threads() >> 5) {
        const int64_t item = __ldcg(search.queue + first + place), position = item / search.groups;
        for (int64_t arc = up.offsets[position] + (threadIdx.x & 31); arc < up.offsets[position + 1]; arc += 32) {
            search.touch((int64_t)up.others[arc] * search.groups + item % search.groups);
        }
    }
}

/* Lower the lengths above those of a level, which are final; a lane for each tree, as many warps for an item as there are. */
__device__ void relax(const Search& search, const Arcs& up, int64_t level) {
    const int64_t count = (int64_t)__ldcg(search.queued + level), first = search.level_starts[level] * search.groups;
    const int64_t warps = num_threads() >> 5, share = count > 0 && warps > count ? warps / count : 1;
    for (int64_t place = global_thread() >> 5; place < count * share; place += warps) {
        const int64_t item = __ldcg(search.queue + first + place / share), position = item / search.groups;
        const Length length = __ldcg(search.line(item) + (threadIdx.x & 31));
        if (length >= FAR) {
            continue;
        }
        for (int64_t arc = up.offsets[position] + place % share; arc < up.offsets[position + 1]; arc += share) {
            Length* above = search.line((int64_t)up.others[arc] * search.groups + item % search.groups) + (threadIdx.x & 31);
            const Length total = plus(length, up.weights[arc]);
            if (total < __ldcg(above)) {
                atomicMin(above, total);
            }
        }
    }
}

/* Set the lengths of `count` positions of a level, the first ones from `begin` on or those listed there. */
__device__ void settle(const Search& search, const Arcs& down, const ROW* chosen, int64_t begin, int64_t count) {
    const int64_t warps = num_threads() >> 5, items = count * search.groups;
    const bool shared = items <= warps;
    const int lane = threadIdx.x & 31, number = lane % LINE, stripe = lane / LINE, step = shared ? STRIPES : 1;
    for (int64_t place = global_thread() >> 5; place * (shared ? 1 : STRIPES) < items; place += warps) {
        const int64_t of_level = shared ? place : place * STRIPES + stripe;
        const bool active = of_level < items;
        const int64_t listed = begin + of_level / search.groups, group = of_level % search.groups;
        const int64_t position = !active ? 0 : chosen == nullptr ? listed : (int64_t)chosen[listed];
        const int64_t item = position * search.groups + group;
        Part best = part_of(FAR);
        if (active && search.is_touched(item)) {
            best = load_part(search.line(item), number);
        }
        const int64_t end = active ? down.offsets[position + 1] : 0;
        for (int64_t arc = active ? down.offsets[position] + (shared ? stripe : 0) : 0; arc < end; arc += ABREAST * step) {
            Part near[ABREAST];
            Length weights[ABREAST];
#pragma unroll
            for (int i = 0; i < ABREAST; ++i) {
                if (arc + i * step < end) {
                    near[i] = load_part(search.line((int64_t)down.others[arc + i * step] * search.groups + group), number);
                    weights[i] = down.weights[arc + i * step];
                }
            }
#pragma unroll
            for (int i = 0; i < ABREAST; ++i) {
                if (arc + i * step < end) {
                    lower(best, near[i], weights[i]);
                }
            }
        }
        for (int apart = LINE; shared && apart < 32; apart <<= 1) {
#pragma unroll
            for (int i = 0; i < PART; ++i) {
                best.of[i] = smaller(best.of[i], __shfl_xor_sync(FULL_WARP, best.of[i], apart));
            }
        }
        if (active && (!shared || stripe == 0)) {
            store_part(search.line(item), number, best);
        }
    }
}

/* All lengths from the positions `starts`, one for each of groups * 32 trees. With `chosen`, those of the positions listed there:
   level l has its `chosen_starts[l]..chosen_starts[l + 1] - 1`. */
// spills: five words on sm_120; four blocks of a processor leave each thread 64 registers
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 4) sweep(
    const int64_t* up_offsets, const ROW* up_others, const Length* up_weights, const int64_t* down_offsets,
    const ROW* down_others, const Length* down_weights, const int64_t* level_starts, int64_t num_levels, const ROW* starts,
    int64_t groups, const ROW* chosen, const int64_t* chosen_starts, Length* lengths, uint32_t* touched, int64_t* queue,
    uint64_t* queued, uint32_t* barrier) {
    const Search search = {level_starts, num_levels, groups, lengths, touched, queue, queued};
    const Arcs up = {up_offsets, up_others, up_weights}, down = {down_offsets, down_others, down_weights};
    for (int64_t tree = global_thread(); tree < groups * 32; tree += num_threads()) {
        search.touch((int64_t)starts[tree] * groups + tree / 32);
    }
    grid_barrier(barrier);
    for (int64_t tree = global_thread(); tree < groups * 32; tree += num_threads()) {
        search.line((int64_t)starts[tree] * groups + tree / 32)[tree % 32] = 0;
    }
    for (int64_t level = num_levels; level >= 0; --level) {
        if (level > 0) {
            discover(search, up, level - 1);
        }
        if (level < num_levels) {
            relax(search, up, level);
        }
        grid_barrier(barrier);
    }
    for (int64_t level = 0; level < num_levels; ++level) {
        settle(search, down, chosen, chosen_starts[level], chosen_starts[level + 1] - chosen_starts[level]);
        grid_barrier(barrier);
    }
}

/* Mark all positions from which arcs lead down to marked ones. */
extern "C" __global__ void __launch_bounds__(TREE_THREADS) mark_above(
    const int64_t* offsets, const ROW* others, const int64_t* level_starts, int64_t num_levels, uint8_t* marked,
    uint32_t* barrier) {
    for (int64_t level = num_levels - 1; level >= 0; --level) {
        for (int64_t position = level_starts[level] + global_thread(); position < level_starts[level + 1];
             position += num_threads()) {
            if (__ldcg(marked + position)) {
                for (int64_t arc = offsets[position]; arc < offsets[position + 1]; ++arc) {
                    marked[others[arc]] = 1;
                }
            }
        }
        grid_barrier(barrier);
    }
}
