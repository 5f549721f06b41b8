/* The certificate of a reachability index (__init__.py explains the proof): every node checks its own row, and sets `broken` if a
   rule does not hold. One lane reads a row of up to LANE_ARCS arcs; a warp reads a longer one.

   `random` is false in dimension 0. A node's block is first..last; the last is its own number.

   ROW is the type of a row number and of a node's. */
#include "reachability/nodes.cuh"

#define THREADS 512
#define LANE_ARCS 32

struct Rows {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
};

/* Call `visit(row, arc, sum)` for every arc, then `close(row, sum)` for every row, with one `sum` per row; `join` adds two
   sums. */
template <typename Sum, typename Visit, typename Join, typename Close>
__device__ __forceinline__ void over_rows(
    const Rows& rows, int64_t num_rows, const Sum& nothing, const Visit& visit, const Join& join, const Close& close) {
    const int lane = threadIdx.x & 31;
    for (int64_t base = global_thread() - lane; base < num_rows; base += num_threads()) {
        const int64_t row = base + lane;
        const bool has = row < num_rows;
        const int64_t begin = has ? rows.offsets[row] : 0, end = has ? rows.offsets[row + 1] : 0;
        const bool is_long = end - begin > LANE_ARCS;
        Sum sum = nothing;
        for (int64_t arc = begin; arc < end && !is_long; ++arc) {
            visit(row, arc, sum);
        }
        for (uint32_t longs = __ballot_sync(FULL_WARP, is_long); longs; longs &= longs - 1) {
            const int owner = __ffs(longs) - 1;
            const int64_t to = __shfl_sync(FULL_WARP, end, owner);
            Sum part = nothing;
            for (int64_t arc = __shfl_sync(FULL_WARP, begin, owner) + lane; arc < to; arc += 32) {
                visit(base + owner, arc, part);
            }
            for (int step = 16; step > 0; step >>= 1) {
                part = join(part, (Sum)__shfl_xor_sync(FULL_WARP, part, step));
            }
            sum = lane == owner ? part : sum;
        }
        if (has) {
            close(row, sum);
        }
    }
}

/* The head of every arc between two nodes is among the tail's children; these are marked in `found`. */
extern "C" __global__ void __launch_bounds__(THREADS) find_children(
    const int64_t* offsets, const ROW* indices, int64_t num_rows, const ROW* node, const int64_t* child_offsets,
    const ROW* children, bool* found, uint32_t* broken) {
    const Rows rows{offsets, indices};
    over_rows(
        rows, num_rows, 0,
        [&](int64_t row, int64_t arc, int&) {
            const ROW tail = node[row], head = node[indices[arc]];
            if (tail != head) {
                const int64_t place = find(children, child_offsets[tail], child_offsets[tail + 1], head);
                if (place == child_offsets[tail + 1]) {
                    *broken = 1;
                } else {
                    found[place] = true;
                }
            }
        },
        [](int a, int) { return a; }, [](int64_t, int) {});
}

/* Every child has the node among its parents; these are marked in `found`. */
extern "C" __global__ void __launch_bounds__(THREADS) find_parents(
    const int64_t* child_offsets, const ROW* children, int64_t num_nodes, const int64_t* parent_offsets, const ROW* parents,
    bool* found, uint32_t* broken) {
    const Rows rows{child_offsets, children};
    over_rows(
        rows, num_nodes, 0,
        [&](int64_t row, int64_t arc, int&) {
            const ROW head = children[arc];
            const int64_t place = find(parents, parent_offsets[head], parent_offsets[head + 1], (ROW)row);
            if (place == parent_offsets[head + 1]) {
                *broken = 1;
            } else {
                found[place] = true;
            }
        },
        [](int a, int) { return a; }, [](int64_t, int) {});
}

/* A level is one more than the largest in the row; 0 if the row is empty. */
extern "C" __global__ void __launch_bounds__(THREADS) check_levels(
    const int64_t* offsets, const ROW* indices, int64_t num_nodes, const int32_t* level, uint32_t* broken) {
    const Rows rows{offsets, indices};
    over_rows(
        rows, num_nodes, -1,
        [&](int64_t, int64_t arc, int& largest) { largest = max(largest, level[indices[arc]]); },
        [](int a, int b) { return max(a, b); },
        [&](int64_t row, int largest) {
            if (level[row] != largest + 1) {
                *broken = 1;
            }
        });
}

/* A word is the union of the node's own bit and the words in its row. */
extern "C" __global__ void __launch_bounds__(THREADS) check_bits(
    const int64_t* offsets, const ROW* indices, int64_t num_nodes, const uint64_t* own, const uint64_t* bits, uint32_t* broken) {
    const Rows rows{offsets, indices};
    over_rows(
        rows, num_nodes, (uint64_t)0, [&](int64_t, int64_t arc, uint64_t& word) { word |= bits[indices[arc]]; },
        [](uint64_t a, uint64_t b) { return a | b; },
        [&](int64_t row, uint64_t word) {
            if (bits[row] != (word | own[row])) {
                *broken = 1;
            }
        });
}

/* `low` and `post` are the extremes of the node's own number and of those in its row. */
extern "C" __global__ void __launch_bounds__(THREADS) check_intervals(
    const int64_t* offsets, const ROW* indices, int64_t num_nodes, const ROW* last, const ROW* low, const ROW* post,
    uint32_t* broken) {
    const Rows rows{offsets, indices};
    const ROW none = (ROW)((sizeof(ROW) == 4 ? 0x7fffffffll : 0x7fffffffffffffffll));
    over_rows(
        rows, num_nodes, none, [&](int64_t, int64_t arc, ROW& least) { least = min(least, low[indices[arc]]); },
        [](ROW a, ROW b) { return min(a, b); },
        [&](int64_t row, ROW least) {
            if (low[row] != min(least, last[row])) {
                *broken = 1;
            }
        });
    over_rows(
        rows, num_nodes, (ROW)0, [&](int64_t, int64_t arc, ROW& most) { most = max(most, post[indices[arc]]); },
        [](ROW a, ROW b) { return max(a, b); },
        [&](int64_t row, ROW most) {
            if (post[row] != max(most, last[row])) {
                *broken = 1;
            }
        });
}

/* No other node of a band is better than its supports. Places whose support is a node of their band are marked in `present`,
   which must be false before. */
extern "C" __global__ void __launch_bounds__(THREADS) check_supports(
    const int64_t* child_offsets, const int64_t* parent_offsets, int64_t num_nodes, const int32_t* level, const int32_t* deepest,
    const ROW* supports, bool* present, uint32_t* broken) {
    const int64_t levels = 1 + (int64_t)*deepest, bands = levels < NUM_SUPPORTS ? levels : NUM_SUPPORTS;
    const int share = (int)(NUM_SUPPORTS / bands);
    for (int64_t node = global_thread(); node < num_nodes; node += num_threads()) {
        const int64_t score = support_score(child_offsets, parent_offsets, node);
        int place = (int)(level[node] * bands / levels) * share;
        const int end = place + share;
        for (; place < end && supports[place] >= 0 && supports[place] < num_nodes && supports[place] != node; ++place) {
            const int64_t other = supports[place];
            const int64_t its = support_score(child_offsets, parent_offsets, other);
            if (score > its || (score == its && node < other)) {
                *broken = 1;
            }
        }
        if (place < end) {
            if (supports[place] == node) {
                present[place] = true;
            } else {
                *broken = 1;
            }
        }
    }
}

/* The parent that a node draws: of its row, on the level before, the one with the smallest key, ties by node; -1 for a root. */
extern "C" __global__ void __launch_bounds__(THREADS) draw_parents(
    const int64_t* offsets, const ROW* indices, int64_t num_nodes, const int32_t* level, bool random, uint64_t salt,
    ROW* parent) {
    const Rows rows{offsets, indices};
    over_rows(
        rows, num_nodes, ~0ull,
        [&](int64_t row, int64_t arc, uint64_t& least) {
            if (level[indices[arc]] + 1 == level[row]) {
                least = min(least, random ? key_of(salt, indices[arc], row) : 0ull);
            }
        },
        [](uint64_t a, uint64_t b) { return min(a, b); },
        [&](int64_t row, uint64_t least) {
            ROW found = -1;
            for (int64_t arc = offsets[row]; arc < offsets[row + 1] && found < 0; ++arc) {
                const ROW tail = indices[arc];
                found = level[tail] + 1 == level[row] && (random ? key_of(salt, tail, row) : 0ull) == least ? tail : -1;
            }
            parent[row] = found;
        });
}

/* Rows ascend by the keys of their arcs, then by head; row r belongs to node `first_tail` + r. */
extern "C" __global__ void __launch_bounds__(THREADS, 1) check_order(
    const int64_t* offsets, const ROW* indices, int64_t num_rows, int64_t first_tail, uint64_t salt, uint32_t* broken) {
    const Rows rows{offsets, indices};
    over_rows(
        rows, num_rows, 0,
        [&](int64_t row, int64_t arc, int&) {
            if (arc > offsets[row]) {
                const uint64_t before = key_of(salt, first_tail + row, indices[arc - 1]);
                const uint64_t key = key_of(salt, first_tail + row, indices[arc]);
                if (before > key || (before == key && indices[arc - 1] >= indices[arc])) {
                    *broken = 1;
                }
            }
        },
        [](int a, int) { return a; }, [](int64_t, int) {});
}

/* The blocks of a node's children are consecutive in the order of visits, and its own number comes next. `parent` is null for
   "dfs": there a head is a child if its block begins at the next number, and any other head has a smaller number. Rows are
   visited in the order of `indices`, or, if `turned`, rotated and perhaps reversed by the tail's key. */
extern "C" __global__ void __launch_bounds__(THREADS) check_blocks(
    const int64_t* offsets, const ROW* indices, int64_t num_nodes, bool turned, uint64_t salt, const ROW* parent,
    const ROW* first, const ROW* last, uint32_t* broken) {
    for (int64_t node = global_thread(); node < num_nodes; node += num_threads()) {
        const int64_t begin = offsets[node], length = offsets[node + 1] - begin;
        const uint64_t key = turned && length ? key_of(salt, node, num_nodes) : 0;
        int64_t place = length ? (int64_t)((key >> 1) % (uint64_t)length) : 0;
        const int64_t step = key & 1 ? -1 : 1;
        int64_t free = first[node];
        for (int64_t turn = 0; turn < length; ++turn) {
            const ROW head = indices[begin + place];
            const bool is_child = parent ? parent[head] == node : first[head] == free;
            if (is_child ? first[head] != free || last[head] < free : !parent && last[head] >= free) {
                *broken = 1;
                break;
            }
            free = is_child ? (int64_t)last[head] + 1 : free;
            place = place + step == length ? 0 : place + step < 0 ? length - 1 : place + step;
        }
        if (last[node] != free) {
            *broken = 1;
        }
    }
}
