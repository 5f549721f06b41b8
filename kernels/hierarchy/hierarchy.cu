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

/* Shortcuts that the contraction of `owners[i]` needs from the tail of its in-arc `arcs[i]`. */
extern "C" __global__ void __launch_bounds__(THREADS) count_shortcuts(
    const int64_t* __restrict__ offsets, const int32_t* __restrict__ heads, const Length* __restrict__ weights,
    const int32_t* __restrict__ tails, const Length* __restrict__ in_weights, const int32_t* __restrict__ owners,
    const int64_t* __restrict__ arcs, int64_t num_arcs, int32_t symmetric, int32_t settle, Place* places, Length* lengths,
    int32_t* numbers, int64_t size, int64_t most, int64_t* counts) {
    const Arcs all = {offsets, heads, weights};
    Search search({places, lengths, numbers, size, most}, global_team());
    for (int64_t item = global_team(); item < num_arcs; item += num_teams()) {
        const int32_t row = owners[item], start = tails[arcs[item]];
        const Length weight = in_weights[arcs[item]];
        for (int64_t begin = offsets[row]; begin < offsets[row + 1]; begin += TEAM) {
            const int64_t arc = begin + search.lane;
            const int32_t head = arc < offsets[row + 1] ? heads[arc] : start;
            const int32_t entry = search.enter(head > start || (head < start && !symmetric), head, most);
            if (entry >= 0) {
                search.through[entry] = weight + weights[arc];
            }
        }
        if (search.count == 0) {
            continue;
        }
        const int32_t limit = search.count + ARCS + ENTRIES * settle;
        for (int64_t begin = offsets[start]; begin < offsets[start + 1]; begin += TEAM) {
            const int64_t arc = begin + search.lane;
            const int32_t head = arc < offsets[start + 1] ? heads[arc] : row;
            const int32_t entry = search.enter(head != row, head, limit);
            if (entry >= 0) {
                search.lengths[entry] = weights[arc];
            }
        }
        __syncwarp(search.team);
        search.run(all, nullptr, row, settle, limit);
        int32_t shortcuts = 0;
        for (int32_t entry = search.lane; entry < search.count; entry += TEAM) {
            shortcuts += search.through[entry] < search.lengths[entry];
        }
        shortcuts = __reduce_add_sync(search.team, shortcuts);
        search.clear();
        if (shortcuts && search.lane == 0) {
            atomicAdd((unsigned long long*)(counts + row), (unsigned long long)shortcuts);
        }
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
