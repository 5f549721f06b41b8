/* Searches side by side, one bit each: a block takes as many queries as a mask has bits, and searches for all of them at once.

   A node's mask `visited` has the searches that have reached it, and `waiting` those that have not been passed on from it. The
   block's ring has an entry, node * WORDS + word, for every word of `waiting` that is not zero. A bit is passed on to a child if
   the search has not visited it, unless its labels show that it does not reach the destination. If they show that it does, or it
   is the destination, the search is over, and its bit is dropped everywhere. At the end the block resets the words that it has
   touched.

   ROW is the type of a row and of a node.

   Source: Caiazza, Data-parallel implementation of the GRAIL index on many-core architectures (Politecnico di Torino, 2019), 64
   searches a mask; then, visited masks and searches that end: Then et al., The More the Merrier (PVLDB 8(4), 2014). */
#include "reachability/queries/paths.cuh"

typedef UnsignedOf<sizeof(ROW)>::type Place; /* node * WORDS + word */

template <typename Word>
struct Team {
    Word *waiting, *visited;
    Place *ring, *touched;
    /* of the ring: twice the words of all masks, since a word that was taken in a level may be queued again in it */
    uint64_t capacity;
};

template <typename Word>
__device__ __forceinline__ int lowest(Word word) {
    return sizeof(Word) == 8 ? __ffsll((long long)word) - 1 : __ffs((int)word) - 1;
}

template <typename Word, int WORDS>
struct Batch {
    static const int BITS = 8 * sizeof(Word);
    Record to[WORDS * BITS];
    ROW ends[WORDS * BITS], met[WORDS * BITS]; /* destinations, and the nodes that ended searches */
    Word alive[WORDS], yes[WORDS];
    uint64_t head, tail, num_touched;
    uint64_t place;
};

/* Bring searches to a node. */
template <typename Word, int WORDS>
__device__ __forceinline__ void arrive(const Team<Word>& team, Batch<Word, WORDS>& batch, ROW node, int word, Word bits) {
    const Place at = (Place)node * WORDS + word;
    const Word before = atomicOr(team.visited + at, bits);
    if (before == 0) {
        team.touched[atomicAdd(&batch.num_touched, (uint64_t)1)] = at;
    }
    const Word fresh = bits & ~before;
    if (fresh && atomicOr(team.waiting + at, fresh) == 0) {
        team.ring[atomicAdd(&batch.tail, (uint64_t)1) % team.capacity] = at;
    }
}

/* Pass the searches of one word at a node on along an arc. */
template <typename Word, int WORDS>
__device__ __forceinline__ void pass(
    const Index& index, const Team<Word>& team, Batch<Word, WORDS>& batch, ROW child, int word, Word bits) {
    bits &= ~__ldcg(team.visited + (Place)child * WORDS + word) & *(volatile Word*)&batch.alive[word];
    if (bits == 0) {
        return;
    }
    const Record record = load_whole(index.records + child);
    Word going = 0, over = 0;
    for (; bits; bits &= bits - 1) {
        const Word bit = bits & (0 - bits);
        const int query = word * batch.BITS + lowest(bits);
        const ROW end = batch.ends[query];
        const Decision decision = child == end ? Same : decide(index, child, end, record, batch.to[query]);
        if (decision == Same || decision == PositiveCut) {
            over |= bit;
            batch.met[query] = child;
        }
        going |= decision == Undecided ? bit : 0;
    }
    if (over) {
        atomicOr(&batch.yes[word], over);
        atomicAnd(&batch.alive[word], (Word)~over);
    }
    if (going) {
        arrive(team, batch, child, word, going);
    }
}

template <typename Word, int WORDS>
__device__ void search_batch(
    const Index& index, const Arcs (&sides)[2], const Team<Word>& team, Batch<Word, WORDS>& batch, const ROW* nodes,
    const ROW* src, const ROW* dst, const uint32_t* queries, int64_t num_queries, bool* reachable, const Paths& paths) {
    const Arcs arcs = sides[0];
    const int lane = threadIdx.x & 31, bits = WORDS * batch.BITS;
    if (threadIdx.x < WORDS) {
        batch.alive[threadIdx.x] = batch.yes[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) {
        batch.head = batch.tail = batch.num_touched = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < bits && i < num_queries; i += WIDE_SEARCH_THREADS) {
        const ROW from = nodes[src[queries[i]]], to = nodes[dst[queries[i]]];
        const Word bit = (Word)1 << i % batch.BITS;
        batch.ends[i] = to;
        batch.to[i] = index.records[to];
        atomicOr(&batch.alive[i / batch.BITS], bit);
        arrive(team, batch, from, i / batch.BITS, bit);
    }
    for (uint64_t head = 0, tail = 0;;) {
        __syncthreads();
        head = tail;
        tail = batch.tail;
        bool alive = false;
        for (int word = 0; word < WORDS; ++word) {
            alive |= batch.alive[word] != 0;
        }
        __syncthreads(); /* all threads have read the same values before one changes them */
        if (!alive || head == tail) {
            break;
        }
        for (uint64_t place = head + (threadIdx.x >> 5); place < tail; place += WIDE_SEARCH_THREADS / 32) {
            const Place at = __ldcg(team.ring + place % team.capacity);
            const ROW node = (ROW)(at / WORDS);
            Word mask = 0;
            if (lane == 0) {
                mask = atomicExch(team.waiting + at, (Word)0);
            }
            mask = __shfl_sync(FULL_WARP, mask, 0);
            for (int64_t arc = arcs.offsets[node] + lane; arc < arcs.offsets[node + 1]; arc += 32) {
                pass(index, team, batch, arcs.indices[arc], (int)(at % WORDS), mask);
            }
        }
    }
    for (int i = threadIdx.x >> 5; paths.nodes && i < bits && i < num_queries; i += WIDE_SEARCH_THREADS / 32) {
        const int word = i / batch.BITS;
        const Word bit = (Word)1 << i % batch.BITS;
        if (batch.yes[word] & bit) {
            write_path(paths, queries[i], index, sides, nodes[src[queries[i]]], batch.ends[i], batch.met[i], 0,
                [&](int side, ROW node) {
                    return side == 0 && (__ldcg(team.visited + (Place)node * WORDS + word) & bit) != 0;
                });
        }
    }
    __syncthreads();
    for (uint64_t place = threadIdx.x; place < batch.num_touched; place += WIDE_SEARCH_THREADS) {
        const Place at = __ldcg(team.touched + place);
        team.visited[at] = team.waiting[at] = 0;
    }
    for (int i = threadIdx.x; i < bits && i < num_queries; i += WIDE_SEARCH_THREADS) {
        reachable[queries[i]] = batch.yes[i / batch.BITS] >> i % batch.BITS & 1;
    }
    __syncthreads();
}

template <typename Word, int WORDS>
__device__ void search_all(
    const Index& index, const Arcs (&sides)[2], void* masks, Place* lists, const ROW* nodes, const ROW* src, const ROW* dst,
    const uint32_t* queries, const uint64_t* num_queries, bool* reachable, const Paths& paths, uint64_t* next) {
    extern __shared__ __align__(32) unsigned char shared[];
    Batch<Word, WORDS>& batch = *(Batch<Word, WORDS>*)shared;
    const uint64_t bits = WORDS * batch.BITS, words = (uint64_t)index.num_nodes * WORDS, count = *num_queries;
    Word* mine = (Word*)masks + 2 * words * blockIdx.x;
    Place* list = lists + 3 * words * blockIdx.x;
    const Team<Word> team{mine, mine + words, list, list + 2 * words, 2 * words};
    while (true) {
        if (threadIdx.x == 0) {
            batch.place = atomicAdd(next, bits);
        }
        __syncthreads();
        const uint64_t place = batch.place;
        if (place >= count) {
            return;
        }
        search_batch(index, sides, team, batch, nodes, src, dst, queries + place, (int64_t)(count - place), reachable, paths);
    }
}

#define ARGUMENTS                                                                                                          \
    const Record *records, int64_t num_nodes, int dimensions, bool alternating, const ROW *low, const ROW *post,           \
        const int64_t *child_offsets, const ROW *children, const int64_t *parent_offsets, const ROW *parents,              \
        const ROW *nodes, const ROW *src, const ROW *dst, const uint32_t *queries, const uint64_t *num_queries,            \
        bool *reachable, const int64_t *begins, int64_t *lengths, ROW *path_nodes, const ROW *supports, void *masks,       \
        Place *lists, uint64_t *next
#define SEARCH_ALL(WORD, WORDS)                                                                                            \
    const Arcs sides[2] = {{child_offsets, children}, {parent_offsets, parents}};                                          \
    search_all<WORD, WORDS>(Index{records, num_nodes, dimensions, alternating, low, post}, sides, masks, lists, nodes, src, \
                            dst, queries, num_queries, reachable, Paths{begins, lengths, path_nodes, supports}, next)

extern "C" __global__ void __launch_bounds__(WIDE_SEARCH_THREADS, 1) search_32(ARGUMENTS) { SEARCH_ALL(uint32_t, 1); }

extern "C" __global__ void __launch_bounds__(WIDE_SEARCH_THREADS, 1) search_64(ARGUMENTS) { SEARCH_ALL(uint64_t, 1); }

extern "C" __global__ void __launch_bounds__(WIDE_SEARCH_THREADS, 1) search_256(ARGUMENTS) { SEARCH_ALL(uint64_t, 4); }
