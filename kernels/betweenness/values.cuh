/* Sums of values over tight arcs, for 32 sources at a time: a lane for each. A value that needs an exponent makes `count` fail.

   A group is 32 sources. Row r of group g has the place g V + r in arrays of masks, which have a bit for each source, and 32
   entries there in arrays of values and distances. There is a mask for each round: of the sources that reached the row in it. */
#pragma once

#include "betweenness/number.cuh"

#define AT_ONCE 6 // values for which a lane waits at the same time
constexpr int BLOCKS = sizeof(ROW) == 4 ? 4 : 3; // of a processor
enum Pass { FORWARD, BACKWARD, TO_ARCS }; // over tails, over heads, over heads with sums for each arc

struct Control {
    uint32_t barrier;
    uint32_t found[3]; // whether round r reached a row: word r mod 3
    uint32_t rounds; // the first one that found none
    uint32_t failed; // whether a value needs an exponent, or there are too many rounds
    int64_t no_length; // a row that an arc without length reaches, or -1
};
static_assert(sizeof(Control) == CONTROL_WORDS * 8, "CONTROL_WORDS is wrong");

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
    double* numbers;
    const SUM* distances; // of weighted paths
    uint32_t* visited; // bits of sources that reached the row before the last round, or never do
    double* partial; // of the parts of large rows
    uint32_t* waiting; // bits of sources of which a part waits
    double units; // in 1, and
    uint64_t* arcs; // sums of the dependencies of arcs, in pass TO_ARCS
};

/* Sum of the values of a row's neighbours by tight arcs `first..last - 1`, for the sources of bits `wanted`.

   Without weights, an arc is tight for the sources in the neighbour's `frontier`. `waits` becomes true in lanes where a tail has
   no value yet. */
template <Pass PASS>
__device__ double sum_of_part(const Side& side, const Places& all, const uint32_t* frontier, int64_t group, int64_t row,
    int64_t first, int64_t last, uint32_t wanted, bool& waits, Control* control) {
    const int lane = threadIdx.x & 31;
    const int64_t begin = side.offsets[row];
    const double* numbers = all.numbers + group * LANES + lane;
    double sum = 0;
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
        if (PASS == TO_ARCS) {
            for (; left; left &= left - 1) {
                const int from = __ffs(left) - 1;
                const int64_t there = __shfl_sync(FULL_WARP, other, from);
                bool tight = __shfl_sync(FULL_WARP, hit, from) >> lane & 1;
                if (all.distances && tight) {
                    const SUM far = all.distances[(group + there) * LANES + lane];
                    tight = far >= 0 && own + (SUM)side.weights[base + from] == far;
                }
                const double value = tight ? numbers[there * LANES] : 0;
                sum += value;
                const Value paths = {tight ? numbers[row * LANES] : 0, 0};
                const int64_t dependency = sum_of_warp(dependency_of(paths, {value, 0}, all.units));
                if (lane == 0 && dependency) {
                    atomicAdd((unsigned long long*)&all.arcs[base + from], (unsigned long long)dependency);
                }
            }
            continue;
        }
        while (left && !all.distances) {
            double values[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int from = left ? __ffs(left) - 1 : 0;
                const int64_t there = __shfl_sync(FULL_WARP, other, from);
                const uint32_t sources = __shfl_sync(FULL_WARP, hit, from);
                values[i] = left && (sources >> lane & 1) ? numbers[there * LANES] : 0;
                left &= left - 1;
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                sum += values[i];
            }
        }
        for (; left; left &= left - 1) {
            const int from = __ffs(left) - 1;
            const int64_t place = group + __shfl_sync(FULL_WARP, other, from);
            if (!(wanted >> lane & 1)) {
                continue;
            }
            const SUM theirs = all.distances[place * LANES + lane];
            const SUM tail = PASS == FORWARD ? theirs : own;
            const SUM head = PASS == FORWARD ? own : theirs;
            if (theirs < 0 || tail + (SUM)side.weights[base + from] != head) {
                continue;
            }
            if (tail == head) {
                control->no_length = row;
            } else if (PASS == FORWARD && !((all.visited[place] | frontier[place]) >> lane & 1)) {
                waits = true;
            } else {
                sum += all.numbers[place * LANES + lane];
            }
        }
    }
    return sum;
}

/* Write the sums of the parts of all large rows. `wanted(place)` gives the bits of a row's sources. */
template <Pass PASS, typename Wanted>
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
        double sum = 0;
        if (sources) {
            sum = sum_of_part<PASS>(side, all, frontier, group, row, first, last, sources, waits, control);
        }
        all.partial[item * LANES + lane] = sum;
        const uint32_t waiting = __ballot_sync(FULL_WARP, waits);
        if (lane == 0) {
            all.waiting[item] = waiting;
        }
    }
}

/* Call `take(entry, row, sources, sum, waits)` for each large row with sources, by a warp, with the sum of its parts, and
   `finish(place, taken)` for each large row, by a lane. */
template <typename Wanted, typename Take, typename Finish>
__device__ void take_large(const Side& side, const Places& all, Wanted wanted, Take take, Finish finish) {
    const int lane = threadIdx.x & 31;
    const int64_t num_parts = side.parts[side.num_large], groups = all.num_places / all.num_rows;
    for (int64_t item = global_thread() >> 5; item < side.num_large * groups; item += num_threads() >> 5) {
        const int64_t large = item % side.num_large, number = item / side.num_large;
        const int64_t row = side.large[large], place = number * all.num_rows + row;
        const uint32_t sources = wanted(place);
        uint32_t taken = 0;
        if (sources) {
            double sum = 0;
            bool waits = false;
            for (int64_t part = side.parts[large]; part < side.parts[large + 1]; part++) {
                const int64_t of_group = number * num_parts + part;
                sum += all.partial[of_group * LANES + lane];
                waits |= all.waiting[of_group] >> lane & 1;
            }
            taken = take(place * LANES + lane, row, sources, sum, waits);
        }
        __syncwarp();
        if (lane == 0) {
            finish(place, taken);
        }
    }
}

/* As `take_large`, for all other rows, of which a warp looks at 32 at a time. */
template <Pass PASS, typename Wanted, typename Take, typename Finish>
__device__ void take_rows(const Side& side, const Places& all, const uint32_t* frontier, Control* control, Wanted wanted,
    Take take, Finish finish) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < all.num_places; base += num_threads()) {
        const int64_t place = base + lane < all.num_places ? base + lane : base, row = place % all.num_rows;
        const int64_t first = side.offsets[row], last = side.offsets[row + 1];
        const bool mine = base + lane < all.num_places && last - first <= ARCS_OF_A_SUM;
        const uint32_t sources = mine ? wanted(place) : 0;
        uint32_t taken = 0;
        for (uint32_t left = __ballot_sync(FULL_WARP, sources && (PASS != FORWARD || last > first)); left; left &= left - 1) {
            const int of = __ffs(left) - 1;
            const int64_t shared = __shfl_sync(FULL_WARP, row, of), group = base + of - shared;
            const int64_t begin = side.offsets[shared], end = side.offsets[shared + 1];
            const uint32_t bits = __shfl_sync(FULL_WARP, sources, of);
            bool waits = false;
            const double sum = sum_of_part<PASS>(side, all, frontier, group, shared, begin, end, bits, waits, control);
            const uint32_t got = take((base + of) * LANES + lane, shared, bits, sum, waits);
            taken = lane == of ? got : taken;
        }
        if (mine) {
            finish(place, taken);
        }
    }
}

/* A round: take all rows, and wait until every thread of the grid has. */
template <Pass PASS, typename Wanted, typename Take, typename Finish>
__device__ void take_all(const Side& side, const Places& all, const uint32_t* frontier, Control* control, Wanted wanted,
    Take take, Finish finish) {
    take_rows<PASS>(side, all, frontier, control, wanted, take, finish);
    if (side.num_large) {
        sum_parts<PASS>(side, all, frontier, control, wanted);
        grid_barrier(&control->barrier);
        take_large(side, all, wanted, take, finish);
    }
    grid_barrier(&control->barrier);
}
