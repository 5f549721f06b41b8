/* Weak components by hooking and jumping (Shiloach and Vishkin, 1982), as in VGL (Afanasyev, 2020). Every row starts as its own
   component. In rounds until nothing changes, every arc between two components hooks the greater one below the smaller (hook),
   and every row follows the hooks to their end (jump). All rows are active in every round; a row's arcs are read by one lane or,
   from 32 arcs on, by a warp.

   Repaired: a hook reads the components of both endpoints of an arc, so the out-arcs of a directed graph
   suffice. Of two simultaneous hooks of one component only one remains; the other arc hooks again in the next round.

   Encodings: `component[v]` is the position of a row of v's component, never greater than v's own, so at the end it is the
   smallest; then it becomes that row. One cooperative launch. */
#include "gpu/device.cuh"

struct Control {
    uint32_t barrier;
    uint32_t changed[3];
};

struct Components {
    ROW* component;
    const ROW* __restrict__ rows_by_id;

    __device__ __forceinline__ ROW of(ROW row) const { return __ldcg(component + row); }

    /* Returns whether the endpoints were in two components. */
    __device__ __forceinline__ bool hook(ROW row, ROW head) const {
        const ROW one = of(row), other = of(head);
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
    const int64_t* offsets, const ROW* indices, const ROW* positions, const ROW* rows_by_id, int64_t num_rows, ROW* labels,
    Control* control) {
    const Components components{labels, rows_by_id};
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        labels[row] = positions[row];
    }
    grid_barrier(&control->barrier);
    uint32_t changed = 1;
    for (int round = 0; changed; round = (round + 1) % 3) {
        bool hooked = false;
        for (int64_t row = global_thread(); row - lane < num_rows; row += num_threads()) {
            const int64_t begin = row < num_rows ? offsets[row] : 0, end = row < num_rows ? offsets[row + 1] : 0;
            for (int64_t arc = begin; arc < end && end - begin < WARP_ROW; ++arc) {
                hooked |= components.hook((ROW)row, indices[arc]);
            }
            for (uint32_t large = __ballot_sync(FULL_WARP, end - begin >= WARP_ROW); large; large &= large - 1) {
                const int of = __ffs(large) - 1;
                const int64_t last = __shfl_sync(FULL_WARP, end, of);
                for (int64_t arc = __shfl_sync(FULL_WARP, begin, of) + lane; arc < last; arc += 32) {
                    hooked |= components.hook((ROW)(row - lane + of), indices[arc]);
                }
            }
        }
        if (hooked) {
            control->changed[round] = 1;
        }
        if (global_thread() == 0) {
            control->changed[(round + 1) % 3] = 0;
        }
        grid_barrier(&control->barrier);
        changed = __ldcg(&control->changed[round]);
        for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
            components.jump((ROW)row);
        }
        grid_barrier(&control->barrier);
    }
    for (int64_t row = global_thread(); row < num_rows; row += num_threads()) {
        labels[row] = rows_by_id[labels[row]];
    }
}
