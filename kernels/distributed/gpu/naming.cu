/* The names of a shard's trees. A row's place in `parent` is its number and `shift`. */
#include "gpu/union_find.cuh"

/* Give every own row its root, and every root the smallest rank of its own rows: `names` comes in as the ranks of these.
   A thread keeps its last root's minimum: one atomic for many rows of a giant tree. */
extern "C" __global__ void find_least(ROW* parent, int64_t shift, const ROW* ranks, int64_t num_own, ROW* names) {
    ROW root = -1, least = 0;
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        const ROW place = (ROW)(v + shift), own = root_of(parent, place);
        if (own == place) {
            continue;
        }
        parent[place] = own;
        if (own == root) {
            least = min(least, ranks[v]);
            continue;
        }
        if (root >= 0 && least < names[root]) {
            atomicMin(&names[root], least);
        }
        root = own;
        least = ranks[v];
    }
    if (root >= 0 && least < names[root]) {
        atomicMin(&names[root], least);
    }
}

/* Give every root the row that has its tree's smallest rank, counted from `start`. */
extern "C" __global__ void find_holders(
    const ROW* parent, int64_t shift, const ROW* ranks, int64_t num_own, const ROW* names, int64_t start, ROW* holders) {
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        const ROW root = parent[v + shift];
        if (names[root] == ranks[v]) {
            holders[root] = (ROW)(start + v);
        }
    }
}

extern "C" __global__ void label(const ROW* parent, int64_t shift, int64_t num_own, const ROW* holders, ROW* labels) {
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        labels[v] = holders[parent[v + shift]];
    }
}
