/* Exclusive scan of any length: a block scans 2 SCAN_THREADS values in shared memory, up the tree of their sums and down again;
   the blocks' sums are scanned by the same kernel and added to the blocks. Values beyond the end are the operator's identity.

   WEIGHT is the type of the values. SCAN_*: constants.py.

   Harris, Sengupta, Owens: Parallel Prefix Sum (Scan) with CUDA, GPU Gems 3 (2007), after Blelloch (1990). */
#include "gpu/device.cuh"

/* The type in which values are combined: sums and products of integers wrap around, as on a CPU. */
template <typename Value>
struct Wrapping {
    typedef Value type;
};
template <>
struct Wrapping<int32_t> {
    typedef uint32_t type;
};
template <>
struct Wrapping<int64_t> {
    typedef uint64_t type;
};
typedef Wrapping<WEIGHT>::type Word;

__device__ __forceinline__ WEIGHT combined(int how, WEIGHT left, WEIGHT right) {
    switch (how) {
        case SCAN_SUM: return (WEIGHT)((Word)left + (Word)right);
        case SCAN_PRODUCT: return (WEIGHT)((Word)left * (Word)right);
        case SCAN_MAX: return left < right ? right : left;
        default: return right < left ? right : left;
    }
}

extern "C" __global__ void __launch_bounds__(SCAN_THREADS) scan_blocks(
    const WEIGHT* values, int64_t length, int how, WEIGHT identity, WEIGHT* scanned, WEIGHT* sums) {
    __shared__ WEIGHT tree[2 * SCAN_THREADS];
    const int64_t first = (int64_t)blockIdx.x * 2 * SCAN_THREADS;
    const int thread = threadIdx.x;
    for (int i = thread; i < 2 * SCAN_THREADS; i += SCAN_THREADS) {
        tree[i] = first + i < length ? values[first + i] : identity;
    }
    int step = 1;
    for (int pairs = SCAN_THREADS; pairs > 0; pairs >>= 1, step <<= 1) {
        __syncthreads();
        if (thread < pairs) {
            const int right = 2 * step * (thread + 1) - 1;
            tree[right] = combined(how, tree[right - step], tree[right]);
        }
    }
    __syncthreads();
    if (thread == 0) {
        sums[blockIdx.x] = tree[2 * SCAN_THREADS - 1];
        tree[2 * SCAN_THREADS - 1] = identity;
    }
    for (int pairs = 1; pairs <= SCAN_THREADS; pairs <<= 1) {
        step >>= 1;
        __syncthreads();
        if (thread < pairs) {
            const int right = 2 * step * (thread + 1) - 1;
            const WEIGHT before = tree[right];
            tree[right] = combined(how, before, tree[right - step]);
            tree[right - step] = before;
        }
    }
    __syncthreads();
    for (int i = thread; i < 2 * SCAN_THREADS; i += SCAN_THREADS) {
        if (first + i < length) {
            scanned[first + i] = tree[i];
        }
    }
}

extern "C" __global__ void __launch_bounds__(SCAN_THREADS) add_sums(
    WEIGHT* scanned, int64_t length, int how, const WEIGHT* sums) {
    for (int64_t i = global_thread(); i < length; i += num_threads()) {
        scanned[i] = combined(how, sums[i / (2 * SCAN_THREADS)], scanned[i]);
    }
}
