/* Edges to sorted keys, and sorted keys to rows of arcs.

   A key is an arc: its tail above its head, `bits` bits each. Ranks are places of external ids in ascending order, so that
   sorted keys are rows of arcs in order of the ranks. All bits set stand for no arc and sort last.

   find_span    least and greatest id
   mark_ids     which ids of the span there are
   pack_edges   the keys of edges, and of their reverses
   pack_rows    the keys of rows of arcs, seen from their other ends
   unpack_arcs  keys to heads, of equal keys one if they are to be `distinct`, and where each tail's arcs begin and end

   Weights are never negative, so that they are least where their bits, read as an unsigned number, are. */
#include "layout/look_back.cuh"
#include "layout/rows.cuh"

#define THREADS 256
#define WARPS (THREADS / 32)
#define ITEMS 16 /* keys of a thread */
#define TILE (THREADS * ITEMS)

__device__ __forceinline__ int64_t least(int64_t value) {
    for (int step = 16; step > 0; step /= 2) {
        value = min(value, __shfl_xor_sync(FULL_WARP, value, step));
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
find_span(const EDGE* src, const EDGE* dst, int64_t num_edges, int64_t* span) {
    int64_t low = 0x7fffffffffffffffll, minus_high = 1;
    for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
        const int64_t tail = src[edge], head = dst[edge];
        low = min(low, min(tail, head));
        minus_high = min(minus_high, -max(tail, head));
    }
    low = least(low);
    minus_high = least(minus_high);
    if ((threadIdx.x & 31) == 0) {
        atomicMin((long long*)span, (long long)low);
        atomicMax((long long*)span + 1, (long long)-minus_high);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
mark_ids(const EDGE* src, const EDGE* dst, int64_t num_edges, int64_t first_id, unsigned char* seen) {
    for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
        const int64_t tail = src[edge] - first_id, head = dst[edge] - first_id;
        if (!seen[tail]) {
            seen[tail] = 1;
        }
        if (!seen[head]) {
            seen[head] = 1;
        }
    }
}

/* `ranks` holds the rank of each id from `first_id` on; null where an id's rank is its distance from `first_id`.
   With `both`, edge e's keys are 2 e and 2 e + 1. A self-loop is its own reverse. */
extern "C" __global__ void __launch_bounds__(THREADS, 4)
pack_edges(const EDGE* src, const EDGE* dst, int64_t num_edges, int64_t first_id, const ROW* ranks, int bits, bool both,
           bool keep_self_loops, uint64_t* keys, unsigned long long* self_loops) {
    const uint64_t none = ~0ull >> (64 - 2 * bits);
    uint32_t loops = 0;
    for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
        const int64_t from = src[edge] - first_id, to = dst[edge] - first_id;
        const uint64_t tail = ranks ? (uint64_t)ranks[from] : (uint64_t)from, head = ranks ? (uint64_t)ranks[to] : (uint64_t)to;
        const bool loop = tail == head;
        const uint64_t key = loop && !keep_self_loops ? none : tail << bits | head;
        if (both) {
            *(ulonglong2*)(keys + 2 * edge) = {key, loop ? none : head << bits | tail};
        } else {
            keys[edge] = key;
        }
        loops += loop;
    }
    loops = __reduce_add_sync(FULL_WARP, loops);
    if ((threadIdx.x & 31) == 0 && loops) {
        atomicAdd(self_loops, (unsigned long long)loops);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
pack_rows(const int64_t* offsets, const ROW* indices, int64_t num_rows, int bits, uint64_t* keys) {
    visit_arcs(offsets, num_rows, [=](int64_t row, int64_t arc) { keys[arc] = (uint64_t)indices[arc] << bits | (uint64_t)row; });
}

/* Put a weight at its arc's place; of several there the least, if the place holds all bits set before. */
template <typename Word>
__device__ __forceinline__ void put_least(const Word* weights, int64_t from, Word* out, int64_t place, bool alone) {
    if (alone) {
        out[place] = weights[from];
    } else {
        atomicMin(out + place, weights[from]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
unpack_arcs(const uint64_t* keys, const void* weights, int weight_bytes, int64_t length, int bits, bool distinct,
            uint64_t* status, uint32_t* ticket, ROW* indices, void* out_weights, int64_t* begins, int64_t* ends) {
    __shared__ uint32_t counts[WARPS];
    __shared__ int64_t before_tile;
    __shared__ uint32_t shared_tile;
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        shared_tile = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const int64_t tile = shared_tile, base = tile * TILE + warp * 32 * ITEMS + lane;
    uint32_t firsts[ITEMS]; /* which lanes' keys are kept, in a word */
    uint32_t count = 0;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const int64_t at = base + 32 * item;
        const bool kept = at < length && !(distinct && at > 0 && keys[at] == keys[at - 1]);
        firsts[item] = __ballot_sync(FULL_WARP, kept);
        count += __popc(firsts[item]);
    }
    if (lane == 0) {
        counts[warp] = count;
    }
    __syncthreads();
    if (warp == 0) {
        const uint32_t own = __reduce_add_sync(FULL_WARP, lane < WARPS ? counts[lane] : 0);
        if (lane == 0) {
            store_relaxed(status + tile, (tile ? Status<uint64_t>::OWN : Status<uint64_t>::UP_TO) | own);
        }
        const uint64_t before = warp_sum_before(status, tile);
        if (lane == 0) {
            store_relaxed(status + tile, Status<uint64_t>::UP_TO | (before + own));
            before_tile = before;
        }
    }
    __syncthreads();
    int64_t place = before_tile - 1; /* of the last arc kept */
    for (int other = 0; other < warp; ++other) {
        place += counts[other];
    }
    const uint64_t head_mask = ~0ull >> (64 - bits);
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const int64_t at = base + 32 * item;
        const int64_t mine = place + __popc(firsts[item] & (FULL_WARP >> (31 - lane)));
        place += __popc(firsts[item]);
        if (at >= length) {
            continue;
        }
        const bool first = firsts[item] >> lane & 1;
        const uint64_t key = keys[at], before = at > 0 ? keys[at - 1] : ~key, after = at + 1 < length ? keys[at + 1] : ~key;
        if (first) {
            indices[mine] = (ROW)(key & head_mask);
            if (before >> bits != key >> bits) {
                begins[key >> bits] = mine;
            }
        }
        if (after >> bits != key >> bits) {
            ends[key >> bits] = mine + 1;
        }
        const bool alone = !distinct || (first && after != key);
        if (weight_bytes == 4) {
            put_least((const uint32_t*)weights, at, (uint32_t*)out_weights, mine, alone);
        } else if (weight_bytes == 8) {
            put_least((const unsigned long long*)weights, at, (unsigned long long*)out_weights, mine, alone);
        }
    }
}
