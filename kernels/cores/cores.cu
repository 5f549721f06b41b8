/* Core numbers on one GPU: rows are removed by their numbers of neighbours left, all in one cooperative launch.

   Method: at level k the rows with k neighbours left are queued, among those that no level has removed so far; these are
   listed again, without the queued ones, at each level. Each row in the queue takes one neighbour from each of its neighbours
   that have more than k, and queues those that have k then, which phase after phase empties the queue. What a row has left
   when it is queued is its core number. If no row is queued, the next level is the least number that a listed row has. Few
   queued rows share the warps, because later ones have most arcs; those of the last core are not read, once all are queued.
   Source: Batagelj, Zaversnik, An O(m) Algorithm for Cores Decomposition of Networks, arXiv cs/0310049, 2003; by levels:
   Kabir, Madduri, Parallel k-core Decomposition on Multicore Platforms, IPDPSW 2017.

   Encoding: `left` may for a moment be less than a row's core number, when two rows take the last neighbour; the second one
   gives it back before the phase ends. */
#include "cores/phases.cuh"

#define AT_ONCE 4 /* neighbours for which a lane waits at the same time */

__device__ __forceinline__ int32_t add_to(int32_t* place, int32_t value) { return atomicAdd(place, value); }

__device__ __forceinline__ int64_t add_to(int64_t* place, int64_t value) {
    return (int64_t)atomicAdd((unsigned long long*)place, (unsigned long long)value);
}

/* Take a neighbour from a row that had more than `level` of them; return whether it has `level` then. */
__device__ __forceinline__ bool takes_last(ROW* left, int64_t level) {
    const int64_t before = add_to(left, (ROW)-1);
    if (before <= level) {
        add_to(left, (ROW)1);
    }
    return before == level + 1;
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
remove_by_levels(const int64_t* offsets, const ROW* neighbours, int64_t num_rows, ROW* left, ROW* queue, ROW* listed,
    ROW* other_listed, int64_t most_thin, Control* control) {
    Phases phases(control);
    const int lane = threadIdx.x & 31;
    const int64_t first_warp = global_thread() / 32, num_warps = num_threads() / 32;
    int64_t level = 0, head = 0, thin = 0, number = num_rows; // of the listed rows
    for (bool all = true; number > 0; all = false) {
        for (int64_t base = first_warp * 32; base < number; base += num_warps * 32) {
            const int64_t item = base + lane;
            const ROW row = item >= number ? 0 : all ? (ROW)item : listed[item];
            const int64_t its_left = item < number ? left[row] : -1;
            const uint64_t queued = append_of_warp(&phases.current()->queued, its_left == level);
            if (its_left == level) {
                queue[head + queued] = row;
            }
            const uint64_t kept = append_of_warp(&phases.current()->kept, its_left > level);
            if (its_left > level) {
                other_listed[kept] = row;
            }
            int64_t least = its_left > level ? its_left : MOST;
            for (int step = 16; step > 0; step >>= 1) {
                const int64_t of_other = __shfl_xor_sync(FULL_WARP, least, step);
                least = of_other < least ? of_other : least;
            }
            if (lane == 0 && least < *(volatile int64_t*)&phases.current()->least) {
                atomicMin((long long*)&phases.current()->least, (long long)least);
            }
        }
        const Phase scanned = phases.end();
        ROW* swapped = listed;
        listed = other_listed;
        other_listed = swapped;
        number = scanned.kept;
        int64_t tail = head + scanned.queued;
        if (tail == head) {
            level = scanned.least;
            continue;
        }
        while (head < tail && tail < num_rows) {
            thin += tail - head < THIN_ROUND;
            if (thin > most_thin) {
                control->deep = 1;
                return;
            }
            const int64_t warps = num_warps > tail - head ? num_warps / (tail - head) : 1; // that share a row
            for (int64_t item = head + first_warp / warps; item < tail; item += num_warps / warps) {
                const ROW row = queue[item];
                const int64_t end = offsets[row + 1], step = warps * AT_ONCE * 32;
                for (int64_t base = offsets[row] + first_warp % warps * AT_ONCE * 32; base < end; base += step) {
                    ROW others[AT_ONCE], lefts[AT_ONCE];
#pragma unroll
                    for (int i = 0; i < AT_ONCE; i++) {
                        const int64_t arc = base + i * 32 + lane;
                        others[i] = arc < end ? neighbours[arc] : (ROW)-1;
                    }
#pragma unroll
                    for (int i = 0; i < AT_ONCE; i++) {
                        lefts[i] = others[i] < 0 ? 0 : *(volatile ROW*)&left[others[i]];
                    }
#pragma unroll
                    for (int i = 0; i < AT_ONCE; i++) {
                        const bool adds = lefts[i] > level && takes_last(&left[others[i]], level);
                        const uint64_t place = append_of_warp(&phases.current()->queued, adds);
                        if (adds) {
                            queue[tail + place] = others[i];
                        }
                    }
                }
            }
            head = tail;
            tail += phases.end().queued;
        }
        number = tail < num_rows ? number : 0;
        level++;
    }
}
