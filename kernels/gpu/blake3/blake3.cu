/* BLAKE3 of a file's bytes: a header, and then an array that is on the GPU. A thread hashes a leaf of the tree, 1024 bytes, or
   joins two nodes. Nodes are joined level by level; the last of an odd number goes up unchanged, so the tree is BLAKE3's.

   O'Connor, Aumasson, Neves, Wilcox-O'Hearn: BLAKE3, one function, fast everywhere (2020), sections 2.1 to 2.5. */
#include "gpu/device.cuh"

#define CHUNK_START 1u
#define CHUNK_END 2u
#define PARENT 4u
#define ROOT 8u
#define ROUNDS 7

__device__ __forceinline__ uint32_t rotated(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

__device__ __forceinline__ void mix(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d, uint32_t first, uint32_t second) {
    a += b + first;
    d = rotated(d ^ a, 16);
    c += d;
    b = rotated(b ^ c, 12);
    a += b + second;
    d = rotated(d ^ a, 8);
    c += d;
    b = rotated(b ^ c, 7);
}

__device__ __forceinline__ void begin(uint32_t* value) {
    value[0] = 0x6a09e667u, value[1] = 0xbb67ae85u, value[2] = 0x3c6ef372u, value[3] = 0xa54ff53au;
    value[4] = 0x510e527fu, value[5] = 0x9b05688cu, value[6] = 0x1f83d9abu, value[7] = 0x5be0cd19u;
}

/* Compress a block of `bytes` bytes, whose words are lost, into a chaining value. */
__device__ __forceinline__ void compress(uint32_t* value, uint32_t* m, uint64_t counter, uint32_t bytes, uint32_t flags) {
    uint32_t v[16];
    begin(v + 8);
#pragma unroll
    for (int i = 0; i < BLAKE3_DIGEST_WORDS; ++i) {
        v[i] = value[i];
    }
    v[12] = (uint32_t)counter, v[13] = (uint32_t)(counter >> 32), v[14] = bytes, v[15] = flags;
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        mix(v[0], v[4], v[8], v[12], m[0], m[1]);
        mix(v[1], v[5], v[9], v[13], m[2], m[3]);
        mix(v[2], v[6], v[10], v[14], m[4], m[5]);
        mix(v[3], v[7], v[11], v[15], m[6], m[7]);
        mix(v[0], v[5], v[10], v[15], m[8], m[9]);
        mix(v[1], v[6], v[11], v[12], m[10], m[11]);
        mix(v[2], v[7], v[8], v[13], m[12], m[13]);
        mix(v[3], v[4], v[9], v[14], m[14], m[15]);
        const uint32_t next[16] = {m[2], m[6], m[3], m[10], m[7], m[0], m[4], m[13],
                                   m[1], m[11], m[12], m[5], m[9], m[14], m[15], m[8]};
#pragma unroll
        for (int i = 0; i < BLAKE3_BLOCK_WORDS; ++i) {
            m[i] = next[i];
        }
    }
#pragma unroll
    for (int i = 0; i < BLAKE3_DIGEST_WORDS; ++i) {
        value[i] = v[i] ^ v[i + 8];
    }
}

/* Leaves `first..first+count-1` of a file of `words` words, of which the first `header_words` are in `header`; `alone`: it has no
   other leaf. */
extern "C" __global__ void __launch_bounds__(BLAKE3_THREADS)
hash_leaves(const uint32_t* header, int64_t header_words, const uint32_t* array, int64_t words, int64_t first, int64_t count,
            int alone, uint32_t* nodes) {
    for (int64_t leaf = global_thread(); leaf < count; leaf += num_threads()) {
        uint32_t value[BLAKE3_DIGEST_WORDS], m[BLAKE3_BLOCK_WORDS];
        begin(value);
        const int64_t start = (first + leaf) * BLAKE3_CHUNK_WORDS;
        const int64_t length = min((int64_t)BLAKE3_CHUNK_WORDS, words - start);
        for (int64_t at = 0; at < length; at += BLAKE3_BLOCK_WORDS) {
            const int here = (int)min((int64_t)BLAKE3_BLOCK_WORDS, length - at);
            const int64_t of_array = start + at - header_words;
#pragma unroll
            for (int i = 0; i < BLAKE3_BLOCK_WORDS; ++i) {
                m[i] = i >= here ? 0u : of_array + i < 0 ? header[start + at + i] : array[of_array + i];
            }
            const bool last = at + BLAKE3_BLOCK_WORDS >= length;
            const uint32_t flags = (at ? 0u : CHUNK_START) | (last ? CHUNK_END | (alone ? ROOT : 0u) : 0u);
            compress(value, m, (uint64_t)(first + leaf), 4 * here, flags);
        }
#pragma unroll
        for (int i = 0; i < BLAKE3_DIGEST_WORDS; ++i) {
            nodes[leaf * BLAKE3_DIGEST_WORDS + i] = value[i];
        }
    }
}

/* The nodes above `count` nodes; `root`: these are two, and below the root. */
extern "C" __global__ void __launch_bounds__(BLAKE3_THREADS)
join_nodes(const uint32_t* nodes, int64_t count, int root, uint32_t* above) {
    for (int64_t pair = global_thread(); 2 * pair < count; pair += num_threads()) {
        uint32_t value[BLAKE3_DIGEST_WORDS], m[BLAKE3_BLOCK_WORDS];
        const uint32_t* own = nodes + pair * BLAKE3_BLOCK_WORDS;
        const bool joined = 2 * pair + 1 < count;
#pragma unroll
        for (int i = 0; i < BLAKE3_BLOCK_WORDS; ++i) {
            m[i] = joined || i < BLAKE3_DIGEST_WORDS ? own[i] : 0u;
        }
        begin(value);
        if (joined) {
            compress(value, m, 0, 4 * BLAKE3_BLOCK_WORDS, PARENT | (root ? ROOT : 0u));
        }
#pragma unroll
        for (int i = 0; i < BLAKE3_DIGEST_WORDS; ++i) {
            above[pair * BLAKE3_DIGEST_WORDS + i] = joined ? value[i] : own[i];
        }
    }
}
