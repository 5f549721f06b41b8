/* The components among the listed arcs: the third phase of scc.cu. */
#pragma once

#include "gpu/unsigned.cuh"
#include "scc/parts.cuh"

#define SWEEPS 8   /* of a block over its arcs between two barriers of the grid, at most */
#define PATIENCE 2 /* such rounds before rows follow their own signatures, too: deep graphs need that, others take few rounds */

typedef UnsignedOf<sizeof(ROW)>::type Key;

struct alignas(2 * sizeof(Key)) Signature {
    Key fore, back;
};

__device__ __forceinline__ uint32_t scramble(uint32_t row) { return __brev(0x9e3779b1u * row); }
__device__ __forceinline__ uint64_t scramble(uint64_t row) { return __brevll(0x9e3779b97f4a7c15ull * row); }
__device__ __forceinline__ uint32_t unscramble(uint32_t key) { return 0x0e8b2f51u * __brev(key); }
__device__ __forceinline__ uint64_t unscramble(uint64_t key) { return 0xf1de83e19937733dull * __brevll(key); }

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

/* Lower a signature; a load first, past L1, saves most atomics on popular rows. */
__device__ __forceinline__ void pass(Key key, Key* place) {
    if (key < __ldcg(place)) {
        atomicMin(place, key);
    }
}

/* Pass signatures along this block's arcs once; returns whether this thread passed any. It passes the signature of the
   signature's row, which may be lower (a jump). */
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

/* Lower the signatures of the ends of this block's arcs to those of the signatures' rows, if these have become lower; returns
   whether this thread lowered any. Rows that share a signature would otherwise learn of a lower one row by row. */
__device__ bool jump(const Arc* first, const Arc* end, Signature* signatures) {
    bool changed = false;
    for (const Arc* at = first + threadIdx.x; at < end; at += THREADS) {
        const Arc arc = *at;
        const Key fore = read(signatures + arc.to).fore, back = read(signatures + arc.from).back;
        const Key before = read(signatures + unscramble(fore)).fore, behind = read(signatures + unscramble(back)).back;
        if (before < fore) {
            pass(before, &signatures[arc.to].fore);
            changed = true;
        }
        if (behind < back) {
            pass(behind, &signatures[arc.from].back);
            changed = true;
        }
    }
    return changed;
}

/* Label the endpoints of this block's arcs that lie in a component; drop these arcs and those between rows of different
   signatures. Returns the end of the arcs kept. */
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

/* Find the components among the listed arcs. Returns false if this was given up, after sweeps that took as long as more than
   `most_thin` barriers. */
__device__ bool solve_rest(
    Arc* list, uint64_t listed, Signature* signatures, ROW* labels, int64_t most_thin, Summing& sums) {
    Arc* first = list + listed * blockIdx.x / gridDim.x;
    Arc* end = list + listed * (blockIdx.x + 1) / gridDim.x;
    while (listed > 0) {
        for (const Arc* at = first + threadIdx.x; at < end; at += THREADS) {
            const Key from = scramble((Key)at->from), to = scramble((Key)at->to);
            signatures[at->from] = {from, from};
            signatures[at->to] = {to, to};
        }
        sums.close();
        int round = 0;
        do {
            most_thin -= SWEEPS * (int64_t)(1 + listed / num_threads());
            if (most_thin < 0) {
                return false;
            }
            bool changed = round++ >= PATIENCE && __syncthreads_or(jump(first, end, signatures));
            for (int k = 0; k < SWEEPS && __syncthreads_or(sweep(first, end, signatures)); ++k) {
                changed = true;
            }
            if (changed && threadIdx.x == 0) {
                atomicAdd(sums.count(), (uint64_t)1);
            }
        } while (sums.close());
        end = drop_arcs(first, end, signatures, labels);
        if (end > first && threadIdx.x == 0) {
            atomicAdd(sums.count(), (uint64_t)(end - first));
        }
        listed = sums.close();
    }
    return true;
}
