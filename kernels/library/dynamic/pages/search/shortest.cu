/* Shortest paths on slotted pages, with a near and a far pile.

   `shorten`: rows whose length has become smaller and is below a limit are relaxed, round by round; the others are put off. When
   no row is left, the limit moves beyond the least length that was put off, and the rows below it are taken from the pile. One
   cooperative launch does all rounds. `find_tails` then finds the smallest nearer tail of a tight arc to each row; rows that only
   tight arcs of length zero reach take theirs from `follow_flat_arcs`, a breadth-first search along such arcs.

   WEIGHT is the type of weights, SUM that of their sums (kernels/paths/lengths.cuh). SEARCH_THREADS, SHORTEST_WORDS, NEGATIVE,
   BEYOND: constants.py.

   Davidson, Baxter, Garland, Owens: Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths (IPDPS 2014). */
#include "library/dynamic/pages/search/levels.cuh"
#include "library/dynamic/pages/search/lists.cuh"
#include "paths/lengths.cuh"

/* Zero before the launch, but for `least`, which is FAR. */
struct Rounds {
    uint32_t barrier;
    uint32_t broken;     /* NEGATIVE: a weight is negative or not a number; BEYOND: a sum exceeds its type */
    uint64_t flat;       /* whether a tight arc leads to a row at the same distance */
    uint64_t found[3];   /* rows that this round finds, and two that are zero or no longer read */
    uint64_t waiting[3]; /* parts that this round puts off, and so on */
    uint64_t far[2];     /* rows in each of two piles, of which one is in use */
    uint64_t least;      /* length of the far rows */
};
static_assert(sizeof(Rounds) == SHORTEST_WORDS * 8, "SHORTEST_WORDS is wrong");

#define LISTS WeightedLists{{addresses, pages, words, size}, weights}

// Arrays of 2 V rows have two halves, which change places.
extern "C" __global__ void __launch_bounds__(SEARCH_THREADS, 2) shorten(
    const uint64_t* addresses, const uint64_t* weights, const int32_t* pages, const int32_t* words, int size, int64_t num_rows,
    Length* lengths, int32_t* near_rows, int32_t* far_rows, int32_t* last_round, int32_t* in_pile, int32_t* part_rows,
    int32_t* part_numbers, bool has_parts, Length width, Rounds* rounds) {
    __shared__ OfWarp<WeightedHeads> of_warps[WARPS];
    const WeightedLists lists = LISTS;
    const int64_t warp = global_thread() / 32, warps = num_threads() / 32;
    int64_t count = 1; /* of the near rows */
    Length limit = width;
    int turn = 0, half = 0, pile = 0;
    for (int32_t round = 1;; ++round) {
        const int32_t* const now = near_rows + half * num_rows;
        int32_t* const next = near_rows + (1 - half) * num_rows;
        int32_t* const far = far_rows + pile * num_rows;
        uint64_t* const found = &rounds->found[turn];
        if (count > 0) {
            const Waiting waiting{part_rows, part_numbers, &rounds->waiting[turn]};
            const auto row_at = [&](int64_t place) { return __ldcg(now + place); };
            const auto relax = [&](int32_t row, const WeightedHeads& part, int place) {
                const int32_t head = part.heads[place];
                const WEIGHT weight = part.weights[place];
                if (!(weight >= 0)) {
                    if (pages[head] >= 0) {
                        rounds->broken = NEGATIVE;
                    }
                    return;
                }
                const Length sum = plus(__ldcg(lengths + row), length_of(weight));
                if (sum >= __ldcg(lengths + head) || sum >= atomicMin(lengths + head, sum)) {
                    return; /* a row without a vertex has length 0 here */
                }
                if (sum < limit) {
                    if (atomicExch(last_round + head, round) != round) {
                        next[append(found)] = head;
                    }
                } else if (atomicExch(in_pile + head, 1) == 0) {
                    far[append(&rounds->far[pile])] = head;
                }
            };
            for (int64_t first = warp * 32; first < count; first += warps * 32) {
                visit_rows(lists, of_warps[threadIdx.x / 32], first, count, waiting, row_at, relax);
            }
            if (has_parts) {
                grid_barrier(&rounds->barrier);
                visit_waiting(lists, waiting, 0, relax);
            }
            grid_barrier(&rounds->barrier);
        } else {
            int32_t* const kept = far_rows + (1 - pile) * num_rows;
            const int64_t put_off = (int64_t)__ldcg(&rounds->far[pile]);
            Length least = FAR;
            for (int64_t i = global_thread(); i < put_off; i += num_threads()) {
                const Length length = __ldcg(lengths + __ldcg(far + i));
                least = length >= limit ? smaller(least, length) : least; /* a nearer row was relaxed since */
            }
            if (least < FAR) {
                atomicMin(&rounds->least, least);
            }
            grid_barrier(&rounds->barrier);
            least = __ldcg(&rounds->least);
            if (least >= FAR) {
                return;
            }
            const Length before = limit;
            limit = beyond(least, width);
            for (int64_t i = global_thread(); i < put_off; i += num_threads()) {
                const int32_t row = __ldcg(far + i);
                const Length length = __ldcg(lengths + row);
                if (length >= limit) {
                    kept[append(&rounds->far[1 - pile])] = row;
                } else {
                    in_pile[row] = 0;
                    if (length >= before) {
                        next[append(found)] = row;
                    }
                }
            }
            grid_barrier(&rounds->barrier);
            if (global_thread() == 0) {
                rounds->far[pile] = 0;
                rounds->least = FAR;
            }
            pile = 1 - pile;
        }
        count = (int64_t)__ldcg(found);
        half = 1 - half;
        turn = (turn + 1) % 3;
        if (global_thread() == 0) {
            rounds->found[(turn + 1) % 3] = 0;
            rounds->waiting[(turn + 1) % 3] = 0;
        }
    }
}

/* Rows without a vertex have length FAR here. `parts` are the parts that `shorten` may put off. */
extern "C" __global__ void __launch_bounds__(SEARCH_THREADS, 2) find_tails(
    const uint64_t* addresses, const uint64_t* weights, const int32_t* pages, const int32_t* words, int size, int64_t num_rows,
    const Length* lengths, int32_t* predecessors, int32_t* part_rows, int32_t* part_numbers, Rounds* rounds) {
    __shared__ OfWarp<WeightedHeads> of_warps[WARPS];
    const WeightedLists lists = LISTS;
    const Waiting waiting{part_rows, part_numbers, &rounds->waiting[0]};
    const auto row_at = [&](int64_t row) { return lengths[row] < FAR ? (int32_t)row : -1; };
    const auto visit = [&](int32_t row, const WeightedHeads& part, int place) {
        const int32_t head = part.heads[place];
        const Length sum = plus(lengths[row], length_of(part.weights[place]));
        if (sum != lengths[head] || pages[head] < 0) {
            return;
        }
        if (sum >= FAR) {
            rounds->broken = BEYOND;
        } else if (lengths[row] >= sum) {
            rounds->flat = 1;
        } else if (__ldcg(predecessors + head) > row) {
            atomicMin(predecessors + head, row);
        }
    };
    for (int64_t first = global_thread() / 32 * 32; first < num_rows; first += num_threads()) {
        visit_rows(lists, of_warps[threadIdx.x / 32], first, num_rows, waiting, row_at, visit);
    }
    grid_barrier(&rounds->barrier);
    visit_waiting(lists, waiting, 0, visit);
}

extern "C" __global__ void __launch_bounds__(SEARCH_THREADS, 2) follow_flat_arcs(
    const uint64_t* addresses, const uint64_t* weights, const int32_t* pages, const int32_t* words, int size,
    const Length* lengths, int32_t* levels, int32_t* predecessors, int32_t* queue, int64_t sources, int32_t* part_rows,
    int32_t* part_numbers, Control* control) {
    const Search search{levels, predecessors, queue, part_rows, part_numbers, control};
    search_by_levels(search, LISTS, sources, [&](int32_t row, const WeightedHeads& part, int place) {
        const Length there = lengths[part.heads[place]];
        return lengths[row] == there && plus(there, length_of(part.weights[place])) == there;
    });
}
