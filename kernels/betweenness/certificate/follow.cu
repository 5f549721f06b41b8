/* What the inner vertices of all shortest paths from WIDTH sources for each group weigh on average, see __init__.py.

   Method: rounds. In round r a row gets its values from the tails of its tight in-arcs, once all of these have theirs; without
   weights these are the rows of round r - 1, which are found here. A warp takes a row, and a lane a source, of which there are at
   most 32; a block takes a row of more than LONG_ROW arcs. `follow` counts paths as doubles, without weights, and fails where
   these overflow; `follow_logarithms` takes logarithms, whose sums keep the largest one apart. The order of arcs is free. Nothing
   is shared with the kernels that the certificate checks, apart from device.cuh.

   Encoding: row r of group g is at place g V + r; `done` and `fresh` have a bit for each source there, `paths` has WIDTH entries.
   `fresh` are those of the last round and of this one, in turn. */
#include "betweenness/certificate/sum.cuh"

#define AT_ONCE 2 // entries for which a lane waits at the same time

constexpr int BLOCKS = sizeof(ROW) > 4 && GROUP_BLOCKS > 3 ? 3 : GROUP_BLOCKS; // of a processor; more would spill registers

struct Control {
    uint32_t barrier;
    uint32_t found[3]; // whether rounds 0, 1 and 2, modulo 3, found a row
    uint32_t rounds;
    uint32_t failed; // whether a number of paths overflows
    double weight; // sum of the mean weights of all rows and sources
    uint64_t most; // bits of the largest logarithm, which is not negative
};
static_assert(sizeof(Control) == WORDS * 8, "WORDS is wrong");

struct Asked {
    const int64_t* offsets;
    const ROW* indices;
    const WEIGHT* weights;
    const ROW* long_rows;
    int64_t num_long;
    const double* drawn;
    const int64_t* sources;
    int64_t num_sources;
    int64_t num_rows;
    int64_t num_places;
    const SUM* distances;
    int64_t of_arcs; // whether in-arcs weigh what is drawn, instead of inner rows
    Paths* paths;
    uint32_t* done;
    uint32_t* fresh;
    Control* control;
};

/* Add the arcs `first, first + step, ..` of a row, and the 31 behind each, for the sources of bits `wanted`; lanes whose tails
   have no values yet become true in `waits`. */
template <bool LOGARITHMS>
__device__ __forceinline__ Sum<LOGARITHMS> sum_of_arcs(const Asked& asked, const uint32_t* last, int64_t group, ROW row,
    int64_t first, int64_t step, uint32_t wanted, bool& waits) {
    const int lane = threadIdx.x & 31;
    const bool weighted = LOGARITHMS && asked.distances;
    const int64_t begin = asked.offsets[row], end = asked.offsets[row + 1], number = group / asked.num_rows * WIDTH + lane;
    const ROW source = number < asked.num_sources && !asked.of_arcs ? (ROW)asked.sources[number] : (ROW)-1;
    const Paths* paths = asked.paths + group * WIDTH + lane;
    auto sum = Sum<LOGARITHMS>::none();
    for (int64_t base = begin + first; base < end; base += step) {
        const int64_t arc = base + lane;
        ROW tail = row;
        uint32_t bits = 0;
        if (arc < end && (arc == begin || asked.indices[arc - 1] != asked.indices[arc])) {
            tail = asked.indices[arc];
            bits = weighted ? (tail == row ? 0 : wanted) : last[group + tail] & wanted;
        }
        const double own = bits ? asked.drawn[asked.of_arcs ? arc : (int64_t)tail] : 0;
        uint32_t left = __ballot_sync(FULL_WARP, bits != 0);
        while (left && !weighted) {
            Paths found[AT_ONCE];
            double weighs[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int from = left ? __ffs(left) - 1 : 0;
                const ROW there = __shfl_sync(FULL_WARP, tail, from);
                const bool adds = left && (__shfl_sync(FULL_WARP, bits, from) >> lane & 1);
                weighs[i] = __shfl_sync(FULL_WARP, own, from);
                weighs[i] = there == source ? 0 : weighs[i];
                found[i] = {LOGARITHMS ? -1.0 / 0.0 : 0, 0};
                if (adds) {
                    found[i] = paths[(int64_t)there * WIDTH];
                }
                left &= left - 1;
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                if (!LOGARITHMS || found[i].number >= 0) {
                    sum.add_tail(found[i], weighs[i]);
                }
            }
        }
        for (; left; left &= left - 1) {
            const int from = __ffs(left) - 1;
            const ROW there = __shfl_sync(FULL_WARP, tail, from);
            const double weighs = __shfl_sync(FULL_WARP, own, from);
            if (!(wanted >> lane & 1)) {
                continue;
            }
            const SUM far = asked.distances[(group + row) * WIDTH + lane], near = asked.distances[(group + there) * WIDTH + lane];
            if (near < 0 || near >= far || near + (SUM)asked.weights[base + from] != far) {
                continue;
            }
            if ((asked.done[group + there] | last[group + there]) >> lane & 1) {
                sum.add_tail(paths[(int64_t)there * WIDTH], there == source ? 0 : weighs);
            } else {
                waits = true;
            }
        }
    }
    return sum;
}

template <bool LOGARITHMS>
__device__ __forceinline__ void follow_rounds(const Asked& asked) {
    __shared__ Sum<LOGARITHMS> of_warps[BLOCK / 32][32];
    __shared__ uint32_t waiting[BLOCK / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int64_t num_places = asked.num_places, num_rows = asked.num_rows;
    Control* control = asked.control;
    for (int64_t place = global_thread(); place < num_places; place += num_threads()) {
        const int64_t with = asked.num_sources - place / num_rows * WIDTH;
        uint32_t never = with < WIDTH ? ~0u << with : WIDTH < 32 ? ~0u << WIDTH % 32 : 0;
        for (int source = 0; asked.distances && source < WIDTH; source++) {
            never |= (uint32_t)(asked.distances[place * WIDTH + source] < 0) << source;
        }
        asked.done[place] = never;
        asked.fresh[place] = 0;
    }
    grid_barrier(&control->barrier);
    for (int64_t source = global_thread(); source < asked.num_sources; source += num_threads()) {
        const int64_t place = source / WIDTH * num_rows + asked.sources[source];
        asked.paths[place * WIDTH + source % WIDTH] = {LOGARITHMS ? 0.0 : 1.0, 0};
        atomicOr(&asked.fresh[place], 1u << source % WIDTH);
    }
    grid_barrier(&control->barrier);
    double weight = 0, most = 0;
    uint32_t round = 1;
    for (;; round++) {
        const uint32_t* last = asked.fresh + (round & 1 ? 0 : num_places);
        uint32_t* now = asked.fresh + (round & 1 ? num_places : 0);
        // by a warp; the bits of sources that got values
        const auto set = [&](int64_t place, uint32_t wanted, const Sum<LOGARITHMS>& sum, bool waits) {
            const bool got = (wanted >> lane & 1) && !waits && sum.paths > 0;
            if (got) {
                const Paths all = sum.all();
                asked.paths[place * WIDTH + lane] = all;
                weight += sum.weight / sum.paths;
                most = LOGARITHMS && all.number > most ? all.number : most;
                if (!(sum.weight < 1e300 && sum.paths < 1e300)) {
                    control->failed = 1;
                }
            }
            return __ballot_sync(FULL_WARP, got);
        };
        const auto finish = [&](int64_t place, uint32_t got) {
            asked.done[place] |= last[place]; // of which others read the union meanwhile, which stays the same
            now[place] = got;
            if (got) {
                control->found[round % 3] = 1;
            }
        };
        if (global_thread() == 0) {
            control->found[(round + 1) % 3] = 0;
        }
        for (int64_t item = blockIdx.x; item < asked.num_long * (num_places / num_rows); item += gridDim.x) {
            const ROW row = asked.long_rows[item % asked.num_long];
            const int64_t group = item / asked.num_long * num_rows, place = group + row;
            const uint32_t wanted = ~(asked.done[place] | last[place]);
            bool waits = false;
            auto sum = Sum<LOGARITHMS>::none();
            if (wanted) {
                sum = sum_of_arcs<LOGARITHMS>(asked, last, group, row, warp * 32, BLOCK, wanted, waits);
            }
            of_warps[warp][lane] = sum;
            const uint32_t bits = __ballot_sync(FULL_WARP, waits);
            if (lane == 0) {
                waiting[warp] = bits;
            }
            __syncthreads();
            if (warp == 0) {
                for (int other = 1; other < BLOCK / 32; other++) {
                    const Sum<LOGARITHMS> theirs = of_warps[other][lane];
                    sum.add(theirs.most, theirs.paths, theirs.weight);
                    waits |= waiting[other] >> lane & 1;
                }
                const uint32_t got = set(place, wanted, sum, waits);
                if (lane == 0) {
                    finish(place, got);
                }
            }
            __syncthreads();
        }
        // a warp looks at 32 rows at a time
        for (int64_t base = global_thread() - lane; base < num_places; base += num_threads()) {
            const int64_t place = base + lane < num_places ? base + lane : base, row = place % num_rows;
            const int64_t length = asked.offsets[row + 1] - asked.offsets[row];
            const bool mine = base + lane < num_places && length <= LONG_ROW;
            const uint32_t wanted = mine ? ~(asked.done[place] | last[place]) : 0;
            uint32_t taken = 0;
            for (uint32_t left = __ballot_sync(FULL_WARP, wanted && length); left; left &= left - 1) {
                const int of = __ffs(left) - 1;
                const int64_t shared = __shfl_sync(FULL_WARP, row, of);
                const uint32_t bits = __shfl_sync(FULL_WARP, wanted, of);
                bool waits = false;
                const auto sum = sum_of_arcs<LOGARITHMS>(asked, last, base + of - shared, (ROW)shared, 0, 32, bits, waits);
                const uint32_t got = set(base + of, bits, sum, waits);
                taken = lane == of ? got : taken;
            }
            if (mine) {
                finish(place, taken);
            }
        }
        grid_barrier(&control->barrier);
        if (!*(volatile uint32_t*)&control->found[round % 3]) {
            break;
        }
    }
    weight = sum_of_warp(weight);
    if (lane == 0) {
        atomicAdd(&control->weight, weight);
    }
    if (LOGARITHMS) {
        atomicMax((unsigned long long*)&control->most, (unsigned long long)__double_as_longlong(most));
    }
    if (global_thread() == 0) {
        control->rounds = round;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS) follow(const int64_t* offsets, const ROW* indices,
    const WEIGHT* weights, const ROW* long_rows, int64_t num_long, const double* drawn, const int64_t* sources,
    int64_t num_sources, int64_t num_rows, int64_t num_places, const SUM* distances, int64_t of_arcs,
    Paths* paths, uint32_t* done, uint32_t* fresh, Control* control) {
    follow_rounds<false>({offsets, indices, weights, long_rows, num_long, drawn, sources, num_sources, num_rows, num_places,
        distances, of_arcs, paths, done, fresh, control});
}

extern "C" __global__ void __launch_bounds__(BLOCK, 3) follow_logarithms(const int64_t* offsets, const ROW* indices,
    const WEIGHT* weights, const ROW* long_rows, int64_t num_long, const double* drawn, const int64_t* sources,
    int64_t num_sources, int64_t num_rows, int64_t num_places, const SUM* distances, int64_t of_arcs,
    Paths* paths, uint32_t* done, uint32_t* fresh, Control* control) {
    follow_rounds<true>({offsets, indices, weights, long_rows, num_long, drawn, sources, num_sources, num_rows, num_places,
        distances, of_arcs, paths, done, fresh, control});
}
