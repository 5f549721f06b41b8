/* Float sums of many trees, rounded once per arc from the sources outwards, as `sssp` defines them.

   A sweep over the hierarchy adds in another order. Its lengths, slightly raised, are upper bounds, which only arcs of shortest
   paths lower, or arcs that are as good but for rounding. An item is a line (parts.cuh) in which a length became smaller. In a
   round a warp takes an item and lowers what its arcs lead to, a lane for each tree. Whoever lowers a line that does not wait
   lists it for the next round. Addition is monotone, so any order ends with the smallest sums.
   SUM (double), WEIGHT, ROW: lengths.cuh. */
#include "trees/parts.cuh"

struct Items {
    int64_t* lists[2];
    uint64_t* counts;  /* of this round, the next one, the one before */
    uint32_t* waiting; /* a bit for each line */

    __device__ __forceinline__ void list(int64_t item, int round) const {
        const uint32_t bit = 1u << (item & 31);
        if (!(atomicOr(waiting + (item >> 5), bit) & bit)) {
            lists[(round + 1) & 1][atomicAdd(counts + (round + 1) % 3, (uint64_t)1)] = item;
        }
    }
};

/* Lower all lengths as far as the arcs do. `heads` are positions, `rows` the rows of all positions, `starts` the positions of the
   sources. `lists` has two entries for each line. */
extern "C" __global__ void __launch_bounds__(TREE_THREADS, 4) add_outwards(
    const int64_t* offsets, const ROW* heads, const WEIGHT* weights, const ROW* rows, int64_t num_rows, const ROW* starts,
    int64_t groups, double raised, double raised_by, Length* lengths, int64_t* lists, uint64_t* counts, uint32_t* waiting,
    uint32_t* barrier) {
    const int64_t lines = num_rows * groups;
    const Items items = {{lists, lists + lines}, counts, waiting};
    for (int64_t entry = global_thread(); entry < lines * 32; entry += num_threads()) {
        const double length = __longlong_as_double((int64_t)lengths[entry]);
        lengths[entry] = (Length)__double_as_longlong(length * raised + raised_by);
    }
    grid_barrier(barrier);
    for (int64_t tree = global_thread(); tree < groups * 32; tree += num_threads()) {
        const int64_t item = (int64_t)starts[tree] * groups + tree / 32;
        lengths[item * 32 + tree % 32] = 0;
        items.list(item, 5);
    }
    grid_barrier(barrier);
    for (int round = 0;; round = round == 5 ? 0 : round + 1) { /* of six: there are two lists and three counts */
        const int64_t count = (int64_t)__ldcg(counts + round % 3);
        if (count == 0) {
            return;
        }
        if (global_thread() == 0) {
            counts[(round + 2) % 3] = 0;
        }
        for (int64_t place = global_thread() >> 5; place < count; place += num_threads() >> 5) {
            const int64_t item = __ldcg(items.lists[round & 1] + place), row = rows[item / groups];
            if ((threadIdx.x & 31) == 0) {
                atomicAnd(waiting + (item >> 5), ~(1u << (item & 31)));
                __threadfence(); /* whoever lowers the line from here on lists it again */
            }
            __syncwarp();
            const Length length = __ldcg(lengths + item * 32 + (threadIdx.x & 31));
            for (int64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
                const int64_t beyond = (int64_t)heads[arc] * groups + item % groups;
                Length* const other = lengths + beyond * 32 + (threadIdx.x & 31);
                const Length total = plus(length, length_of(weights[arc]));
                const bool less = total < __ldcg(other);
                if (less) {
                    atomicMin(other, total);
                    __threadfence();
                }
                if (__any_sync(FULL_WARP, less) && (threadIdx.x & 31) == 0) {
                    items.list(beyond, round);
                }
            }
        }
        grid_barrier(barrier);
    }
}
