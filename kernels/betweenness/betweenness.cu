/* Betweenness from 32 sources for each group: numbers of shortest paths outwards, dependencies inwards.

   Method: Brandes (2001), as in cpu.py, whose sums have the same order and so the same bits. `count` proceeds in rounds; in round
   r each row sums the values of the neighbours that got theirs in round r - 1, or, with weights, gets its value once all tails
   of its tight in-arcs have one. `accumulate` takes the rounds in reverse. A warp takes a row, and a lane a source, so that an
   arc is read once for 32 sources; rows of many arcs are divided into parts, one for each warp. Every row is looked at in every
   round: only its bits are read if it has nothing to do.

   Encoding: see values.cuh. After `accumulate` took a row, its value is its coefficient, (1 + dependency) / paths. */
#include "betweenness/values.cuh"

/* Number of paths, and the round, of every row of all groups. `frontiers` are two arrays of masks. */
extern "C" __global__ void count(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const ROW* large,
    const int64_t* parts, int64_t num_large, const int64_t* sources, int64_t num_sources, int64_t num_rows, int64_t num_places,
    double* numbers, int32_t* exponents, int32_t* levels, const SUM* distances, uint32_t* visited, uint32_t* frontiers,
    Value* partial, uint32_t* waiting, Control* control) {
    const Side side = {offsets, indices, weights, large, parts, num_large};
    const Places all = {num_rows, num_places, {numbers, exponents}, levels, distances, visited, partial, waiting};
    const int lane = threadIdx.x & 31;
    for (int64_t place = global_thread() >> 5; place < num_places; place += num_threads() >> 5) {
        bool never = place / num_rows * LANES + lane >= num_sources;
        never |= distances && distances[place * LANES + lane] < 0;
        const uint32_t bits = __ballot_sync(FULL_WARP, never);
        levels[place * LANES + lane] = -1;
        if (lane == 0) {
            visited[place] = bits;
            frontiers[place] = 0;
        }
    }
    grid_barrier(&control->barrier);
    for (int64_t source = global_thread(); source < num_sources; source += num_threads()) {
        const int64_t place = source / LANES * num_rows + sources[source];
        const int64_t entry = place * LANES + source % LANES;
        all.values.set(entry, {1, 0}, control);
        levels[entry] = 0;
        atomicOr(&frontiers[place], 1u << source % LANES);
    }
    grid_barrier(&control->barrier);
    uint32_t round = 1;
    for (;; round++) {
        const uint32_t* frontier = frontiers + (round & 1 ? 0 : num_places);
        uint32_t* next = frontiers + (round & 1 ? num_places : 0);
        const auto wanted = [&](int64_t place) { return ~(visited[place] | frontier[place]); };
        const auto take = [&](int64_t group, int64_t row, uint32_t of_row, Value sum, bool waits) {
            const int64_t place = group + row, entry = place * LANES + lane;
            const bool got = (of_row >> lane & 1) && !waits && sum.number != 0;
            if (got) {
                all.values.set(entry, sum, control);
                levels[entry] = round;
            }
            const uint32_t bits = __ballot_sync(FULL_WARP, got);
            if (lane == 0) {
                visited[place] |= frontier[place];
                next[place] = bits;
                if (bits) {
                    control->found[round % 3] = 1;
                }
            }
        };
        if (global_thread() == 0) {
            control->found[(round + 1) % 3] = 0;
        }
        take_rows<true>(side, all, frontier, control, wanted, take);
        if (num_large) {
            sum_parts<true>(side, all, frontier, control, wanted);
            grid_barrier(&control->barrier);
            take_large(side, all, wanted, take);
        }
        grid_barrier(&control->barrier);
        if (!*(volatile uint32_t*)&control->found[round % 3]) {
            break;
        }
    }
    if (global_thread() == 0) {
        control->rounds = round;
    }
}

/* Add the dependencies of all sources to `totals`; there are `units` in 1. Nothing is added if `count` failed. */
extern "C" __global__ void accumulate(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const ROW* large,
    const int64_t* parts, int64_t num_large, int64_t num_rows, int64_t num_places, double* numbers, int32_t* exponents,
    int32_t* levels, const SUM* distances, uint32_t* visited, uint32_t* frontiers, Value* partial, uint32_t* waiting,
    double units, uint64_t* totals, Control* control) {
    const Side side = {offsets, indices, weights, large, parts, num_large};
    const Places all = {num_rows, num_places, {numbers, exponents}, levels, distances, visited, partial, waiting};
    const int lane = threadIdx.x & 31;
    if (control->overflow || control->no_length >= 0) {
        return;
    }
    for (int32_t round = (int32_t)control->rounds; round > 0; round--) {
        // of rows that got their values in this round; none in the last one
        const uint32_t* frontier = frontiers + (round & 1 ? num_places : 0);
        uint32_t* next = frontiers + (round & 1 ? 0 : num_places);
        const auto wanted = [&](int64_t place) {
            return __ballot_sync(FULL_WARP, levels[place * LANES + lane] == round - 1);
        };
        const auto take = [&](int64_t group, int64_t row, uint32_t of_row, Value sum, bool) {
            const int64_t entry = (group + row) * LANES + lane;
            if (lane == 0) {
                next[group + row] = of_row;
            }
            if (!of_row) {
                return;
            }
            int64_t dependency = 0;
            if (of_row >> lane & 1) {
                const Value paths = all.values.at(entry);
                if (round > 1 && sum.number > 0) {
                    dependency = dependency_of(paths, sum, units);
                }
                all.values.set(entry, coefficient_of(paths, sum, exponents), control);
            }
            dependency = sum_of_warp(dependency);
            if (lane == 0 && dependency) {
                atomicAdd((unsigned long long*)&totals[row], (unsigned long long)dependency);
            }
        };
        take_rows<false>(side, all, frontier, control, wanted, take);
        if (num_large) {
            sum_parts<false>(side, all, frontier, control, wanted);
            grid_barrier(&control->barrier);
            take_large(side, all, wanted, take);
        }
        grid_barrier(&control->barrier);
    }
}
