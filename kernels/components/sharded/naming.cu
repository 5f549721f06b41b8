/* Names of a shard's trees. The index of own row v in `parent` is v + `shift`. */
#include "gpu/union_find.cuh"

/* Give every own row its root, and every root the smallest position of its own rows; `names` comes in as the positions.
   A thread keeps the minimum of its last root: one atomic for many rows of a giant tree. */
extern "C" __global__ void find_least(ROW* parent, int64_t shift, const ROW* positions, int64_t num_own, ROW* names) {
    ROW root = -1, least = 0;
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        const ROW slot = (ROW)(v + shift), own = root_of(parent, slot);
        if (own == slot) {
            continue;
        }
        parent[slot] = own;
        if (own == root) {
            least = min(least, positions[v]);
            continue;
        }
        if (root >= 0 && least < names[root]) {
            atomicMin(&names[root], least);
        }
        root = own;
        least = positions[v];
    }
    if (root >= 0 && least < names[root]) {
        atomicMin(&names[root], least);
    }
}

/* Give every root the row that has its tree's smallest position; the first own row is `start`. */
extern "C" __global__ void find_holders(
    const ROW* parent, int64_t shift, const ROW* positions, int64_t num_own, const ROW* names, int64_t start, ROW* holders) {
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        const ROW root = parent[v + shift];
        if (names[root] == positions[v]) {
            holders[root] = (ROW)(start + v);
        }
    }
}

extern "C" __global__ void label(const ROW* parent, int64_t shift, int64_t num_own, const ROW* holders, ROW* labels) {
    for (int64_t v = global_thread(); v < num_own; v += num_threads()) {
        labels[v] = holders[parent[v + shift]];
    }
}
