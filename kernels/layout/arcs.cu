/* Edges to sorted keys, and sorted keys to rows of arcs.

   A key is an arc: its tail above its head, `bits` bits each. Vertices are positions of external ids in ascending order, so
   that sorted keys are rows of arcs in order of the positions. In a range of tails, a key holds the distance from the first.
   Tails may also be rows, in whose order the arcs then are; heads stay positions.

   find_span    smallest and greatest id
   mark_ids     which ids of the span occur
   count_tails  arcs per bin of tails, by which the tails are divided into ranges
   count_arcs   arcs per tail
   pack_edges   the keys of edges and of their reverses whose tail is in a range
   pack_rows    the keys of the reversed arcs of rows
   unpack_arcs  keys to heads, one of equal keys if `distinct`, and the number of arcs of each tail

   Weights are never negative, so that they order as their bits do, read as unsigned integers. */
#include "gpu/look_back.cuh"
#include "layout/rows.cuh"

#define WARPS (LAYOUT_THREADS / 32)
#define TILE (LAYOUT_THREADS * UNPACK_KEYS)
#define MOST_BINS (1 << TAIL_BIN_BITS)

__device__ __forceinline__ int64_t least(int64_t value) {
    for (int step = 16; step > 0; step /= 2) {
        value = min(value, __shfl_xor_sync(FULL_WARP, value, step));
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 4)
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

extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 4)
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

/* `positions` holds the position of each id from `first_id` on; null if that is the distance from `first_id`. */
__device__ __forceinline__ uint64_t position_of(EDGE id, int64_t first_id, const ROW* positions) {
    const int64_t offset = id - first_id;
    return positions ? (uint64_t)positions[offset] : (uint64_t)offset;
}

/* Bin b begins with tail `b << shift`. A self-loop is its own reverse. */
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 4)
count_tails(const EDGE* __restrict__ src, const EDGE* __restrict__ dst, int64_t num_edges, int64_t first_id,
            const ROW* __restrict__ positions, bool both, bool keep_self_loops, int shift, int bins, unsigned long long* counts) {
    __shared__ uint32_t local[MOST_BINS];
    for (int bin = threadIdx.x; bin < bins; bin += LAYOUT_THREADS) {
        local[bin] = 0;
    }
    __syncthreads();
#pragma unroll 4
    for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
        const uint64_t tail = position_of(src[edge], first_id, positions), head = position_of(dst[edge], first_id, positions);
        if (tail != head || keep_self_loops) {
            atomicAdd(&local[tail >> shift], 1u);
        }
        if (tail != head && both) {
            atomicAdd(&local[head >> shift], 1u);
        }
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += LAYOUT_THREADS) {
        if (local[bin]) {
            atomicAdd(counts + bin, (unsigned long long)local[bin]);
        }
    }
}

/* `degrees` counts the arcs of each tail, parallel ones included. */
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 4)
count_arcs(const EDGE* __restrict__ src, const EDGE* __restrict__ dst, int64_t num_edges, int64_t first_id,
           const ROW* __restrict__ positions, bool both, bool keep_self_loops, unsigned long long* degrees) {
    for (int64_t edge = global_thread(); edge < num_edges; edge += num_threads()) {
        const uint64_t tail = position_of(src[edge], first_id, positions), head = position_of(dst[edge], first_id, positions);
        if (tail != head || keep_self_loops) {
            atomicAdd(degrees + tail, 1ull);
        }
        if (tail != head && both) {
            atomicAdd(degrees + head, 1ull);
        }
    }
}

/* The tail in the key of a position's arc: its row in `rows`, or the position if `rows` is null. */
__device__ __forceinline__ uint64_t tail_of(uint64_t position, const ROW* rows) {
    return rows ? (uint64_t)rows[position] : position;
}

/* Write keys in any order, each with its edge's weight; `found` counts the keys and the self-loops in the range. */
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 4)
pack_edges(const EDGE* __restrict__ src, const EDGE* __restrict__ dst, int64_t num_edges, int64_t first_id,
           const ROW* __restrict__ positions, bool both, bool keep_self_loops, const void* __restrict__ weights, int weight_bytes,
           const ROW* __restrict__ rows, int64_t first_tail, int64_t num_tails, int bits, uint64_t* __restrict__ keys,
           void* __restrict__ out_weights, unsigned long long* found) {
    __shared__ uint32_t counts[WARPS];
    __shared__ int64_t tile_place;
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const uint32_t lower = (1u << lane) - 1;
    uint32_t loops = 0;
    for (int64_t base = (int64_t)blockIdx.x * LAYOUT_THREADS * PACK_EDGES; base < num_edges; base += num_threads() * PACK_EDGES) {
        uint64_t tails[PACK_EDGES], heads[PACK_EDGES];
        uint32_t forward[PACK_EDGES], backward[PACK_EDGES]; /* bit set of the lanes that have a key */
        uint32_t count = 0;
#pragma unroll
        for (int item = 0; item < PACK_EDGES; ++item) {
            const int64_t edge = base + LAYOUT_THREADS * item + threadIdx.x;
            tails[item] = edge < num_edges ? position_of(src[edge], first_id, positions) : 0;
            heads[item] = edge < num_edges ? position_of(dst[edge], first_id, positions) : 0;
        }
#pragma unroll
        for (int item = 0; item < PACK_EDGES; ++item) {
            const bool valid = base + LAYOUT_THREADS * item + threadIdx.x < num_edges, loop = tails[item] == heads[item];
            const bool out = valid && tail_of(tails[item], rows) - first_tail < (uint64_t)num_tails;
            const bool into = valid && both && !loop && tail_of(heads[item], rows) - first_tail < (uint64_t)num_tails;
            loops += out && loop;
            forward[item] = __ballot_sync(FULL_WARP, out && (keep_self_loops || !loop));
            backward[item] = __ballot_sync(FULL_WARP, into);
            count += __popc(forward[item]) + __popc(backward[item]);
        }
        if (lane == 0) {
            counts[warp] = count;
        }
        __syncthreads();
        if (warp == 0) {
            const uint32_t all = __reduce_add_sync(FULL_WARP, lane < WARPS ? counts[lane] : 0);
            if (lane == 0) {
                tile_place = (int64_t)atomicAdd(found, (unsigned long long)all);
            }
        }
        __syncthreads();
        int64_t place = tile_place;
        for (int other = 0; other < warp; ++other) {
            place += counts[other];
        }
#pragma unroll
        for (int item = 0; item < PACK_EDGES; ++item) {
            const int64_t edge = base + LAYOUT_THREADS * item + threadIdx.x;
            if (forward[item] >> lane & 1) {
                const int64_t mine = place + __popc(forward[item] & lower);
                keys[mine] = (tail_of(tails[item], rows) - first_tail) << bits | heads[item];
                copy_element(weights, weight_bytes, edge, out_weights, mine);
            }
            place += __popc(forward[item]);
            if (backward[item] >> lane & 1) {
                const int64_t mine = place + __popc(backward[item] & lower);
                keys[mine] = (tail_of(heads[item], rows) - first_tail) << bits | tails[item];
                copy_element(weights, weight_bytes, edge, out_weights, mine);
            }
            place += __popc(backward[item]);
        }
        __syncthreads(); /* before the counts of the next iteration */
    }
    loops = __reduce_add_sync(FULL_WARP, loops);
    if (lane == 0 && loops) {
        atomicAdd(found + 1, (unsigned long long)loops);
    }
}

extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 4)
pack_rows(const int64_t* offsets, const ROW* indices, int64_t num_rows, int bits, uint64_t* keys) {
    visit_arcs(offsets, num_rows, [=](int64_t row, int64_t arc) { keys[arc] = (uint64_t)indices[arc] << bits | (uint64_t)row; });
}

/* Write the weights of a thread's keys to their arcs, the least of parallel arcs: the output has all bits set before.
   All weights are loaded before the first is stored, so that the loads overlap. */
template <typename Word>
__device__ __forceinline__ void put_least(const Word* weights, int64_t base, int64_t length, const int64_t (&places)[UNPACK_KEYS],
                                          uint32_t alone, Word* out) {
    Word word[UNPACK_KEYS];
#pragma unroll
    for (int item = 0; item < UNPACK_KEYS; ++item) {
        word[item] = base + 32 * item < length ? weights[base + 32 * item] : 0;
    }
#pragma unroll
    for (int item = 0; item < UNPACK_KEYS; ++item) {
        if (base + 32 * item < length) {
            if (alone >> item & 1) {
                out[places[item]] = word[item];
            } else {
                atomicMin(out + places[item], word[item]);
            }
        }
    }
}

/* `degrees` is zero before: a tail's first key subtracts the index of its first arc, its last key adds the end. */
extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS, 4)
unpack_arcs(const uint64_t* keys, const void* weights, int weight_bytes, int64_t length, int bits, bool distinct,
            uint64_t* status, uint32_t* ticket, ROW* indices, void* out_weights, unsigned long long* degrees) {
    __shared__ uint32_t counts[WARPS];
    __shared__ int64_t before_tile;
    __shared__ uint32_t shared_tile;
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        shared_tile = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const int64_t tile = shared_tile, base = tile * TILE + warp * 32 * UNPACK_KEYS + lane;
    uint64_t key[UNPACK_KEYS], edge_key = 0; /* lane 0: the key before those of the warp; lane 31: the key after them */
#pragma unroll
    for (int item = 0; item < UNPACK_KEYS; ++item) {
        key[item] = base + 32 * item < length ? keys[base + 32 * item] : 0;
    }
    if (lane == 0 && base > 0 && base <= length) {
        edge_key = keys[base - 1];
    } else if (lane == 31 && base + 32 * (UNPACK_KEYS - 1) + 1 < length) {
        edge_key = keys[base + 32 * (UNPACK_KEYS - 1) + 1];
    }
    uint32_t firsts[UNPACK_KEYS]; /* bit set of the lanes whose keys are kept */
    uint32_t count = 0;
#pragma unroll
    for (int item = 0; item < UNPACK_KEYS; ++item) {
        const int64_t at = base + 32 * item;
        const uint64_t last = item > 0 ? __shfl_sync(FULL_WARP, key[item > 0 ? item - 1 : 0], 31) : edge_key;
        const uint64_t lower = __shfl_up_sync(FULL_WARP, key[item], 1), before = lane == 0 ? last : lower;
        firsts[item] = __ballot_sync(FULL_WARP, at < length && !(distinct && at > 0 && key[item] == before));
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
    int64_t place = before_tile - 1; /* of the last arc that is kept */
    for (int other = 0; other < warp; ++other) {
        place += counts[other];
    }
    const uint64_t head_mask = ~0ull >> (64 - bits);
    int64_t places[UNPACK_KEYS];
    uint32_t alone = 0; /* bit set of the keys without an equal key */
#pragma unroll
    for (int item = 0; item < UNPACK_KEYS; ++item) {
        const int64_t at = base + 32 * item;
        const uint64_t last = item > 0 ? __shfl_sync(FULL_WARP, key[item > 0 ? item - 1 : 0], 31) : edge_key;
        const bool inner = item < UNPACK_KEYS - 1;
        const uint64_t next = inner ? __shfl_sync(FULL_WARP, key[inner ? item + 1 : item], 0) : edge_key;
        const uint64_t lower = __shfl_up_sync(FULL_WARP, key[item], 1), upper = __shfl_down_sync(FULL_WARP, key[item], 1);
        const uint64_t before = lane == 0 ? last : lower, after = lane == 31 ? next : upper, tail = key[item] >> bits;
        const bool first = firsts[item] >> lane & 1;
        places[item] = place + __popc(firsts[item] & (FULL_WARP >> (31 - lane)));
        place += __popc(firsts[item]);
        alone |= (uint32_t)(!distinct || (first && (at + 1 >= length || after != key[item]))) << item;
        if (at < length) {
            const bool begins = at == 0 || before >> bits != tail, ends = at + 1 >= length || after >> bits != tail;
            if (first) {
                indices[places[item]] = (ROW)(key[item] & head_mask);
            }
            if (begins || ends) {
                atomicAdd(degrees + tail, (unsigned long long)((ends ? places[item] + 1 : 0) - (begins ? places[item] : 0)));
            }
        }
    }
    if (weight_bytes == 4) {
        put_least((const uint32_t*)weights, base, length, places, alone, (uint32_t*)out_weights);
    } else if (weight_bytes == 8) {
        put_least((const unsigned long long*)weights, base, length, places, alone, (unsigned long long*)out_weights);
    }
}
