/* One bit per row between owners and the ranks that have the row as a ghost, packed in words for each peer.

   The messages to or from all peers are in one buffer: that of peer p has the words words[p] <= w < words[p + 1], and its last
   BITS_SUM_WORDS words are two 64-bit numbers that all ranks add up. Bit i of an earlier word is for entry bounds[p] +
   32 (w - words[p]) + i of a list of rows, if that is below bounds[p + 1]. The list has one peer's rows after the other's:
     mirrored    own rows, by local rows, that the peer has as ghosts;
     ghosts   the ghosts that the peer owns, which have the local rows from num_own on.
   In a bitmap by local rows, bit (row mod 32) of word row / 32 stands for a row; it has one word more than it needs.
   If a peer is lost, these kernels still run, on undefined messages: bits without a list entry are never used.
   ROW is the index type. BITS_*: constants.py. */
#include "gpu/device.cuh"

struct Word {
    int64_t first; /* list entry of bit 0 */
    int64_t count; /* bits that have an entry: all if it is 32 or more, none if it is 0 or less */
    int64_t sum;   /* which word of the numbers it is; negative if it is not one */
};

__device__ __forceinline__ Word word_of(const int64_t* words, const int64_t* bounds, int64_t word) {
    int peer = 0;
    while (words[peer + 1] <= word) {
        peer += 1;
    }
    const int64_t first = bounds[peer] + 32 * (word - words[peer]);
    return Word{first, bounds[peer + 1] - first, word - words[peer + 1] + BITS_SUM_WORDS};
}

/* Pack the bits of the rows that others have as ghosts, followed by the words of `sums`. A warp packs BITS_BATCH words at a time,
   which hides the latency of two dependent loads, of a row and then of its bit. */
extern "C" __global__ void pack_mirrored(
    const int64_t* words, const int64_t* bounds, int64_t num_words, const ROW* mirrored, const uint32_t* bits,
    const uint32_t* sums, uint32_t* message) {
    const int lane = threadIdx.x & 31;
    for (int64_t at = global_thread() / 32 * BITS_BATCH; at < num_words; at += num_threads() / 32 * BITS_BATCH) {
        ROW rows[BITS_BATCH];
        uint32_t near[BITS_BATCH], own = 0;
        for (int k = 0; k < BITS_BATCH; ++k) {
            const Word word = word_of(words, bounds, min(at + k, num_words - 1));
            rows[k] = lane < word.count ? mirrored[word.first + lane] : -1;
        }
        for (int k = 0; k < BITS_BATCH; ++k) {
            near[k] = rows[k] < 0 ? 0 : bits[rows[k] >> 5];
        }
        for (int k = 0; k < BITS_BATCH; ++k) {
            const uint32_t packed = __ballot_sync(FULL_WARP, near[k] >> (rows[k] & 31) & 1);
            own = lane == k ? packed : own;
        }
        if (lane < BITS_BATCH && at + lane < num_words) {
            const Word word = word_of(words, bounds, at + lane);
            message[at + lane] = word.sum >= 0 ? sums[word.sum] : own;
        }
    }
}

/* Set the bits of the own rows whose bits were received. */
extern "C" __global__ void mark_mirrored(
    const int64_t* words, const int64_t* bounds, int64_t num_words, const ROW* mirrored, const uint32_t* message,
    uint32_t* bits) {
    for (int64_t place = global_thread(); place < num_words * 32; place += num_threads()) {
        if (message[place >> 5] >> (place & 31) & 1) {
            const Word word = word_of(words, bounds, place >> 5);
            if ((place & 31) < word.count) {
                const ROW row = mirrored[word.first + (place & 31)];
                atomicOr(bits + (row >> 5), 1u << (row & 31));
            }
        }
    }
}

/* Set the bits of ghosts from their owners' messages, and add the numbers of all peers to `sums`. */
extern "C" __global__ void put_ghosts(
    const int64_t* words, const int64_t* bounds, int64_t num_words, int64_t num_own, const uint32_t* message, uint32_t* bits,
    uint64_t* sums) {
    for (int64_t at = global_thread(); at < num_words; at += num_threads()) {
        uint64_t value = message[at];
        if (!value) {
            continue;
        }
        const Word word = word_of(words, bounds, at);
        if (word.sum >= 0) {
            atomicAdd(sums + word.sum / 2, value << 32 * (word.sum & 1)); /* one half of a number */
            continue;
        }
        if (word.count <= 0) {
            continue;
        }
        value &= word.count < 32 ? (1u << word.count) - 1 : FULL_WARP;
        const int64_t first = num_own + word.first;
        const uint64_t shifted = value << (first & 31);
        atomicOr(bits + (first >> 5), (uint32_t)shifted);
        if (shifted >> 32) {
            atomicOr(bits + (first >> 5) + 1, (uint32_t)(shifted >> 32));
        }
    }
}

/* Pack the bits of the ghosts; the two numbers are zero. */
extern "C" __global__ void pack_ghosts(
    const int64_t* words, const int64_t* bounds, int64_t num_words, int64_t num_own, const uint32_t* bits, uint32_t* message) {
    for (int64_t at = global_thread(); at < num_words; at += num_threads()) {
        const Word word = word_of(words, bounds, at);
        uint32_t value = 0;
        if (word.count > 0) {
            const int64_t first = num_own + word.first;
            const uint32_t* here = bits + (first >> 5);
            value = (uint32_t)(((uint64_t)here[1] << 32 | here[0]) >> (first & 31));
            value &= word.count < 32 ? (1u << word.count) - 1 : FULL_WARP;
        }
        message[at] = value;
    }
}
