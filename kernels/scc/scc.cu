/* Strong components. Returns for every row the row of smallest external id in its component.

   Method: rows without in-arcs or without out-arcs are components of their own. From the row of the largest product of degrees
   two searches, forward and backward, run in the same levels; what both reach is one component, the giant (Fleischer,
   Hendrickson, Pinar: On Identifying Strongly Connected Components in Parallel, IPDPS workshops 2000; McLendon et al. 2005). They
   are unordered: a level pushes a queue of arc ranges, or, where that is long, every open row looks for a reached neighbour. The
   rest is solved as in ECL-SCC (Alabandi, Sands, Biros, Burtscher, SC 2023): the arcs between rows that the searches left alike
   are listed, along them every row learns the least signature of the rows that reach it and of those it reaches, an arc
   between rows of unlike signatures is dropped, and rows whose two signatures are equal are a component; repeat. Deep searches,
   where a level pays little, are given up, and all is left to the signatures, which jump.

   Encodings: bit r & 31 of word r >> 5 of a bitmap is row r; `open` are the rows with arcs both ways, `fore` and `back` those of
   them that the searches reached. A range of arcs is (backward << 63 | first arc << 8 | length). A signature is a row, scrambled, so that no order
   of the rows is a bad one. `labels` holds a row of the component until the last phase, `names` the smallest rank of its rows. */
#include "union_find.cuh"

#define THREADS 512
#define RANGE 32       /* arcs a range at most: one a lane */
#define LANE_ARCS 32   /* arcs of an open row that a lane looks at before its warp helps */
#define BATCH 4        /* loads in flight of a lane */
#define ROW_COST 64    /* what looking at a row costs, in arcs */
#define STAGED 128     /* arcs that a warp holds back before it appends them */
#define LEVELS 400     /* after which a search is given up */
#define SWEEPS 8       /* of a block over its arcs between two barriers */

template <int BYTES>
struct KeyOf {
    typedef uint32_t type;
};
template <>
struct KeyOf<8> {
    typedef uint64_t type;
};
typedef KeyOf<sizeof(ROW)>::type Key;

struct alignas(2 * sizeof(Key)) Signature {
    Key fore, back;
};

struct alignas(2 * sizeof(ROW)) Arc {
    ROW from, to;
};

struct Arcs {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ indices;
};

struct Pivot {
    uint64_t product;
    int64_t row;
};

struct Control {
    uint64_t barrier;
    uint64_t count[3];
    Pivot best[1];  /* one a block */
};

/* Barriers that also sum: what is added to `count()` before one is what `close` returns after it. */
struct Turns {
    Control* control;
    int turn;

    __device__ uint64_t* count() const { return control->count + turn; }

    __device__ uint64_t close() {
        grid_barrier((uint32_t*)&control->barrier);
        const uint64_t sum = __ldcg(control->count + turn);
        if (global_thread() == 0) {
            control->count[(turn + 2) % 3] = 0;
        }
        turn = (turn + 1) % 3;
        return sum;
    }
};

struct Search {
    Arcs out, into;
    int64_t num_rows, num_words;
    uint32_t *open, *fore, *back, *new_fore, *new_back;
    uint64_t* queue;
};

__device__ __forceinline__ uint32_t scramble(uint32_t row) { return __brev(0x9e3779b1u * row); }
__device__ __forceinline__ uint64_t scramble(uint64_t row) { return __brevll(0x9e3779b97f4a7c15ull * row); }
__device__ __forceinline__ uint32_t unscramble(uint32_t key) { return 0x0e8b2f51u * __brev(key); }
__device__ __forceinline__ uint64_t unscramble(uint64_t key) { return 0xf1de83e19937733dull * __brevll(key); }

__device__ __forceinline__ bool has(const uint32_t* bitmap, ROW row) { return bitmap[row >> 5] >> (row & 31) & 1; }

__device__ __forceinline__ uint64_t ranges_of(Arcs arcs, ROW row) {
    return (uint64_t)(arcs.offsets[row + 1] - arcs.offsets[row] + RANGE - 1) / RANGE;
}

__device__ __forceinline__ uint64_t range_of(int64_t first, int64_t end, bool backward) {
    return (uint64_t)backward << 63 | (uint64_t)first << 8 | (uint64_t)(end - first < RANGE ? end - first : RANGE);
}

/* The row of the largest product of degrees that a thread of the block holds. */
__device__ Pivot best_of_block(uint64_t product, int64_t row) {
    __shared__ Pivot best;
    if (threadIdx.x == 0) {
        best = {0, 0};
    }
    __syncthreads();
    atomicMax(&best.product, product);
    __syncthreads();
    if (best.product == product) {
        best.row = row;
    }
    __syncthreads();
    return best;
}

/* Open rows, labels and names at the start, and every block's best pivot. */
__device__ void prepare(const Search& search, const ROW* ranks, ROW* labels, ROW* names, Control* control) {
    uint64_t product = 0;
    int64_t pivot = 0;
    const int lane = threadIdx.x & 31;
    for (int64_t row = global_thread(); row - lane < search.num_rows; row += num_threads()) {
        uint64_t degrees = 0;
        if (row < search.num_rows) {
            degrees = (uint64_t)(search.out.offsets[row + 1] - search.out.offsets[row]);
            degrees *= (uint64_t)(search.into.offsets[row + 1] - search.into.offsets[row]);
            labels[row] = (ROW)row;
            names[row] = ranks[row];
        }
        if (degrees > product) {
            product = degrees;
            pivot = row;
        }
        const uint32_t open = __ballot_sync(FULL_WARP, degrees > 0);
        if (lane == 0) {
            search.open[row >> 5] = open;
            search.fore[row >> 5] = search.back[row >> 5] = 0;
        }
    }
    const Pivot best = best_of_block(product, pivot);
    if (threadIdx.x == 0) {
        control->best[blockIdx.x] = best;
    }
}

/* Block 0 chooses the pivot and queues its arcs, those out of it and those into it. */
__device__ void start_search(const Search& search, Control* control, uint64_t* queued) {
    Pivot best = {0, 0};
    for (unsigned block = threadIdx.x; block < gridDim.x; block += THREADS) {
        const Pivot other = control->best[block];
        best = other.product > best.product ? other : best;
    }
    best = best_of_block(best.product, best.row);
    if (best.product == 0) {
        return;
    }
    const ROW row = (ROW)best.row;
    const uint64_t forward = ranges_of(search.out, row), both = forward + ranges_of(search.into, row);
    for (uint64_t k = threadIdx.x; k < both; k += THREADS) {
        const bool backward = k >= forward;
        const int64_t* offsets = (backward ? search.into : search.out).offsets + row;
        search.queue[k] = range_of(offsets[0] + (int64_t)(backward ? k - forward : k) * RANGE, offsets[1], backward);
    }
    if (threadIdx.x == 0) {
        search.fore[row >> 5] |= 1u << (row & 31);
        search.back[row >> 5] |= 1u << (row & 31);
        control->best[0] = best;
        *queued = both;
    }
}

/* Queue the arcs of the rows of the lanes that hold one, all of one search. All lanes of a warp come here. */
__device__ __forceinline__ void enqueue(const Search& search, bool holds, ROW row, bool backward, uint64_t tail, uint64_t* queued) {
    const int lane = threadIdx.x & 31;
    const int64_t* offsets = (backward ? search.into : search.out).offsets;
    const int64_t begin = holds ? offsets[row] : 0, end = holds ? offsets[row + 1] : 0;
    const uint64_t mine = (uint64_t)(end - begin + RANGE - 1) / RANGE;
    uint64_t sum = mine;
    for (int step = 1; step < 32; step <<= 1) {
        const uint64_t lower = __shfl_up_sync(FULL_WARP, sum, step);
        sum += lane >= step ? lower : 0;
    }
    uint64_t first = 0;
    if (lane == 31) {
        first = atomicAdd(queued, sum);
    }
    uint64_t* place = search.queue + tail + __shfl_sync(FULL_WARP, first, 31) + sum - mine;
    if (mine == 1) {
        *place = range_of(begin, end, backward);
    }
    uint32_t longs = __ballot_sync(FULL_WARP, mine > 1);
    for (; longs; longs &= longs - 1) {
        const int owner = __ffs(longs) - 1;
        const int64_t from = __shfl_sync(FULL_WARP, begin, owner), to = __shfl_sync(FULL_WARP, end, owner);
        uint64_t* ranges = (uint64_t*)__shfl_sync(FULL_WARP, (uint64_t)place, owner);
        for (int64_t k = lane; from + k * RANGE < to; k += 32) {
            ranges[k] = range_of(from + k * RANGE, to, backward);
        }
    }
}

/* Follow the queued ranges, a warp each; `queue[tail:]` gets the arcs of the rows found. */
__device__ void push(const Search& search, uint64_t head, uint64_t tail, uint64_t* queued) {
    const int lane = threadIdx.x & 31;
    for (uint64_t place = head + (uint64_t)(global_thread() >> 5); place < tail; place += num_threads() >> 5) {
        const uint64_t range = __ldcg(search.queue + place);
        const bool backward = range >> 63;
        const ROW* ends = (backward ? search.into : search.out).indices + (range << 1 >> 9);
        uint32_t* reached = backward ? search.back : search.fore;
        const ROW row = lane < (int)(range & 255) ? ends[lane] : 0;
        bool is_new = lane < (int)(range & 255) && has(search.open, row);
        if (is_new) {
            uint32_t* word = reached + (row >> 5);
            const uint32_t bit = 1u << (row & 31);
            /* a popular row is found by many at a time: to look first, past L1, costs less than an atomic each */
            is_new = !(__ldcg(word) & bit) && !(atomicOr(word, bit) & bit);
        }
        if (__any_sync(FULL_WARP, is_new)) {
            enqueue(search, is_new, row, backward, tail, queued);
        }
    }
}

/* The rows of one word, of those in `pending`, with a reached neighbour; a warp a word. */
__device__ __forceinline__ uint32_t pull_word(Arcs arcs, const uint32_t* reached, int64_t word, uint32_t pending) {
    const int lane = threadIdx.x & 31;
    int64_t arc = 0, end = 0;
    bool hit = false;
    if (pending >> lane & 1) {
        arc = arcs.offsets[word * 32 + lane];
        end = arcs.offsets[word * 32 + lane + 1];
        const int64_t stop = end - arc > LANE_ARCS ? arc + LANE_ARCS : end;
        for (; arc < stop && !hit; arc += BATCH) {
            ROW rows[BATCH];
            for (int k = 0; k < BATCH; ++k) {
                rows[k] = arcs.indices[arc + k < stop ? arc + k : stop - 1];
            }
            for (int k = 0; k < BATCH; ++k) {
                hit |= has(reached, rows[k]);
            }
        }
    }
    uint32_t hits = __ballot_sync(FULL_WARP, hit);
    uint32_t longs = __ballot_sync(FULL_WARP, !hit && arc < end);
    for (; longs; longs &= longs - 1) {
        const int owner = __ffs(longs) - 1;
        const int64_t first = __shfl_sync(FULL_WARP, arc, owner), stop = __shfl_sync(FULL_WARP, end, owner);
        bool any = false;
        for (int64_t base = first; base < stop && !any; base += 32 * BATCH) {
            bool mine = false;
            for (int k = 0; k < BATCH; ++k) {
                const int64_t at = base + k * 32 + lane;
                mine |= at < stop && has(reached, arcs.indices[at]);
            }
            any = __any_sync(FULL_WARP, mine);
        }
        hits |= any ? 1u << owner : 0;
    }
    return hits;
}

/* Let every open row look for a reached neighbour, in both searches; the new ones are in `new_fore` and `new_back`. */
__device__ void pull(const Search& search, uint64_t* found) {
    const int lane = threadIdx.x & 31;
    uint64_t rows = 0;
    for (int64_t word = global_thread() >> 5; word < search.num_words; word += num_threads() >> 5) {
        const uint32_t open = search.open[word];
        const uint32_t fore = search.fore[word], back = search.back[word];
        const uint32_t fores = open & ~fore ? pull_word(search.into, search.fore, word, open & ~fore) : 0;
        const uint32_t backs = open & ~back ? pull_word(search.out, search.back, word, open & ~back) : 0;
        if (lane == 0) {
            search.fore[word] = fore | fores;
            search.back[word] = back | backs;
            search.new_fore[word] = fores;
            search.new_back[word] = backs;
            rows += __popc(fores) + __popc(backs);
        }
    }
    if (lane == 0 && rows) {
        atomicAdd(found, rows);
    }
}

/* Queue the arcs of the rows that `pull` found last. */
__device__ void enqueue_new(const Search& search, uint64_t tail, uint64_t* queued) {
    const int lane = threadIdx.x & 31;
    for (int64_t word = global_thread() >> 5; word < search.num_words; word += num_threads() >> 5) {
        const uint32_t fores = search.new_fore[word], backs = search.new_back[word];
        const ROW row = (ROW)(word * 32 + lane);
        if (fores) {
            enqueue(search, fores >> lane & 1, row, false, tail, queued);
        }
        if (backs) {
            enqueue(search, backs >> lane & 1, row, true, tail, queued);
        }
    }
}

/* Search both ways from the pivot; false if that was given up. */
__device__ bool search_both_ways(const Search& search, Turns& turns, uint64_t tail) {
    const uint64_t many = search.num_rows / 32 > 65536 ? search.num_rows / 32 : 65536;
    uint64_t head = 0;
    for (int level = 0; head < tail; ++level) {
        if (level == LEVELS) {
            return false;
        }
        if (tail - head <= many) {
            push(search, head, tail, turns.count());
        } else {
            do {
                pull(search, turns.count());
            } while (turns.close() > many / 8);
            enqueue_new(search, tail, turns.count());
        }
        head = tail;
        tail += turns.close();
    }
    return true;
}

/* Label the giant by its pivot; `new_fore` becomes the rows that are left. */
__device__ void leave_rest(const Search& search, bool searched, ROW pivot, ROW* labels) {
    const int lane = threadIdx.x & 31;
    for (int64_t word = global_thread() >> 5; word < search.num_words; word += num_threads() >> 5) {
        const uint32_t open = search.open[word];
        const uint32_t giant = searched ? open & search.fore[word] & search.back[word] : 0;
        if (giant >> lane & 1) {
            labels[word * 32 + lane] = pivot;
        }
        if (lane == 0) {
            search.new_fore[word] = open & ~giant;
            if (!searched) {
                search.fore[word] = search.back[word] = 0;
            }
        }
    }
}

/* A warp's arcs on their way to the list. */
struct Stage {
    Arc* held;
    int length;

    __device__ void flush(Arc* list, uint64_t* listed) {
        const int lane = threadIdx.x & 31;
        uint64_t first = 0;
        if (lane == 0 && length) {
            first = atomicAdd(listed, (uint64_t)length);
        }
        first = __shfl_sync(FULL_WARP, first, 0);
        __syncwarp();
        for (int k = lane; k < length; k += 32) {
            list[first + k] = held[k];
        }
        __syncwarp();
        length = 0;
    }

    __device__ void add(bool kept, ROW from, ROW to, Arc* list, uint64_t* listed) {
        const uint32_t lanes = __ballot_sync(FULL_WARP, kept);
        if (length + __popc(lanes) > STAGED) {
            flush(list, listed);
        }
        if (kept) {
            held[length + __popc(lanes & ((1u << (threadIdx.x & 31)) - 1))] = {from, to};
        }
        length += __popc(lanes);
    }
};

/* Whether a row that is left is left in the same way as one with these marks. */
__device__ __forceinline__ bool is_alike(const Search& search, ROW row, bool fore, bool back) {
    return has(search.new_fore, row) & (has(search.fore, row) == fore) & (has(search.back, row) == back);
}

/* Shares of the work of all rows: row r has the places `offsets[r] + ROW_COST * r` and on, the last ones for its arcs. */
__device__ __forceinline__ int64_t place_of(const int64_t* offsets, int64_t row) {
    return offsets[row] + ROW_COST * row;
}

/* The row of a place. All lanes of a warp come here: a 32-ary search. */
__device__ int64_t row_of(const int64_t* offsets, int64_t num_rows, int64_t place) {
    int64_t low = 0, size = num_rows; /* the row lies in low..low + size - 1 */
    while (size > 1) {
        const int64_t step = (size + 31) / 32, row = low + (threadIdx.x & 31) * step;
        const uint32_t before = __ballot_sync(FULL_WARP, row < low + size && place_of(offsets, row) <= place);
        const int64_t skipped = (31 - __clz(before)) * step;
        low += skipped;
        size = size - skipped < step ? size - skipped : step;
    }
    return low;
}

/* List, of the arcs at the places `begin..stop-1`, those of the rows of one word that is not empty. */
__device__ void list_word(const Search& search, int64_t word, int64_t begin, int64_t stop, Stage& stage, Arc* list, uint64_t* listed) {
    const int lane = threadIdx.x & 31;
    const int64_t row = word * 32 + lane;
    const bool fore = search.fore[word] >> lane & 1, back = search.back[word] >> lane & 1;
    int64_t arc = 0, end = 0;
    if (search.new_fore[word] >> lane & 1) {
        arc = max(begin - ROW_COST * (row + 1), search.out.offsets[row]);
        end = min(stop - ROW_COST * (row + 1), search.out.offsets[row + 1]);
    }
    const bool is_long = end - arc > LANE_ARCS;
    for (int64_t k = arc; __any_sync(FULL_WARP, !is_long && k < end); k += BATCH / 2) {
        ROW to[BATCH / 2];
        bool kept[BATCH / 2];
        for (int i = 0; i < BATCH / 2; ++i) {
            kept[i] = !is_long && k + i < end;
            to[i] = kept[i] ? search.out.indices[k + i] : 0;
        }
        for (int i = 0; i < BATCH / 2; ++i) {
            kept[i] = kept[i] && is_alike(search, to[i], fore, back);
        }
        for (int i = 0; i < BATCH / 2; ++i) {
            stage.add(kept[i], (ROW)row, to[i], list, listed);
        }
    }
    uint32_t longs = __ballot_sync(FULL_WARP, is_long);
    for (; longs; longs &= longs - 1) {
        const int owner = __ffs(longs) - 1;
        const int64_t first = __shfl_sync(FULL_WARP, arc, owner), last = __shfl_sync(FULL_WARP, end, owner);
        const bool fore_of = __shfl_sync(FULL_WARP, fore, owner), back_of = __shfl_sync(FULL_WARP, back, owner);
        for (int64_t k = first + lane; k - lane < last; k += 32) {
            const ROW to = k < last ? search.out.indices[k] : 0;
            stage.add(k < last && is_alike(search, to, fore_of, back_of), (ROW)(word * 32 + owner), to, list, listed);
        }
    }
}

/* List the arcs between rows that are left, in the same way; every warp takes an equal share. */
__device__ void list_arcs(const Search& search, Arc* list, uint64_t* listed) {
    __shared__ Arc held[THREADS / 32][STAGED];
    Stage stage{held[threadIdx.x >> 5], 0};
    const int lane = threadIdx.x & 31;
    const int64_t places = place_of(search.out.offsets, search.num_rows), warps = num_threads() >> 5;
    const int64_t share = (places + warps - 1) / warps;
    const int64_t begin = (global_thread() >> 5) * share, stop = min(begin + share, places);
    if (begin >= stop) {
        return;
    }
    const int64_t last = row_of(search.out.offsets, search.num_rows, stop - 1) >> 5;
    for (int64_t tile = row_of(search.out.offsets, search.num_rows, begin) >> 5; tile <= last; tile += 32) {
        uint32_t words = __ballot_sync(FULL_WARP, tile + lane <= last && search.new_fore[tile + lane]);
        for (; words; words &= words - 1) {
            list_word(search, tile + __ffs(words) - 1, begin, stop, stage, list, listed);
        }
    }
    stage.flush(list, listed);
}

__device__ __forceinline__ Signature read(const Signature* signature) {
    Signature value;
    if (sizeof(Key) == 4) {
        const uint64_t both = __ldcg((const uint64_t*)signature);
        value.fore = (Key)both;
        value.back = (Key)(both >> 32);
    } else {
        const ulonglong2 both = __ldcg((const ulonglong2*)signature);
        value.fore = (Key)both.x;
        value.back = (Key)both.y;
    }
    return value;
}

/* Lower a signature; to look again first, past L1, spares a popular row most of its atomics. */
__device__ __forceinline__ void pass(Key key, Key* place) {
    if (key < __ldcg(place)) {
        atomicMin(place, key);
    }
}

/* Pass signatures along this block's arcs once; whether this thread passed any. A signature's own row may know a lesser one. */
__device__ bool sweep(const Arc* first, const Arc* end, Signature* signatures) {
    bool changed = false;
    for (const Arc* at = first + threadIdx.x; at < end; at += BATCH * THREADS) {
        Arc arcs[BATCH];
        Signature from[BATCH], to[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            arcs[k] = at + k * THREADS < end ? at[k * THREADS] : *at;
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            from[k] = read(signatures + arcs[k].from);
            to[k] = read(signatures + arcs[k].to);
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            if (from[k].fore < to[k].fore) {
                pass(read(signatures + unscramble(from[k].fore)).fore, &signatures[arcs[k].to].fore);
                changed = true;
            }
            if (to[k].back < from[k].back) {
                pass(read(signatures + unscramble(to[k].back)).back, &signatures[arcs[k].from].back);
                changed = true;
            }
        }
    }
    return changed;
}

/* Label the ends of this block's arcs that lie in a component, drop these arcs and those between unlike rows; returns the end. */
__device__ Arc* drop_arcs(Arc* first, const Arc* end, const Signature* signatures, ROW* labels) {
    __shared__ uint64_t kept;
    __syncthreads();
    if (threadIdx.x == 0) {
        kept = 0;
    }
    for (const Arc* tile = first; tile < end; tile += THREADS) {
        const Arc* at = tile + threadIdx.x;
        bool stays = false;
        Arc arc;
        if (at < end) {
            arc = *at;
            const Signature from = read(signatures + arc.from), to = read(signatures + arc.to);
            const bool alike = from.fore == to.fore && from.back == to.back;
            stays = alike && from.fore != from.back;
            if (alike && !stays) {
                labels[arc.from] = labels[arc.to] = (ROW)unscramble(from.fore);
            }
        }
        __syncthreads();
        if (stays) {
            first[append(&kept)] = arc;
        }
    }
    __syncthreads();
    return first + kept;
}

/* Find the components among the listed arcs. */
__device__ void solve_rest(Arc* list, uint64_t listed, Signature* signatures, ROW* labels, Turns& turns) {
    Arc* first = list + listed * blockIdx.x / gridDim.x;
    Arc* end = list + listed * (blockIdx.x + 1) / gridDim.x;
    while (listed > 0) {
        for (const Arc* at = first + threadIdx.x; at < end; at += THREADS) {
            const Key from = scramble((Key)at->from), to = scramble((Key)at->to);
            signatures[at->from] = {from, from};
            signatures[at->to] = {to, to};
        }
        turns.close();
        do {
            bool changed = false;
            for (int k = 0; k < SWEEPS && __syncthreads_or(sweep(first, end, signatures)); ++k) {
                changed = true;
            }
            if (changed && threadIdx.x == 0) {
                atomicAdd(turns.count(), (uint64_t)1);
            }
        } while (turns.close());
        end = drop_arcs(first, end, signatures, labels);
        if (end > first && threadIdx.x == 0) {
            atomicAdd(turns.count(), (uint64_t)(end - first));
        }
        listed = turns.close();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) == 4 ? 2 : 1) find_components(
    const int64_t* out_offsets, const ROW* out_indices, const int64_t* in_offsets, const ROW* in_indices, const ROW* ranks,
    const ROW* rows_by_id, int64_t num_rows, int64_t num_words, uint32_t* open, uint32_t* fore, uint32_t* back,
    uint32_t* new_fore, uint32_t* new_back, uint64_t* queue, Arc* list, Signature* signatures, ROW* names, ROW* labels, Control* control) {
    const Search search{{out_offsets, out_indices}, {in_offsets, in_indices}, num_rows, num_words, open, fore, back, new_fore, new_back, queue};
    Turns turns{control, 0};
    prepare(search, ranks, labels, names, control);
    turns.close();
    if (blockIdx.x == 0) {
        start_search(search, control, turns.count());
    }
    const uint64_t queued = turns.close();
    const bool searched = search_both_ways(search, turns, queued);
    leave_rest(search, searched && queued > 0, (ROW)__ldcg(&control->best[0].row), labels);
    turns.close();
    list_arcs(search, list, turns.count());
    const uint64_t listed = turns.close();
    solve_rest(list, listed, signatures, labels, turns);
    name_trees(labels, names, ranks, num_rows);
    turns.close();
    label_rows(labels, names, ranks, rows_by_id, num_rows);
}
