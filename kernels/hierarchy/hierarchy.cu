/* A round of contraction: kernels/hierarchy/cpu.py with a thread for each row, and TEAM lanes of a warp for each search.

   A row's new arcs are a function of the previous round, so no team waits for another, and the order of arcs is the CPU's.
   Searches are limited to a few dozen vertices. At the end of the contraction few rows are left, with many arcs, and the time of
   one search counts: lanes share its arcs. At the beginning thousands run at a time, in memory that fits in the cache.
   Arrays [n] are of the core's vertices. WEIGHT is the type of a sum of weights, of which lengths have the bits. */
#include "hierarchy/witnesses.cuh"

/* Whether each vertex has a smaller key than all neighbours. */
extern "C" __global__ void choose(
    const int64_t* __restrict__ out, const int32_t* __restrict__ heads, const int64_t* __restrict__ into,
    const int32_t* __restrict__ tails, const int64_t* __restrict__ keys, int64_t size, bool* chosen) {
    for (int64_t row = global_thread(); row < size; row += num_threads()) {
        bool least = true;
        for (int64_t arc = out[row]; least && arc < out[row + 1]; ++arc) {
            least = keys[heads[arc]] > keys[row];
        }
        for (int64_t arc = into[row]; least && arc < into[row + 1]; ++arc) {
            least = keys[tails[arc]] > keys[row];
        }
        chosen[row] = least;
    }
}

/* Put every vertex above its chosen neighbours. */
extern "C" __global__ void lift(
    const int64_t* __restrict__ out, const int32_t* __restrict__ heads, const int64_t* __restrict__ into,
    const int32_t* __restrict__ tails, const bool* __restrict__ chosen, const int32_t* __restrict__ old, int64_t size,
    bool* touched, int32_t* levels) {
    for (int64_t row = global_thread(); row < size; row += num_threads()) {
        int32_t level = -1;
        for (int64_t arc = out[row]; arc < out[row + 1]; ++arc) {
            level = chosen[heads[arc]] && old[heads[arc]] > level ? old[heads[arc]] : level;
        }
        for (int64_t arc = into[row]; arc < into[row + 1]; ++arc) {
            level = chosen[tails[arc]] && old[tails[arc]] > level ? old[tails[arc]] : level;
        }
        touched[row] = level >= 0;
        levels[row] = level >= old[row] ? level + 1 : old[row];
    }
}

/* How many arcs each row has at most after the round. */
extern "C" __global__ void most_arcs(
    const int64_t* __restrict__ offsets, const int32_t* __restrict__ heads, const bool* __restrict__ chosen, int64_t size,
    int64_t* most) {
    for (int64_t row = global_thread(); row < size; row += num_threads()) {
        int64_t count = 0;
        for (int64_t arc = offsets[row]; !chosen[row] && arc < offsets[row + 1]; ++arc) {
            const int32_t head = heads[arc];
            count += chosen[head] ? offsets[head + 1] - offsets[head] : 1;
        }
        most[row] = count;
    }
}

/* Go on from an entry as `kernels.hierarchy.scores` does. */
__device__ void relax(Search& search, const Arcs& all, int32_t row, int32_t from, int32_t limit, int64_t* counts) {
    const Length length = search.lengths[from];
    const int32_t near = search.keys[from], begun = search.middles[from] <= OWN ? OWN - search.middles[from] : NONE;
    int32_t missed = 0;
    __syncwarp(search.team);
    for (int64_t begin = all.offsets[near]; begin < all.offsets[near + 1]; begin += TEAM) {
        const int64_t arc = begin + search.lane;
        const bool there = arc < all.offsets[near + 1];
        const int32_t head = there ? all.heads[arc] : row;
        const Length total = there ? length + all.weights[arc] : Kind::far();
        const bool active = head != row && total < Kind::far();
        const int32_t entry = search.enter(active, head, limit);
        if (entry >= 0 && total < search.lengths[entry]) {
            search.lengths[entry] = search.open[entry] = total;
            search.middles[entry] = begun;
        } else if (entry >= 0 && total == search.lengths[entry] && search.middles[entry] >= 0) {
            search.middles[entry] = NONE;
        }
        missed += __popc(search.voted(active && entry < 0));
    }
    if (missed && begun >= 0 && search.lane == 0) {
        atomicAdd((unsigned long long*)(counts + all.heads[all.offsets[row] + begun]), (unsigned long long)missed);
    }
    __syncwarp(search.team);
}

/* Shortcuts from `rows` that the contraction of each vertex needs. */
extern "C" __global__ void __launch_bounds__(THREADS) count_shortcuts(
    const int64_t* __restrict__ offsets, const int32_t* __restrict__ heads, const Length* __restrict__ weights,
    const int64_t* __restrict__ rows, int64_t num_rows, int32_t settle, Place* places, Length* lengths, int32_t* numbers,
    int64_t size, int64_t most, int64_t* counts) {
    const Arcs all = {offsets, heads, weights};
    Search search({places, lengths, numbers, size, most}, global_team());
    for (int64_t item = global_team(); item < num_rows; item += num_teams()) {
        const int32_t row = (int32_t)rows[item];
        const int32_t arcs = (int32_t)(offsets[row + 1] - offsets[row]);
        for (int32_t begin = 0; begin < arcs; begin += TEAM) {
            const int32_t arc = begin + search.lane;
            const int32_t entry = search.enter(arc < arcs, arc < arcs ? heads[offsets[row] + arc] : 0, most);
            if (entry >= 0) {
                search.lengths[entry] = search.open[entry] = weights[offsets[row] + arc];
                search.middles[entry] = OWN - arc;
            }
        }
        __syncwarp(search.team);
        for (int32_t left = settle, next = 0;;) { /* the nearest entries, then the row's arcs that are still open */
            Length length;
            const int32_t near = left ? search.settle_nearest(length) : -1;
            left = near < 0 ? 0 : left - 1;
            while (near < 0 && next < arcs && (search.middles[next] > OWN || search.open[next] == Kind::far())) {
                ++next;
            }
            if (near < 0 && next == arcs) {
                break;
            }
            const int32_t entry = near < 0 ? next++ : search.entry_of(near);
            relax(search, all, row, entry, near < 0 ? 0 : arcs + ENTRIES * settle, counts);
        }
        for (int32_t entry = search.lane; entry < search.count; entry += TEAM) {
            if (search.middles[entry] >= 0) {
                atomicAdd((unsigned long long*)(counts + heads[offsets[row] + search.middles[entry]]), 1ull);
            }
        }
        search.clear();
    }
}

/* Enter the paths of a row through chosen vertices, and its other arcs if there are such paths. */
__device__ void enter_paths(Search& search, const Arcs& all, const bool* chosen, int32_t row) {
    const int64_t end = all.offsets[row + 1];
    for (int64_t begin = all.offsets[row]; begin < end; begin += TEAM) {
        const int64_t arc = begin + search.lane;
        for (uint32_t through = search.voted(arc < end && chosen[all.heads[arc]]); through; through &= through - 1) {
            const int64_t first = begin + (__ffs(through) - 1) % TEAM;
            const int32_t middle = all.heads[first];
            for (int64_t from = all.offsets[middle]; from < all.offsets[middle + 1]; from += TEAM) {
                const int64_t beyond = from + search.lane;
                const bool there = beyond < all.offsets[middle + 1];
                const int32_t head = there ? all.heads[beyond] : row;
                const Length total = there ? all.weights[first] + all.weights[beyond] : Kind::far();
                const int32_t entry = search.enter(head != row && total < Kind::far(), head, search.most);
                if (entry >= 0 && (total < search.through[entry] ||
                                   (total == search.through[entry] && middle < search.middles[entry]))) {
                    search.through[entry] = total;
                    search.middles[entry] = middle;
                }
            }
        }
    }
    for (int64_t begin = all.offsets[row]; search.count && begin < end; begin += TEAM) {
        const int64_t arc = begin + search.lane;
        const int32_t head = arc < end ? all.heads[arc] : row;
        const int32_t entry = search.enter(head != row && !chosen[head], head, search.most);
        if (entry >= 0) {
            search.lengths[entry] = all.weights[arc];
        }
    }
    __syncwarp(search.team);
}

/* The arcs of some rows after the round, from `starts[row]` on, and how many these are. */
// spills: eleven words on sm_86 and sm_89, by the compiler's choice: it uses 48 registers of 255
extern "C" __global__ void __launch_bounds__(THREADS) contract(
    const int64_t* __restrict__ offsets, const int32_t* __restrict__ heads, const Length* __restrict__ weights,
    const int64_t* __restrict__ via, const int32_t* __restrict__ rows, const bool* __restrict__ chosen,
    const int64_t* __restrict__ items, int64_t num_items, int32_t settle, Place* places, Length* lengths, int32_t* numbers,
    int64_t size, int64_t most, const int64_t* __restrict__ starts, int32_t* new_heads, Length* new_weights, int64_t* new_via,
    int64_t* counts) {
    const Arcs all = {offsets, heads, weights};
    Search search({places, lengths, numbers, size, most}, global_team());
    for (int64_t item = global_team(); item < num_items; item += num_teams()) {
        const int32_t row = (int32_t)items[item];
        enter_paths(search, all, chosen, row);
        if (search.count) {
            search.run(all, chosen, row, settle, search.count + ENTRIES * settle);
        }
        int64_t made = starts[row];
        for (int64_t begin = offsets[row]; begin < offsets[row + 1]; begin += TEAM) {
            const int64_t arc = begin + search.lane;
            bool stays = arc < offsets[row + 1] && !chosen[heads[arc]];
            const int32_t entry = stays && search.count ? search.entry_of(heads[arc]) : -1;
            stays = stays && (entry < 0 || (search.lengths[entry] == weights[arc] && search.through[entry] >= weights[arc]));
            const uint32_t staying = search.voted(stays);
            if (stays) {
                const int64_t place = made + search.before(staying);
                new_heads[place] = heads[arc];
                new_weights[place] = weights[arc];
                new_via[place] = via[arc];
            }
            made += __popc(staying);
        }
        for (int32_t begin = 0; begin < search.count; begin += TEAM) {
            const int32_t entry = begin + search.lane;
            const bool shorter = entry < search.count && search.through[entry] < search.lengths[entry];
            const uint32_t shortcuts = search.voted(shorter);
            if (shorter) {
                const int64_t place = made + search.before(shortcuts);
                new_heads[place] = search.keys[entry];
                new_weights[place] = search.through[entry];
                new_via[place] = ~(int64_t)rows[search.middles[entry]];
            }
            made += __popc(shortcuts);
        }
        search.clear();
        if (search.lane == 0) {
            counts[row] = made - starts[row];
        }
    }
}

/* Whether the other end of each arc has kept it, too, and how many arcs of each row stay. */
extern "C" __global__ void __launch_bounds__(THREADS) mirror(
    const int64_t* __restrict__ starts, const int32_t* __restrict__ heads, const int64_t* __restrict__ counts, int64_t size,
    bool* mirrored, int64_t* kept) {
    const int32_t lane = threadIdx.x % TEAM;
    for (int64_t row = global_team(); row < size; row += num_teams()) {
        int32_t stay = 0;
        for (int64_t arc = starts[row] + lane; arc < starts[row] + counts[row]; arc += TEAM) {
            const int32_t head = heads[arc];
            int64_t back = starts[head];
            const int64_t end = back + counts[head];
            while (back < end && heads[back] != row) {
                ++back;
            }
            mirrored[arc] = back < end;
            stay += back < end;
        }
        stay = __reduce_add_sync(lanes_of_team(), stay);
        if (lane == 0) {
            kept[row] = stay;
        }
    }
}

/* Move the arcs that stay together. */
extern "C" __global__ void compress(
    const int64_t* __restrict__ starts, const int32_t* __restrict__ heads, const Length* __restrict__ weights,
    const int64_t* __restrict__ via, const int64_t* __restrict__ counts, const bool* mirrored,
    const int64_t* __restrict__ offsets, int64_t size, int32_t* new_heads, Length* new_weights, int64_t* new_via) {
    for (int64_t row = global_thread(); row < size; row += num_threads()) {
        int64_t made = offsets[row];
        for (int64_t arc = starts[row]; arc < starts[row] + counts[row]; ++arc) {
            if (!mirrored || mirrored[arc]) {
                new_heads[made] = heads[arc];
                new_weights[made] = weights[arc];
                new_via[made++] = via[arc];
            }
        }
    }
}
