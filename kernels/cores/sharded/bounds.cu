/* The local fixpoint of the bounds of core numbers, by the rule of kernels/cores/cpu.py, in one cooperative launch.

   Method: in a first phase each listed row, by a warp, counts the neighbours with its bound or more; if there are too few, a
   binary search finds its new bound, with a count for each step. In a second phase each row that was lowered lists the
   neighbours that it may have lost: their bounds are above its new one, and not above its old one.

   Encoding: bounds fall while others count; a row that counted too early is listed again. */
#include "cores/phases.cuh"

/* Whether a row has `least` neighbours with bounds of `least` or more; all lanes of a warp call it. */
__device__ __forceinline__ bool has(const ROW* neighbours, int64_t begin, int64_t end, const ROW* bounds, int64_t least) {
    const int lane = threadIdx.x & 31;
    int64_t found = 0;
    for (int64_t base = begin; base < end && found < least; base += 32) {
        const bool counts = base + lane < end && *(volatile ROW*)&bounds[neighbours[base + lane]] >= least;
        found += __popc(__ballot_sync(FULL_WARP, counts));
    }
    return found >= least;
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
lower_bounds(const int64_t* offsets, const ROW* neighbours, int64_t num_own, ROW* bounds, ROW* before, uint32_t* waiting,
    ROW* listed, ROW* other_listed, int64_t number, Control* control) {
    Phases phases(control);
    const int lane = threadIdx.x & 31;
    const int64_t first_warp = global_thread() / 32, num_warps = num_threads() / 32;
    while (number > 0) {
        for (int64_t item = first_warp; item < number; item += num_warps) {
            const ROW row = listed[item];
            const int64_t begin = offsets[row], end = offsets[row + 1], old = bounds[row];
            int64_t low = old;
            if (!has(neighbours, begin, end, bounds, old)) {
                low = 0; // enough neighbours have it, not those of `high`
                for (int64_t high = old; high - low > 1;) {
                    const int64_t middle = low + (high - low) / 2;
                    if (has(neighbours, begin, end, bounds, middle)) {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
            }
            __syncwarp();
            if (lane == 0) {
                before[row] = (ROW)old;
                *(volatile ROW*)&bounds[row] = (ROW)low;
                waiting[row] = 0;
            }
            __syncwarp();
        }
        phases.end();
        for (int64_t item = first_warp; item < number; item += num_warps) {
            const ROW row = listed[item];
            const ROW old = before[row], found = bounds[row];
            if (found == old) {
                continue;
            }
            const int64_t end = offsets[row + 1];
            for (int64_t base = offsets[row]; base < end; base += 32) {
                const int64_t other = base + lane < end ? neighbours[base + lane] : num_own;
                bool adds = false;
                if (other < num_own && bounds[other] > found && bounds[other] <= old) {
                    adds = atomicExch(&waiting[other], 1u) == 0;
                }
                const uint64_t place = append_of_warp(&phases.current()->queued, adds);
                if (adds) {
                    other_listed[place] = (ROW)other;
                }
            }
        }
        number = phases.end().queued;
        ROW* swapped = listed;
        listed = other_listed;
        other_listed = swapped;
    }
}
