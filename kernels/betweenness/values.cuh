/* Values of unlimited exponent, and their sums over tight arcs, for 32 sources at a time: a lane for each.

   A group is 32 sources. Row r of group g has the place g V + r in arrays of masks, which have a bit for each source, and 32
   entries there in arrays of values, levels and distances. */
#pragma once

#include "betweenness/number.cuh"

#define AT_ONCE 4 // numbers for which a lane waits at the same time

struct Control {
    uint32_t barrier;
    uint32_t found[3]; // whether round r reached a row: word r mod 3
    uint32_t rounds; // after which no row is left
    uint32_t overflow; // whether a value needs an exponent, and there are none
    int64_t no_length; // a row that an arc without length reaches, or -1
};

/* Values of all places; without exponents where none is needed. */
struct Values {
    double* numbers;
    int32_t* exponents;

    __device__ __forceinline__ Value at(int64_t entry) const {
        return {numbers[entry], exponents ? exponents[entry] : 0};
    }

    __device__ __forceinline__ void set(int64_t entry, Value value, Control* control) const {
        if (exponents) {
            exponents[entry] = value.exponent;
        } else if (value.exponent != 0) {
            control->overflow = 1;
        }
        numbers[entry] = value.number;
    }
};

/* Arcs of one direction. Rows of more than ARCS_OF_A_SUM arcs are `large`; row i of these has the parts from `parts[i]` on. */
struct Side {
    const int64_t* offsets;
    const ROW* indices;
    const WEIGHT* weights;
    const ROW* large;
    const int64_t* parts;
    int64_t num_large;
};

/* What all rows of all groups have. */
struct Places {
    int64_t num_rows;
    int64_t num_places;
    Values values;
    int32_t* levels; // -1: not reached
    const SUM* distances; // of weighted paths
    uint32_t* visited; // bits of sources that reached the row before the last round, or never do
    Value* partial; // of the parts of large rows
    uint32_t* waiting; // bits of sources of which a part waits
};

/* Sum of the values of a row's neighbours by tight arcs `first..last - 1`, for the sources of bits `wanted`.

   Without weights, an arc is tight for the sources in the neighbour's `frontier`. `waits` becomes true in lanes where a tail has
   no value yet. */
template <bool FORWARD>
__device__ Value sum_of_part(const Side& side, const Places& all, const uint32_t* frontier, int64_t group, int64_t row,
    int64_t first, int64_t last, uint32_t wanted, bool& waits, Control* control) {
    const int lane = threadIdx.x & 31;
    const int64_t begin = side.offsets[row];
    Value sum = {0, 0};
    const SUM own = all.distances ? all.distances[(group + row) * LANES + lane] : 0;
    for (int64_t base = first; base < last; base += LANES) {
        const int64_t arc = base + lane;
        ROW other = (ROW)row;
        uint32_t hit = 0;
        if (arc < last) {
            other = side.indices[arc];
            if (arc == begin || side.indices[arc - 1] != other) {
                hit = wanted & (!all.distances ? frontier[group + other] : other != (ROW)row ? ~0u : 0);
            }
        }
        uint32_t left = __ballot_sync(FULL_WARP, hit != 0);
        while (left && !all.distances && !all.values.exponents) {
            double numbers[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int from = left ? __ffs(left) - 1 : LANES - 1;
                const int64_t place = group + __shfl_sync(FULL_WARP, other, from);
                const uint32_t sources = __shfl_sync(FULL_WARP, hit, from);
                numbers[i] = left && (sources >> lane & 1) ? all.values.numbers[place * LANES + lane] : 0;
                left &= left - 1;
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                sum.number += numbers[i];
            }
        }
        for (; left; left &= left - 1) {
            const int from = __ffs(left) - 1;
            const int64_t place = group + __shfl_sync(FULL_WARP, other, from);
            const uint32_t sources = __shfl_sync(FULL_WARP, hit, from);
            bool adds = sources >> lane & 1;
            if (all.distances && adds) {
                const SUM theirs = all.distances[place * LANES + lane];
                const SUM tail = FORWARD ? theirs : own;
                const SUM head = FORWARD ? own : theirs;
                adds = theirs >= 0 && tail + (SUM)side.weights[base + from] == head;
                if (adds && tail == head) {
                    control->no_length = row;
                    adds = false;
                }
                if (FORWARD && adds && !((all.visited[place] | frontier[place]) >> lane & 1)) {
                    waits = true;
                    adds = false;
                }
            }
            if (adds) {
                add(sum, all.values.at(place * LANES + lane));
                scale_down(sum);
            }
        }
    }
    scale_down(sum); // as it has no exponent otherwise
    return sum;
}

/* Write the sums of the parts of all large rows. `wanted(place)` gives the bits of a row's sources. */
template <bool FORWARD, typename Wanted>
__device__ void sum_parts(const Side& side, const Places& all, const uint32_t* frontier, Control* control, Wanted wanted) {
    const int lane = threadIdx.x & 31;
    const int64_t num_parts = side.num_large ? side.parts[side.num_large] : 0;
    const int64_t groups = all.num_places / all.num_rows;
    for (int64_t item = global_thread() >> 5; item < num_parts * groups; item += num_threads() >> 5) {
        const int64_t part = item % num_parts, group = item / num_parts * all.num_rows;
        const int64_t large = first_not(0, side.num_large, [&](int64_t i) { return side.parts[i + 1] <= part; });
        const int64_t row = side.large[large];
        const int64_t first = side.offsets[row] + (part - side.parts[large]) * ARCS_OF_A_SUM;
        const int64_t end = side.offsets[row + 1];
        const int64_t last = first + ARCS_OF_A_SUM < end ? first + ARCS_OF_A_SUM : end;
        const uint32_t sources = wanted(group + row);
        bool waits = false;
        Value sum = {0, 0};
        if (sources) {
            sum = sum_of_part<FORWARD>(side, all, frontier, group, row, first, last, sources, waits, control);
        }
        all.partial[item * LANES + lane] = sum;
        const uint32_t waiting = __ballot_sync(FULL_WARP, waits);
        if (lane == 0) {
            all.waiting[item] = waiting;
        }
    }
}

/* Call `take(group, row, sources, sum, waits)` for each large row, by a warp, with the sum of its parts. */
template <typename Wanted, typename Take>
__device__ void take_large(const Side& side, const Places& all, Wanted wanted, Take take) {
    const int lane = threadIdx.x & 31;
    const int64_t num_parts = side.num_large ? side.parts[side.num_large] : 0;
    const int64_t groups = all.num_places / all.num_rows;
    for (int64_t item = global_thread() >> 5; item < side.num_large * groups; item += num_threads() >> 5) {
        const int64_t large = item % side.num_large, number = item / side.num_large, group = number * all.num_rows;
        Value sum = {0, 0};
        bool waits = false;
        for (int64_t part = side.parts[large]; part < side.parts[large + 1]; part++) {
            const int64_t of_group = number * num_parts + part;
            add(sum, all.partial[of_group * LANES + lane]);
            scale_down(sum);
            waits |= all.waiting[of_group] >> lane & 1;
        }
        take(group, side.large[large], wanted(group + side.large[large]), sum, waits);
    }
}

/* Call `take` as `take_large` for all other rows. */
template <bool FORWARD, typename Wanted, typename Take>
__device__ void take_rows(const Side& side, const Places& all, const uint32_t* frontier, Control* control, Wanted wanted,
    Take take) {
    for (int64_t place = global_thread() >> 5; place < all.num_places; place += num_threads() >> 5) {
        const int64_t row = place % all.num_rows, group = place - row;
        const int64_t first = side.offsets[row], last = side.offsets[row + 1];
        if (last - first > ARCS_OF_A_SUM) {
            continue;
        }
        const uint32_t sources = wanted(place);
        Value sum = {0, 0};
        bool waits = false;
        if (sources) {
            sum = sum_of_part<FORWARD>(side, all, frontier, group, row, first, last, sources, waits, control);
        }
        take(group, row, sources, sum, waits);
    }
}
