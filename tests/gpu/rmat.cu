/* An R-MAT graph too large to be sorted at once, and a check of paths in it: for the tests.

   An edge is its number's hash, so nothing is drawn twice. Vertices are scattered by a bijection of their `scale` bits, so that
   every range of rows has about as many arcs. A key is (row << scale | far). */
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned int uint32_t;

__device__ __forceinline__ uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
    return value ^ (value >> 31);
}

__device__ __forceinline__ uint64_t scattered(uint64_t vertex, int scale) {
    const uint64_t mask = (1ull << scale) - 1;
    for (int turn = 0; turn < 2; ++turn) {
        vertex = (vertex * 0x9e3779b1ull + 0x7f4a7c15ull) & mask;
        vertex ^= vertex >> (scale / 2);
    }
    return vertex;
}

/* The parameters of Graph500: 0.57, 0.19, 0.19, 0.05. */
extern "C" __global__ void draw_edges(int64_t num_edges, int scale, uint64_t* keys) {
    for (int64_t edge = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; edge < num_edges;
        edge += (int64_t)gridDim.x * blockDim.x) {
        uint64_t src = 0, dst = 0, random = 0;
        for (int level = 0; level < scale; ++level) {
            random = level % 2 ? random >> 32 : mixed(0x9e3779b97f4a7c15ull * (uint64_t)(edge * 64 + level + 1));
            const float place = (float)(uint32_t)random * 0x1p-32f;
            const int quadrant = (place >= 0.57f) + (place >= 0.76f) + (place >= 0.95f);
            src = 2 * src + (quadrant >> 1);
            dst = 2 * dst + (quadrant & 1);
        }
        keys[edge] = scattered(src, scale) << scale | scattered(dst, scale);
    }
}

/* Both arcs of the edges, those of the rows `begin..end-1`. */
extern "C" __global__ void take_slab(
    const uint64_t* edges, int64_t num_edges, int scale, uint64_t begin, uint64_t end, uint64_t* keys, uint64_t* length) {
    const uint64_t mask = (1ull << scale) - 1;
    for (int64_t edge = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; edge < num_edges;
        edge += (int64_t)gridDim.x * blockDim.x) {
        const uint64_t src = edges[edge] >> scale, dst = edges[edge] & mask;
        if (src != dst && src >= begin && src < end) {
            keys[atomicAdd(length, 1ull)] = edges[edge];
        }
        if (src != dst && dst >= begin && dst < end) {
            keys[atomicAdd(length, 1ull)] = dst << scale | src;
        }
    }
}

/* Ends and weights, 1..999, of sorted keys. */
extern "C" __global__ void split_keys(const uint64_t* keys, int64_t count, int scale, int* indices, int* weights) {
    for (int64_t arc = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; arc < count; arc += (int64_t)gridDim.x * blockDim.x) {
        const uint64_t near = keys[arc] >> scale, far = keys[arc] & ((1ull << scale) - 1);
        indices[arc] = (int)far;
        weights[arc] = 1 + (int)(mixed((near < far ? near : far) << 32 | (near < far ? far : near)) % 999);
    }
}

/* Rows, of a symmetric graph whose ids are its rows, that the definition of the shortest paths' answer refuses: an arc leads
   there on a shorter way, or the predecessor is not the first tight one. Weights are positive; null stands for ones. A block a
   row. */
extern "C" __global__ void refused_rows(
    const int64_t* offsets, const int* indices, const int* weights, const int64_t* distance, const int* predecessor,
    int64_t num_rows, int64_t source, uint64_t* refused) {
    __shared__ uint64_t first;
    for (int64_t row = blockIdx.x; row < num_rows; row += gridDim.x) {
        const uint64_t own = (uint64_t)distance[row]; /* not reached: the greatest */
        bool shorter = false;
        __syncthreads();
        first = ~0ull;
        __syncthreads();
        for (int64_t arc = offsets[row] + threadIdx.x; arc < offsets[row + 1]; arc += blockDim.x) {
            const int64_t near = distance[indices[arc]];
            const uint64_t over = (uint64_t)near + (weights == nullptr ? 1 : weights[arc]);
            shorter |= near >= 0 && over < own;
            if (near >= 0 && over == own) {
                atomicMin(&first, (uint64_t)arc);
            }
        }
        shorter = __syncthreads_or(shorter);
        if (threadIdx.x == 0) {
            const int expected = first == ~0ull ? -1 : indices[first];
            const bool rooted = row == source ? own == 0 : first != ~0ull || own == ~0ull;
            if (shorter || !rooted || predecessor[row] != expected) {
                atomicAdd(refused, 1ull);
            }
        }
    }
}
