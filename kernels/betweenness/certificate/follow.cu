/* What the inner vertices of all shortest paths from 32 sources for each group weigh on average, see __init__.py.

   Method: rounds. In round r a row gets its values from the tails of its tight in-arcs, once all of these have theirs; without
   weights these are the rows of round r - 1, which are found here. A warp takes a row, and a lane a source; a block takes a row
   of more than LONG_ROW arcs. Numbers of paths are logarithms, and sums of them keep the largest one apart, so that the order of
   arcs is free. Nothing is shared with the kernels that the certificate checks, apart from device.cuh.

   Encoding: row r of group g is at place g V + r; `done` and `fresh` have a bit for each source there, `logarithms` and `means`
   WIDTH entries. `fresh` are those of the last round and of this one, in turn. */
#include "betweenness/certificate/sum.cuh"

/* `control` is the barrier's word, whether rounds 0, 1 and 2, modulo 3, found a row, and the number of rounds. */
extern "C" __global__ void follow(const int64_t* offsets, const ROW* indices, const WEIGHT* weights, const ROW* long_rows,
    int64_t num_long, const double* drawn, const int64_t* sources, int64_t num_sources, int64_t num_rows, int64_t num_places,
    const SUM* distances, double* logarithms, double* means, uint32_t* done, uint32_t* fresh, uint32_t* control) {
    __shared__ Sum of_warps[BLOCK / 32][WIDTH];
    __shared__ uint32_t waiting[BLOCK / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int64_t place = global_thread() >> 5; place < num_places; place += num_threads() >> 5) {
        const int64_t source = place / num_rows * WIDTH + lane, entry = place * WIDTH + lane;
        const bool is_source = source < num_sources && sources[source] == place % num_rows;
        const bool never = source >= num_sources || (distances && distances[entry] < 0);
        logarithms[entry] = is_source ? 0 : -1.0 / 0.0;
        means[entry] = 0;
        const uint32_t bits = __ballot_sync(FULL_WARP, is_source), out_of = __ballot_sync(FULL_WARP, never);
        if (lane == 0) {
            done[place] = out_of;
            fresh[place] = bits;
        }
    }
    grid_barrier(control);
    uint32_t round = 1;
    for (;; round++) {
        const uint32_t* last = fresh + (round & 1 ? 0 : num_places);
        uint32_t* now = fresh + (round & 1 ? num_places : 0);
        // adds arcs `first, first + step, ..` and the 31 behind each; lanes whose tails have no values yet become true in `waits`
        const auto add_arcs = [&](int64_t place, int64_t first, int64_t step, uint32_t wanted, Sum& sum, bool& waits) {
            const int64_t row = place % num_rows, group = place - row, begin = offsets[row], end = offsets[row + 1];
            const int64_t start = place / num_rows * WIDTH + lane;
            const int64_t own_source = start < num_sources ? sources[start] : -1;
            for (int64_t base = begin + first; base < end; base += step) {
                const int64_t arc = base + lane;
                ROW tail = (ROW)row;
                uint32_t bits = 0;
                if (arc < end && (arc == begin || indices[arc - 1] != indices[arc])) {
                    tail = indices[arc];
                    bits = distances ? (tail == (ROW)row ? 0 : wanted) : last[group + tail] & wanted;
                }
                for (uint32_t left = __ballot_sync(FULL_WARP, bits != 0); left; left &= left - 1) {
                    const int from = __ffs(left) - 1;
                    const int64_t there = __shfl_sync(FULL_WARP, tail, from);
                    bool tight = __shfl_sync(FULL_WARP, bits, from) >> lane & 1;
                    const int64_t entry = (group + there) * WIDTH + lane;
                    if (distances && tight) {
                        const SUM far = distances[place * WIDTH + lane], near = distances[entry];
                        tight = near >= 0 && near < far && near + (SUM)weights[base + from] == far;
                        if (tight && !((done[group + there] | last[group + there]) >> lane & 1)) {
                            waits = true;
                            tight = false;
                        }
                    }
                    if (tight) {
                        sum.add(logarithms[entry], 1, means[entry] + (there == own_source ? 0 : drawn[there]));
                    }
                }
            }
        };
        // by a warp
        const auto set = [&](int64_t place, uint32_t wanted, Sum sum, bool waits) {
            const bool got = (wanted >> lane & 1) && !waits && sum.paths > 0;
            if (got) {
                logarithms[place * WIDTH + lane] = sum.most + log(sum.paths);
                means[place * WIDTH + lane] = sum.weight / sum.paths;
            }
            const uint32_t bits = __ballot_sync(FULL_WARP, got);
            if (lane == 0) {
                done[place] |= last[place];
                now[place] = bits;
                if (bits) {
                    control[1 + round % 3] = 1;
                }
            }
        };
        if (global_thread() == 0) {
            control[1 + (round + 1) % 3] = 0;
        }
        for (int64_t item = blockIdx.x; item < num_long * (num_places / num_rows); item += gridDim.x) {
            const int64_t place = item / num_long * num_rows + long_rows[item % num_long];
            const uint32_t wanted = ~(done[place] | last[place]);
            Sum sum = {-1.0 / 0.0, 0, 0};
            bool waits = false;
            if (wanted) {
                add_arcs(place, warp * 32, BLOCK, wanted, sum, waits);
            }
            of_warps[warp][lane] = sum;
            const uint32_t bits = __ballot_sync(FULL_WARP, waits);
            if (lane == 0) {
                waiting[warp] = bits;
            }
            __syncthreads();
            if (warp == 0) {
                for (int other = 1; other < BLOCK / 32; other++) {
                    const Sum theirs = of_warps[other][lane];
                    sum.add(theirs.most, theirs.paths, theirs.weight);
                    waits |= waiting[other] >> lane & 1;
                }
                set(place, wanted, sum, waits);
            }
            __syncthreads();
        }
        for (int64_t place = global_thread() >> 5; place < num_places; place += num_threads() >> 5) {
            const int64_t row = place % num_rows;
            if (offsets[row + 1] - offsets[row] > LONG_ROW) {
                continue;
            }
            const uint32_t wanted = ~(done[place] | last[place]);
            Sum sum = {-1.0 / 0.0, 0, 0};
            bool waits = false;
            if (wanted) {
                add_arcs(place, 0, 32, wanted, sum, waits);
            }
            set(place, wanted, sum, waits);
        }
        grid_barrier(control);
        if (!*(volatile uint32_t*)&control[1 + round % 3]) {
            break;
        }
    }
    if (global_thread() == 0) {
        control[4] = round;
    }
}
