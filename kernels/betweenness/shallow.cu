/* Betweenness from 32 sources for each group, for graphs of few levels.

   Method: Brandes (2001), as in cpu.py, whose sums have the same order and so the same bits. `count` proceeds in rounds; in round
   r each row sums the values of the neighbours that got theirs in round r - 1, or, with weights, gets its value once all tails
   of its tight in-arcs have one. `accumulate` takes the rounds in reverse. A warp takes a row, and a lane a source, so that an
   arc is read once for 32 sources; rows of many arcs are divided into parts, one for each warp. Every row is looked at in every
   round: only its bits are read if it has nothing to do.

   `accumulate_arcs` adds the dependencies of arcs, paths of the tail times the coefficient of the head, instead of those of rows.

   Encoding: see values.cuh. After `accumulate` took a row, its value is its coefficient, (1 + dependency) / paths. */
#include "betweenness/values.cuh"

/* Number of paths, and the round, of every row of all groups. */
// spills: at most eight words on sm_80, sm_86 and sm_89; four blocks of a processor leave each thread 64 registers
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) count(const int64_t* offsets, const ROW* indices,
    const WEIGHT* weights, const ROW* large, const int64_t* parts, int64_t num_large, const int64_t* sources,
    int64_t num_sources, int64_t num_rows, int64_t num_places, double* numbers, const SUM* distances, uint32_t* visited,
    uint32_t* frontiers, double* partial, uint32_t* waiting, Control* control) {
    const Side side = {offsets, indices, weights, large, parts, num_large};
    const Places all = {num_rows, num_places, numbers, distances, visited, partial, waiting, 0, 0};
    const int lane = threadIdx.x & 31;
    for (int64_t place = global_thread(); place < num_places; place += num_threads()) {
        const int64_t with = num_sources - place / num_rows * LANES;
        uint32_t never = with < LANES ? ~0u << with : 0;
        for (int source = 0; distances && source < LANES; source++) {
            never |= (uint32_t)(distances[place * LANES + source] < 0) << source;
        }
        visited[place] = never;
        frontiers[place] = 0;
    }
    grid_barrier(&control->barrier);
    for (int64_t source = global_thread(); source < num_sources; source += num_threads()) {
        const int64_t place = source / LANES * num_rows + sources[source];
        numbers[place * LANES + source % LANES] = 1;
        atomicOr(&frontiers[place], 1u << source % LANES);
    }
    grid_barrier(&control->barrier);
    uint32_t round = 1;
    for (; round < MOST_ROUNDS; round++) {
        const uint32_t* frontier = frontiers + (round - 1) * num_places;
        uint32_t* next = frontiers + round * num_places;
        const auto wanted = [&](int64_t place) { return ~(visited[place] | frontier[place]); };
        const auto take = [&](int64_t entry, int64_t, uint32_t sources_of_row, double sum, bool waits) {
            const bool got = (sources_of_row >> lane & 1) && !waits && sum != 0;
            if (got) {
                numbers[entry] = sum;
                if (sum >= HIGH) {
                    control->failed = 1;
                }
            }
            return __ballot_sync(FULL_WARP, got);
        };
        const auto finish = [&](int64_t place, uint32_t got) {
            visited[place] |= frontier[place]; // of which others read the union meanwhile, which stays the same
            next[place] = got;
            if (got) {
                control->found[round % 3] = 1;
            }
        };
        if (global_thread() == 0) {
            control->found[(round + 1) % 3] = 0;
        }
        take_all<FORWARD>(side, all, frontier, control, wanted, take, finish);
        if (!*(volatile uint32_t*)&control->found[round % 3]) {
            break;
        }
    }
    if (global_thread() == 0) {
        control->rounds = round;
        control->failed |= round == MOST_ROUNDS;
    }
}

template <Pass PASS>
__device__ __forceinline__ void accumulate_rounds(
    const Side& side, const Places& all, const uint32_t* frontiers, uint64_t* totals, Control* control) {
    const int lane = threadIdx.x & 31;
    if (control->failed || control->no_length >= 0) {
        return;
    }
    // in the last round no row got a value, and before the first one the sources did, whose arcs count
    for (uint32_t round = control->rounds; round > (PASS == TO_ARCS ? 0 : 1); round--) {
        const uint32_t *frontier = frontiers + round * all.num_places, *own = frontier - all.num_places;
        const auto wanted = [&](int64_t place) { return own[place]; };
        const auto take = [&](int64_t entry, int64_t row, uint32_t sources_of_row, double sum, bool) {
            int64_t dependency = 0;
            if (sources_of_row >> lane & 1) {
                const Value paths = {all.numbers[entry], 0};
                dependency = dependency_of(paths, {sum, 0}, all.units);
                all.numbers[entry] = sum + 1 / paths.number;
            }
            if (PASS == TO_ARCS) {
                return 0u;
            }
            dependency = sum_of_warp(dependency);
            if (lane == 0 && dependency) {
                atomicAdd((unsigned long long*)&totals[row], (unsigned long long)dependency);
            }
            return 0u;
        };
        const auto finish = [](int64_t, uint32_t) {};
        take_all<PASS>(side, all, frontier, control, wanted, take, finish);
    }
}

/* Add the dependencies of all sources to `totals` of rows; there are `units` in 1. Nothing is added if `count` failed. */
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) accumulate(const int64_t* offsets, const ROW* indices,
    const WEIGHT* weights, const ROW* large, const int64_t* parts, int64_t num_large, int64_t num_rows, int64_t num_places,
    double* numbers, const SUM* distances, uint32_t* visited, const uint32_t* frontiers, double* partial, uint32_t* waiting,
    double units, uint64_t* totals, Control* control) {
    const Side side = {offsets, indices, weights, large, parts, num_large};
    const Places all = {num_rows, num_places, numbers, distances, visited, partial, waiting, units, 0};
    accumulate_rounds<BACKWARD>(side, all, frontiers, totals, control);
}

/* As `accumulate`, to `totals` of arcs. */
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) accumulate_arcs(const int64_t* offsets, const ROW* indices,
    const WEIGHT* weights, const ROW* large, const int64_t* parts, int64_t num_large, int64_t num_rows, int64_t num_places,
    double* numbers, const SUM* distances, uint32_t* visited, const uint32_t* frontiers, double* partial, uint32_t* waiting,
    double units, uint64_t* totals, Control* control) {
    const Side side = {offsets, indices, weights, large, parts, num_large};
    const Places all = {num_rows, num_places, numbers, distances, visited, partial, waiting, units, totals};
    accumulate_rounds<TO_ARCS>(side, all, frontiers, 0, control);
}
