/* A team of TEAM_BLOCKS blocks that can access each other's shared memory: a thread-block cluster, or a single block where the
   device has no clusters (teams.py). */
#pragma once

#include "gpu/device.cuh"

#if TEAM_BLOCKS > 1
#define TEAM __cluster_dims__(TEAM_BLOCKS, 1, 1)
#define TEAM_SPACE "shared::cluster"
#define TEAM_SCOPE "cluster."
#else
#define TEAM
#define TEAM_SPACE "shared"
#define TEAM_SCOPE "cta."
#endif

/* Index of this block in its team. */
__device__ __forceinline__ uint32_t team_rank() {
    uint32_t rank = 0;
#if TEAM_BLOCKS > 1
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

/* The address in the shared memory of block `rank` of the team that corresponds to `here` in this block's. */
__device__ __forceinline__ uint32_t team_address_of(uint32_t here, uint32_t rank) {
    uint32_t address = here;
#if TEAM_BLOCKS > 1
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(here), "r"(rank));
#endif
    return address;
}

__device__ __forceinline__ uint32_t team_address(const void* here, uint32_t rank) {
    return team_address_of((uint32_t)__cvta_generic_to_shared(here), rank);
}

/* Set bits at a team address if `wanted`; return the previous value, or all bits if not. */
__device__ __forceinline__ uint32_t team_or(uint32_t address, uint32_t bits, bool wanted) {
    uint32_t before;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; mov.b32 %0, 0xffffffff; @p atom.relaxed." TEAM_SCOPE TEAM_SPACE
                 ".or.b32 %0, [%1], %2;}"
                 : "=&r"(before)
                 : "r"(address), "r"(bits), "r"((uint32_t)wanted)
                 : "memory");
    return before;
}

/* Atomically replace the value at a team address by `left`; return the previous value. */
__device__ __forceinline__ int32_t team_exchange(uint32_t address, int32_t left) {
    int32_t value;
    asm volatile("atom.relaxed." TEAM_SCOPE TEAM_SPACE ".exch.b32 %0, [%1], %2;"
                 : "=r"(value) : "r"(address), "r"(left) : "memory");
    return value;
}

__device__ __forceinline__ int64_t team_exchange(uint32_t address, int64_t left) {
    int64_t value;
    asm volatile("atom.relaxed." TEAM_SCOPE TEAM_SPACE ".exch.b64 %0, [%1], %2;"
                 : "=l"(value) : "r"(address), "l"(left) : "memory");
    return value;
}

/* Store `value` at an address of this block's shared memory if `wanted`. */
__device__ __forceinline__ void team_put(uint32_t address, int32_t value, bool wanted) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p st.relaxed." TEAM_SCOPE "shared.b32 [%0], %1;}" ::"r"(address),
                 "r"(value), "r"((uint32_t)wanted)
                 : "memory");
}

__device__ __forceinline__ void team_put(uint32_t address, int64_t value, bool wanted) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p st.relaxed." TEAM_SCOPE "shared.b64 [%0], %1;}" ::"r"(address),
                 "l"(value), "r"((uint32_t)wanted)
                 : "memory");
}

__device__ __forceinline__ void team_store(uint32_t address, uint64_t value) {
    asm volatile("st.relaxed." TEAM_SCOPE TEAM_SPACE ".u64 [%0], %1;" ::"r"(address), "l"(value) : "memory");
}

/* Load from this block's shared memory a value that another block of the team may have stored. */
__device__ __forceinline__ uint64_t team_load(const uint64_t* here) {
    uint64_t value;
    asm volatile("ld.relaxed." TEAM_SCOPE "shared.u64 %0, [%1];"
                 : "=l"(value) : "r"((uint32_t)__cvta_generic_to_shared(here)) : "memory");
    return value;
}

/* All threads of the team wait for each other; writes before it are visible after it. */
__device__ __forceinline__ void team_barrier() {
#if TEAM_BLOCKS > 1
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}
