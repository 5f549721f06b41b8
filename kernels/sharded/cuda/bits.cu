/* One bit a row between those who own rows and those who have them as ghosts, packed in words for each peer.

   A message to or from a peer begins with a word of its own. Bit i of word w of all messages, one after the other:
     asked    the row `asked[32 w + i]` by its local number, -1 behind a peer's last;
     ghosts   the ghost 32 (w - words[r]) + i of the peer r to whom word w belongs: words[r] <= w < words[r + 1]; its ghosts are
              bounds[r] to bounds[r + 1].
   In a bitmap by local numbers, bit (row mod 32) of word row / 32 stands for a row; it has a word more than it needs.
   ROW is the type of a row number. */
#include "device.cuh"

/* Pack the bits of the rows that others asked for. */
extern "C" __global__ void pack_asked(const ROW* asked, int64_t num_words, const uint32_t* bits, uint32_t* message) {
    for (int64_t place = global_thread(); place < num_words * 32; place += num_threads()) {
        const ROW row = asked[place];
        const uint32_t word = __ballot_sync(FULL_WARP, row >= 0 && (bits[(row < 0 ? 0 : row) >> 5] >> (row & 31) & 1));
        if ((threadIdx.x & 31) == 0) {
            message[place >> 5] = word;
        }
    }
}

/* Set the bits of the rows whose bits others sent. */
extern "C" __global__ void mark_asked(const ROW* asked, int64_t num_words, const uint32_t* message, uint32_t* bits) {
    for (int64_t place = global_thread(); place < num_words * 32; place += num_threads()) {
        if (message[place >> 5] >> (place & 31) & 1) {
            atomicOr(bits + (asked[place] >> 5), 1u << (asked[place] & 31));
        }
    }
}

struct Ghosts {
    int64_t first; /* local number of the ghost of bit 0 */
    int64_t count; /* bits that stand for ghosts: all where it is 32 or more, none where it is 0 or less */
};

__device__ __forceinline__ Ghosts ghosts_of(const int64_t* words, const int64_t* bounds, int64_t num_own, int64_t word) {
    int peer = 0;
    while (words[peer + 1] <= word) {
        peer += 1;
    }
    const int64_t ghost = bounds[peer] + 32 * (word - words[peer]);
    return Ghosts{num_own + ghost, bounds[peer + 1] - ghost};
}

/* Set the bits of the ghosts whose owners' bits are set. */
extern "C" __global__ void put_ghosts(
    const int64_t* words, const int64_t* bounds, int64_t num_own, int64_t num_words, const uint32_t* message, uint32_t* bits) {
    for (int64_t word = global_thread(); word < num_words; word += num_threads()) {
        const uint64_t value = message[word];
        if (value) {
            const Ghosts ghosts = ghosts_of(words, bounds, num_own, word);
            const uint64_t shifted = value << (ghosts.first & 31);
            atomicOr(bits + (ghosts.first >> 5), (uint32_t)shifted);
            if (shifted >> 32) {
                atomicOr(bits + (ghosts.first >> 5) + 1, (uint32_t)(shifted >> 32));
            }
        }
    }
}

/* Pack the bits of the ghosts. */
extern "C" __global__ void pack_ghosts(
    const int64_t* words, const int64_t* bounds, int64_t num_own, int64_t num_words, const uint32_t* bits, uint32_t* message) {
    for (int64_t word = global_thread(); word < num_words; word += num_threads()) {
        const Ghosts ghosts = ghosts_of(words, bounds, num_own, word);
        uint32_t value = 0;
        if (ghosts.count > 0) {
            const uint32_t* here = bits + (ghosts.first >> 5);
            value = (uint32_t)(((uint64_t)here[1] << 32 | here[0]) >> (ghosts.first & 31));
            value &= ghosts.count < 32 ? (1u << ghosts.count) - 1 : FULL_WARP;
        }
        message[word] = value;
    }
}
