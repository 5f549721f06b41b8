/* Weak components by hooking and jumping (Shiloach and Vishkin, 1982), as VGL has it (Afanasyev, 2020): every row is its own
   component; then, in turns until nothing changes, every arc between two components hooks the greater one below the smaller
   (hook), and every row follows the hooks to the end (jump). All rows are active in every turn; a row's arcs are taken by a lane
   or by a warp, after its degree.

   Kept for comparison. Repaired: the hook tells of both ends, so the out-arcs of a directed graph are enough. Two hooks of one
   component at a time leave one of them: that is no defect, the other arc hooks again in the next turn.

   Encodings. component[v]: the rank (place by external id) of a row of v's component, never greater than v's own, so the last one
   is the smallest. In the end it becomes that row. One cooperative launch. ROW is the type of a row number. */
#include "gpu/device.cuh"

#define THREADS 512
#define SMALL_ROW 32

struct Control {
    uint32_t barrier;
    uint32_t changed[3];
};

struct Components {
    ROW* component;
    const ROW* __restrict__ rows_by_id;

    __device__ __forceinline__ ROW of(ROW row) const { return __ldcg(component + row); }

    /* Returns whether the ends were in two components. */
    __device__ __forceinline__ bool hook(ROW row, ROW far) const {
        const ROW one = of(row), other = of(far);
        if (one == other) {
            return false;
        }
        component[rows_by_id[max(one, other)]] = min(one, other);
        return true;
    }

    __device__ __forceinline__ void jump(ROW row) const {
        ROW now = of(row);
        for (ROW next = of(rows_by_id[now]); next != now; next = of(rows_by_id[now])) {
            now = next;
        }
        component[row] = now;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 2) hook_and_jump(
    const int64_t* offsets, const ROW* indices, const ROW* ranks, const ROW* rows_by_id, int64_t num_rows, ROW* labels,
    Control* control) {
    const Components components{labels, rows_by_id};
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        labels[row] = ranks[row];
    }
    grid_barrier(&control->barrier);
    uint32_t changed = 1;
    for (int turn = 0; changed; turn = (turn + 1) % 3) {
        bool hooked = false;
        for (int64_t row = global_thread(); row - lane < num_rows; row += num_threads()) {
            const int64_t begin = row < num_rows ? offsets[row] : 0, end = row < num_rows ? offsets[row + 1] : 0;
            for (int64_t arc = begin; arc < end && end - begin < SMALL_ROW; ++arc) {
                hooked |= components.hook((ROW)row, indices[arc]);
            }
            for (uint32_t large = __ballot_sync(FULL_WARP, end - begin >= SMALL_ROW); large; large &= large - 1) {
                const int of = __ffs(large) - 1;
                const int64_t last = __shfl_sync(FULL_WARP, end, of);
                for (int64_t arc = __shfl_sync(FULL_WARP, begin, of) + lane; arc < last; arc += 32) {
                    hooked |= components.hook((ROW)(row - lane + of), indices[arc]);
                }
            }
        }
        if (hooked) {
            control->changed[turn] = 1;
        }
        if (global_thread() == 0) {
            control->changed[(turn + 1) % 3] = 0;
        }
        grid_barrier(&control->barrier);
        changed = __ldcg(&control->changed[turn]);
        for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
            components.jump((ROW)row);
        }
        grid_barrier(&control->barrier);
    }
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        labels[row] = rows_by_id[labels[row]];
    }
}
