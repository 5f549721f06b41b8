/* A round of contraction: kernels/hierarchy/cpu.py with a thread for each row, or for each search.

   A row's new arcs are a function of the previous round, so no thread waits for another one, and the order of arcs is the CPU's.
   Searches are limited to a few dozen vertices, in memory of the thread's own; they are fast because hundreds of thousands run at
   a time. Arrays [n] are of the core's vertices. WEIGHT is the type of a sum of weights, of which lengths have the bits. */
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
extern "C" __global__ void count_shortcuts(
    const int64_t* __restrict__ offsets, const int32_t* __restrict__ heads, const Length* __restrict__ weights,
    const int32_t* __restrict__ tails, const Length* __restrict__ in_weights, const int32_t* __restrict__ owners,
    const int64_t* __restrict__ arcs, int64_t num_arcs, int32_t symmetric, int32_t settle, int32_t* keys, Length* lengths,
    Length* through, int32_t* middles, int32_t* used, Length* heap_lengths, int32_t* heap_slots, int64_t places, int64_t most,
    int64_t* counts) {
    const Arcs all = {offsets, heads, weights};
    Search search({keys, lengths, through, middles, used, heap_lengths, heap_slots, places, most}, global_thread());
    for (int64_t item = global_thread(); item < num_arcs; item += num_threads()) {
        const int32_t row = owners[item], start = tails[arcs[item]];
        const Length weight = in_weights[arcs[item]];
        for (int64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
            if (heads[arc] > start || (heads[arc] < start && !symmetric)) {
                search.through[search.enter(heads[arc])] = weight + weights[arc];
            }
        }
        if (search.count == 0) {
            continue;
        }
        const int32_t limit = search.count + ARCS + ENTRIES * settle;
        for (int64_t arc = offsets[start]; arc < offsets[start + 1]; ++arc) {
            if (heads[arc] != row && (search.count < limit || search.keys[search.slot(heads[arc])] >= 0)) {
                search.lengths[search.enter(heads[arc])] = weights[arc];
            }
        }
        search.run(all, nullptr, row, settle, limit);
        int64_t shortcuts = 0;
        for (int32_t entry = 0; entry < search.count; ++entry) {
            shortcuts += search.through[search.used[entry]] < search.lengths[search.used[entry]];
        }
        search.clear();
        if (shortcuts) {
            atomicAdd((unsigned long long*)(counts + row), (unsigned long long)shortcuts);
        }
    }
}

/* The arcs of some rows after the round, from `starts[row]` on, and how many these are. */
extern "C" __global__ void contract(
    const int64_t* __restrict__ offsets, const int32_t* __restrict__ heads, const Length* __restrict__ weights,
    const int64_t* __restrict__ via, const int32_t* __restrict__ rows, const bool* __restrict__ chosen,
    const int64_t* __restrict__ items, int64_t num_items, int32_t settle, int32_t* keys, Length* lengths, Length* through,
    int32_t* middles, int32_t* used, Length* heap_lengths, int32_t* heap_slots, int64_t places, int64_t most,
    const int64_t* __restrict__ starts, int32_t* new_heads, Length* new_weights, int64_t* new_via, int64_t* counts) {
    const Arcs all = {offsets, heads, weights};
    Search search({keys, lengths, through, middles, used, heap_lengths, heap_slots, places, most}, global_thread());
    for (int64_t item = global_thread(); item < num_items; item += num_threads()) {
        const int32_t row = (int32_t)items[item];
        for (int64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
            const int32_t middle = heads[arc];
            for (int64_t beyond = offsets[middle]; chosen[middle] && beyond < offsets[middle + 1]; ++beyond) {
                const Length total = weights[arc] + weights[beyond];
                if (heads[beyond] == row || total >= Lengths<WEIGHT>::far()) {
                    continue;
                }
                const int32_t place = search.enter(heads[beyond]);
                if (total < search.through[place] || (total == search.through[place] && middle < search.middles[place])) {
                    search.through[place] = total;
                    search.middles[place] = middle;
                }
            }
        }
        if (search.count) {
            for (int64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
                if (!chosen[heads[arc]]) {
                    search.lengths[search.enter(heads[arc])] = weights[arc];
                }
            }
            search.run(all, chosen, row, settle, search.count + ENTRIES * settle);
        }
        int64_t made = starts[row];
        for (int64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
            if (chosen[heads[arc]]) {
                continue;
            }
            const int32_t place = search.slot(heads[arc]);
            if (search.keys[place] < 0 || (search.lengths[place] == weights[arc] && search.through[place] >= weights[arc])) {
                new_heads[made] = heads[arc];
                new_weights[made] = weights[arc];
                new_via[made++] = via[arc];
            }
        }
        for (int32_t entry = 0; entry < search.count; ++entry) {
            const int32_t place = search.used[entry];
            if (search.through[place] < search.lengths[place]) {
                new_heads[made] = search.keys[place];
                new_weights[made] = search.through[place];
                new_via[made++] = ~(int64_t)rows[search.middles[place]];
            }
        }
        search.clear();
        counts[row] = made - starts[row];
    }
}

/* Whether the other end of each arc has kept it, too, and how many arcs of each row stay. */
extern "C" __global__ void mirror(
    const int64_t* __restrict__ starts, const int32_t* __restrict__ heads, const int64_t* __restrict__ counts, int64_t size,
    bool* mirrored, int64_t* kept) {
    for (int64_t row = global_thread(); row < size; row += num_threads()) {
        int64_t stay = 0;
        for (int64_t arc = starts[row]; arc < starts[row] + counts[row]; ++arc) {
            const int32_t head = heads[arc];
            int64_t back = starts[head];
            const int64_t end = back + counts[head];
            while (back < end && heads[back] != row) {
                ++back;
            }
            mirrored[arc] = back < end;
            stay += back < end;
        }
        kept[row] = stay;
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
