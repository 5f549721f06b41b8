/* A team of blocks that share their shared memory: a thread-block cluster of sm_90 and later, or a single block before. */
#pragma once

#include "device.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define TEAM_BLOCKS 16 /* not portable: the launcher has to allow it; every H100, H200 and B200 has it */
#define TEAM __cluster_dims__(TEAM_BLOCKS, 1, 1)
#else
#define TEAM_BLOCKS 1
#define TEAM
#endif

#if TEAM_BLOCKS > 1
/* This block's place in its team. */
__device__ __forceinline__ uint32_t team_rank() {
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* Address of `here`, in this block's shared memory, in the shared memory of block `rank` of the team. */
__device__ __forceinline__ uint32_t team_address(const void* here, uint32_t rank) {
    uint32_t address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"((uint32_t)__cvta_generic_to_shared(here)), "r"(rank));
    return address;
}

__device__ __forceinline__ int32_t team_load(uint32_t address, const int32_t*) {
    int32_t value;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

__device__ __forceinline__ int64_t team_load(uint32_t address, const int64_t*) {
    int64_t value;
    asm volatile("ld.shared::cluster.s64 %0, [%1];" : "=l"(value) : "r"(address) : "memory");
    return value;
}

__device__ __forceinline__ void team_store(uint32_t address, uint32_t value) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

/* All threads of the team wait for each other; writes before it are visible after it. */
__device__ __forceinline__ void team_barrier() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
#else
__device__ __forceinline__ uint32_t team_rank() {
    return 0;
}

__device__ __forceinline__ uint32_t team_address(const void* here, uint32_t) {
    return (uint32_t)__cvta_generic_to_shared(here);
}

__device__ __forceinline__ int32_t team_load(uint32_t address, const int32_t*) {
    int32_t value;
    asm volatile("ld.shared.s32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

__device__ __forceinline__ int64_t team_load(uint32_t address, const int64_t*) {
    int64_t value;
    asm volatile("ld.shared.s64 %0, [%1];" : "=l"(value) : "r"(address) : "memory");
    return value;
}

__device__ __forceinline__ void team_store(uint32_t address, uint32_t value) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

__device__ __forceinline__ void team_barrier() {
    __syncthreads();
}
#endif
