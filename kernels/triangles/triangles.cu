/* Lists of neighbours of smaller labels, and the triangles of their entries.

   Labels ascend from the rows of most arcs (lists.py), so lists are short, and most searches end in the lists of small labels.
   For the list S of a label, two entries S[j] and S[k], j < k, close a triangle if S[j] is in the list of S[k]. A warp takes 32
   entries S[k], lane i the i-th of them, and goes through the entries before in groups of 32, lane i again with the i-th: all
   pairs of both groups are tested in 32 steps, in which the lanes share one S[k]. So a step reads one row of bits near each
   other, or searches one list, and every lane adds what its own two entries get in registers.

   The lists of the first labels are also rows of bits: label l has (l >> 5) + 1 words, behind those of smaller labels.

   Chiba, Nishizeki: Arboricity and Subgraph Listing Algorithms, SIAM Journal on Computing 14, 1985; on a GPU, bits of dense rows:
   Bisson, Fatica: High Performance Exact Triangle Counting on GPUs, IEEE TPDS 28, 2017. */
#include "gpu/device.cuh"

struct Arcs {
    const int64_t* offsets;
    const ROW* heads;  // ascending by position in a row

    /* Whether an arc leads from `row` to the head at `position`. */
    __device__ __forceinline__ bool has(int64_t row, int64_t position, const ROW* positions) const {
        const int64_t end = offsets[row + 1];
        const ROW* all = heads;
        const int64_t at = first_not(offsets[row], end, [=](int64_t arc) { return positions[all[arc]] < position; });
        return at < end && positions[heads[at]] == position;
    }

    /* Whether the arc is the first of its row to its head, and no self-loop. */
    __device__ __forceinline__ bool is_first(int64_t row, int64_t arc) const {
        return heads[arc] != row && (arc == offsets[row] || heads[arc - 1] != heads[arc]);
    }
};

/* The neighbours of rows; `into.offsets` is null if in-arcs are out-arcs. */
struct Rows {
    Arcs out;
    Arcs into;
    const ROW* positions;
    const ROW* order;   // [n]: row of each label
    const ROW* labels;  // [n]: label of each row

    /* Call `visit(head, mutual, valid)` for each neighbour of a row, once, by all lanes of each warp of a group together. */
    template <typename Visit>
    __device__ __forceinline__ void each(int64_t row, int64_t lane, int64_t width, Visit visit) const {
        const int64_t begin = out.offsets[row], end = out.offsets[row + 1];
        for (int64_t base = begin; base < end; base += width) {
            const int64_t arc = base + lane;
            const bool valid = arc < end && out.is_first(row, arc);
            const int64_t head = valid ? out.heads[arc] : 0;
            visit(head, valid && into.offsets && into.has(row, positions[head], positions), valid);
        }
        if (into.offsets) {
            const int64_t last = into.offsets[row + 1];
            for (int64_t base = into.offsets[row]; base < last; base += width) {
                const int64_t arc = base + lane;
                bool valid = arc < last && into.is_first(row, arc);
                const int64_t head = valid ? into.heads[arc] : 0;
                valid = valid && !out.has(row, positions[head], positions);
                visit(head, false, valid);
            }
        }
    }
};

/* Count the neighbours of labels `first..end-1`, and those of smaller labels; both are 0 before. Each has a block or a warp. */
extern "C" __global__ void __launch_bounds__(THREADS)
count_neighbours(const int64_t* out, const ROW* heads, const int64_t* into, const ROW* tails, const ROW* positions,
                 const ROW* order, const ROW* labels, int64_t first, int64_t end, int blocks, uint64_t* neighbours,
                 uint64_t* smaller) {
    const Rows rows = {{out, heads}, {into, tails}, positions, order, labels};
    const int64_t width = blocks ? THREADS : 32;
    for (int64_t label = first + global_thread() / width; label < end; label += num_threads() / width) {
        int64_t all = 0, kept = 0;
        rows.each(order[label], threadIdx.x % width, width, [&](int64_t head, bool, bool valid) {
            all += valid;
            kept += valid && labels[head] < label;
        });
        all = sum_of_warp(all);
        kept = sum_of_warp(kept);
        if ((threadIdx.x & 31) == 0 && all) {
            atomicAdd(neighbours + label, (uint64_t)all);
            atomicAdd(smaller + label, (uint64_t)kept);
        }
    }
}

/* Write the lists of these labels, in any order, as keys of label and entry; `cursors` are where the next entry is written. */
extern "C" __global__ void __launch_bounds__(THREADS, 4)
list_neighbours(const int64_t* out, const ROW* heads, const int64_t* into, const ROW* tails, const ROW* positions,
                const ROW* order, const ROW* labels, int64_t first, int64_t end, int blocks, uint64_t* cursors, int bits,
                uint64_t* keys, uint32_t* mutual) {
    const Rows rows = {{out, heads}, {into, tails}, positions, order, labels};
    const int64_t width = blocks ? THREADS : 32;
    for (int64_t label = first + global_thread() / width; label < end; label += num_threads() / width) {
        rows.each(order[label], threadIdx.x % width, width, [&](int64_t head, bool both, bool valid) {
            const int64_t entry = valid ? labels[head] : 0;
            const bool kept = valid && entry < label;
            const uint64_t place = append_of_warp(cursors + label, kept);
            if (kept) {
                keys[place] = (uint64_t)label << bits | entry;
                if (mutual) {
                    mutual[place] = both;
                }
            }
        });
    }
}

__device__ __forceinline__ int64_t first_word(int64_t label) {
    const int64_t group = label >> 5;
    return 16 * group * (group + 1) + (label & 31) * (group + 1);
}

/* Lists, and the bits of the first `num_bits` of them. */
struct Lists {
    const int64_t* begins;
    const int64_t* ends;
    const ROW* heads;
    const uint8_t* mutual;  // null if no triangle counts twice
    int64_t num_bits;
    const uint32_t* bits;
    const uint32_t* mutual_bits;
};

/* Set the bits; a warp takes a label. */
extern "C" __global__ void __launch_bounds__(THREADS)
set_bits(const int64_t* begins, const int64_t* ends, const ROW* heads, const uint8_t* mutual, int64_t num_bits, uint32_t* bits,
         uint32_t* mutual_bits) {
    for (int64_t label = global_thread() >> 5; label < num_bits; label += num_threads() >> 5) {
        for (int64_t entry = begins[label] + (threadIdx.x & 31); entry < ends[label]; entry += 32) {
            const int64_t head = heads[entry];
            atomicOr(bits + first_word(label) + (head >> 5), 1u << (head & 31));
            if (mutual && mutual[entry]) {
                atomicOr(mutual_bits + first_word(label) + (head >> 5), 1u << (head & 31));
            }
        }
    }
}

/* Whether `third` is in the list of `second`: 0, 1, or 2 if arcs lead both ways and this matters. */
__device__ __forceinline__ int joined(const Lists& lists, int64_t second, int64_t third) {
    if (second < lists.num_bits) {
        const int64_t word = first_word(second) + (third >> 5);
        const int found = lists.bits[word] >> (third & 31) & 1;
        return found && lists.mutual ? 1 + (lists.mutual_bits[word] >> (third & 31) & 1) : found;
    }
    const int64_t end = lists.ends[second], at = find(lists.heads, lists.begins[second], end, (ROW)third);
    return at == end ? 0 : lists.mutual ? 1 + lists.mutual[at] : 1;
}

/* Add the triangles of all labels to `sums`. `tasks[l]..tasks[l + 1] - 1` are the groups of 32 entries of label l. */
extern "C" __global__ void __launch_bounds__(THREADS)
add_triangles(const int64_t* begins, const int64_t* ends, const ROW* heads, const uint8_t* mutual, const int64_t* tasks,
              int64_t num_labels, int64_t num_tasks, const int64_t* other_begins, const int64_t* other_ends,
              const ROW* other_heads, const uint8_t* other_mutual, int64_t num_bits, const uint32_t* bits,
              const uint32_t* mutual_bits, uint64_t* sums) {
    const Lists others = {other_begins, other_ends, other_heads, other_mutual, num_bits, bits, mutual_bits};
    const int lane = threadIdx.x & 31;
    for (int64_t task = global_thread() >> 5; task < num_tasks; task += num_threads() >> 5) {
        const int64_t label = first_not(0, num_labels, [=](int64_t one) { return tasks[one + 1] <= task; });
        const int64_t begin = begins[label], group = 32 * (task - tasks[label]);
        const int64_t length = ends[label] - begin;
        const bool has_second = group + lane < length;
        const int64_t second = has_second ? heads[begin + group + lane] : 0;
        const uint32_t arcs_of_second = has_second && mutual ? 1 + mutual[begin + group + lane] : 1;
        const uint32_t known = __ballot_sync(FULL_WARP, has_second && other_begins[second] < other_ends[second]);
        uint64_t own = 0, of_second = 0;
        for (int64_t before = 0; known && before <= group; before += 32) {
            const bool has_third = before + lane < length;
            const int64_t third = has_third ? heads[begin + before + lane] : 0;
            const uint32_t arcs_of_third = has_third && mutual ? 1 + mutual[begin + before + lane] : 1;
            const uint32_t twice = __ballot_sync(FULL_WARP, arcs_of_third == 2);
            uint64_t of_third = 0;
            for (uint32_t rest = known; rest; rest &= rest - 1) {
                const int step = __ffs(rest) - 1;
                const int64_t shared = __shfl_sync(FULL_WARP, second, step);
                const uint32_t arcs = __shfl_sync(FULL_WARP, arcs_of_second, step);
                const int found = has_third && before + lane < group + step ? joined(others, shared, third) : 0;
                of_third += found ? arcs : 0;
                own += found;
                const uint32_t closed = __ballot_sync(FULL_WARP, found != 0);
                of_second += step == lane ? __popc(closed) + __popc(closed & twice) : 0;
            }
            if (of_third) {
                atomicAdd(sums + third, of_third);
            }
        }
        if (of_second) {
            atomicAdd(sums + second, of_second);
        }
        own = sum_of_warp(own);
        if (lane == 0 && own) {
            atomicAdd(sums + label, own);
        }
    }
}
