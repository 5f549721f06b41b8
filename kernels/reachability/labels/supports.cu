/* The supports: in every band of levels the nodes with the largest product of degrees (kernels/reachability/__init__.py).

   A round finds the next support of every band: first its score, then the smallest node with this score.

   ROW is the type of a node's number. */
#include "reachability/nodes.cuh"

struct Pick {
    uint64_t score; /* zero if the band has no more nodes */
    uint64_t node;
};

extern "C" __global__ void __launch_bounds__(SUPPORT_THREADS, 2) choose_supports(
    const int32_t* level, const int32_t* deepest, const int64_t* child_offsets, const int64_t* parent_offsets, int64_t num_nodes,
    ROW* supports, uint64_t* reaches, uint64_t* reached, Pick* picks, uint32_t* barrier) {
    __shared__ Pick best[NUM_SUPPORTS];
    const int64_t levels = 1 + (int64_t)*deepest;
    const int64_t bands = levels < NUM_SUPPORTS ? levels : NUM_SUPPORTS;
    const int each = (int)(NUM_SUPPORTS / bands);
    for (int round = 0; round < each; ++round) {
        for (int phase = 0; phase < 2; ++phase) {
            for (int band = threadIdx.x; band < bands; band += SUPPORT_THREADS) {
                best[band] = Pick{0, ~0ull};
            }
            __syncthreads();
            for (int64_t node = global_thread(); node < num_nodes; node += num_threads()) {
                const int band = (int)(level[node] * bands / levels);
                const Pick* pick = picks + band * each + round;
                const uint64_t score = (uint64_t)support_score(child_offsets, parent_offsets, node);
                if (round > 0) {
                    const uint64_t above = __ldcg(&pick[-1].score);
                    if (score > above || (score == above && (uint64_t)node <= __ldcg(&pick[-1].node))) {
                        continue;
                    }
                }
                if (phase == 0 && score > *(volatile uint64_t*)&best[band].score) {
                    atomicMax(&best[band].score, score);
                }
                if (phase == 1 && score == __ldcg(&pick->score) && (uint64_t)node < *(volatile uint64_t*)&best[band].node) {
                    atomicMin(&best[band].node, (uint64_t)node);
                }
            }
            __syncthreads();
            for (int band = threadIdx.x; band < bands; band += SUPPORT_THREADS) {
                Pick* pick = picks + band * each + round;
                if (phase == 0 && best[band].score) {
                    atomicMax(&pick->score, best[band].score);
                }
                if (phase == 1 && best[band].node != ~0ull) {
                    atomicMin(&pick->node, best[band].node);
                }
            }
            grid_barrier(barrier);
        }
    }
    for (int64_t bit = global_thread(); bit < NUM_SUPPORTS; bit += num_threads()) {
        const bool is_used = __ldcg(&picks[bit].score) > 0;
        const uint64_t node = __ldcg(&picks[bit].node);
        supports[bit] = is_used ? (ROW)node : (ROW)-1;
        if (is_used) {
            reaches[node] = reached[node] = 1ull << bit;
        }
    }
}
