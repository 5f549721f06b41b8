/* The certificate of core numbers: a count of neighbours for each row, and the removal of rows; a warp takes a row.

   Arcs at both ends of a row are neighbours, repeats excepted, which are adjacent: an in-arc counts unless it repeats the one
   before, an out-arc also if the row has no in-arc from its head. No in-arcs are given of a symmetric graph. */
#include "gpu/device.cuh"

struct Arcs {
    const int64_t* out;
    const ROW* heads;
    const int64_t* into;
    const ROW* tails;
    const ROW* positions;

    __device__ __forceinline__ bool has_tail(int64_t row, ROW other) const {
        const ROW position = positions[other];
        const int64_t end = into[row + 1];
        const int64_t place = first_not(into[row], end, [&](int64_t arc) { return positions[tails[arc]] < position; });
        return place < end && tails[place] == other;
    }

    /* Call `take(neighbour, is_one)` by all lanes for each arc; a lane without a new neighbour passes false. */
    template <typename Take>
    __device__ __forceinline__ void neighbours_of(int64_t row, Take take) const {
        const int lane = threadIdx.x & 31;
        if (into) {
            for (int64_t base = into[row]; base < into[row + 1]; base += 32) {
                const int64_t arc = base + lane;
                const ROW other = arc < into[row + 1] ? tails[arc] : (ROW)row;
                take(other, other != row && (arc == into[row] || tails[arc - 1] != other));
            }
        }
        for (int64_t base = out[row]; base < out[row + 1]; base += 32) {
            const int64_t arc = base + lane;
            const ROW other = arc < out[row + 1] ? heads[arc] : (ROW)row;
            const bool is_one = other != row && (arc == out[row] || heads[arc - 1] != other);
            take(other, is_one && !(into && has_tail(row, other)));
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 4)
count_supports(const int64_t* out, const ROW* heads, const int64_t* into, const ROW* tails, const ROW* positions,
    const int64_t* core, int64_t num_own, int64_t* supports) {
    const Arcs arcs = {out, heads, into, tails, positions};
    for (int64_t row = global_thread() / 32; row < num_own; row += num_threads() / 32) {
        const int64_t own = core[row];
        int64_t found = 0;
        arcs.neighbours_of(row, [&](ROW other, bool is_one) { found += is_one && core[other] >= own; });
        found = sum_of_warp(found);
        if ((threadIdx.x & 31) == 0) {
            supports[row] = found;
        }
    }
}

/* `control`: the barrier, and the number of rows that were queued, which two barriers enclose each time that it is read; then
   whether the removal was given up, after more than `most_thin` rounds of few rows. */
extern "C" __global__ void __launch_bounds__(THREADS, 4)
remove_rows(const int64_t* out, const ROW* heads, const int64_t* into, const ROW* tails, const ROW* positions,
    const int64_t* core, int64_t num_own, int64_t* left, bool* removed, int64_t* debts, ROW* queue, int64_t most_thin,
    uint64_t* control) {
    const Arcs arcs = {out, heads, into, tails, positions};
    const int lane = threadIdx.x & 31;
    uint32_t* barrier = (uint32_t*)&control[0];
    for (int64_t base = global_thread() - lane; base < num_own; base += num_threads()) {
        const int64_t row = base + lane;
        const bool adds = row < num_own && !removed[row] && left[row] <= core[row];
        const uint64_t place = append_of_warp(&control[1], adds);
        if (adds) {
            removed[row] = true;
            queue[place] = (ROW)row;
        }
    }
    int64_t head = 0, thin = 0;
    while (true) {
        grid_barrier(barrier);
        const int64_t tail = *(volatile uint64_t*)&control[1];
        grid_barrier(barrier);
        if (head == tail) {
            break;
        }
        thin += tail - head < THIN_ROUND;
        if (thin > most_thin) {
            control[2] = 1;
            break;
        }
        for (int64_t item = head + global_thread() / 32; item < tail; item += num_threads() / 32) {
            const ROW row = queue[item];
            const int64_t own = core[row];
            arcs.neighbours_of(row, [&](ROW other, bool is_one) {
                bool adds = false;
                if (is_one && core[other] == own && other < num_own) {
                    adds = (int64_t)atomicAdd((unsigned long long*)&left[other], ~0ull) == own + 1;
                } else if (is_one && core[other] == own) {
                    atomicAdd((unsigned long long*)&debts[other - num_own], 1ull);
                }
                const uint64_t place = append_of_warp(&control[1], adds);
                if (adds) {
                    removed[other] = true;
                    queue[place] = other;
                }
            });
        }
        head = tail;
    }
}
