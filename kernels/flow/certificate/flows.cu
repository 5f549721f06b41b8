/* The certificate of flows (__init__.py states what it proves), a block for each pair. Returns in `broken` whether it is refused.

   The rows to which the source can send more are searched along arcs that are not full, and against arcs of the flow, of which
   all are looked at in each level, because the graph does not say where an in-arc is among the out-arcs. The cut is the list of
   the arcs that leave these rows if each pair of ends in it has as many entries as arcs, and it has as many entries as there are
   such arcs in all.

   Encodings: a block has a slot of `carried` [A], of `balance` [V], what a row sends more than it receives, and of `queue` [V];
   then `balance` is 1 for a row that was reached, and 0 for others. */
#include "gpu/device.cuh"

struct Graph {
    const int64_t* offsets;
    const ROW* indices;
    const int64_t* capacity;
    const ROW* positions;
    int64_t num_rows;
    int64_t num_arcs;
};

struct Cut {
    const ROW *src, *dst;
    int64_t begin, end;
};

/* Sum over all threads of the block, in all of them; every thread calls it. */
__device__ int64_t sum_of_block(int64_t value, unsigned long long* shared) {
    __syncthreads();
    if (threadIdx.x == 0) {
        *shared = 0;
    }
    __syncthreads();
    value = sum_of_warp(value);
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(shared, (unsigned long long)value);
    }
    __syncthreads();
    return (int64_t)*shared;
}

/* Whether an entry of the cut is not behind the one before it, does not leave the reached rows, or its ends do not occur as often
   as arcs between them have a capacity. */
__device__ bool misplaced(const Graph& graph, const Cut& cut, const int64_t* reached, int64_t entry) {
    const ROW src = cut.src[entry], dst = cut.dst[entry];
    if (entry > cut.begin) {
        const ROW before = cut.src[entry - 1], head = cut.dst[entry - 1];
        if (before == src && head == dst) {
            return false;  // the first entry of these ends was counted
        }
        if (graph.positions[before] > graph.positions[src] || (before == src && graph.positions[head] > graph.positions[dst])) {
            return true;
        }
    }
    int64_t entries = 0, arcs = 0;
    while (entry + entries < cut.end && cut.src[entry + entries] == src && cut.dst[entry + entries] == dst) {
        ++entries;
    }
    const ROW place = graph.positions[dst];
    const ROW* indices = graph.indices;
    const ROW* positions = graph.positions;
    const int64_t end = graph.offsets[src + 1];
    const auto before_place = [=](int64_t i) { return positions[indices[i]] < place; };
    int64_t arc = first_not(graph.offsets[src], end, before_place);
    for (; arc < end && graph.indices[arc] == dst; ++arc) {
        arcs += graph.capacity[arc] > 0;
    }
    return entries != arcs || !reached[src] || reached[dst];
}

extern "C" __global__ void __launch_bounds__(PROOF_THREADS, 2)
check_flows(const int64_t* offsets, const ROW* indices, const int64_t* capacity, const ROW* positions, int64_t num_rows,
            int64_t num_arcs, const ROW* src, const ROW* dst, const int64_t* vertices, const int64_t* flow_begins,
            const ROW* tails, const int64_t* flow_arcs, const int64_t* amounts, const int64_t* cut_begins, const ROW* cut_src,
            const ROW* cut_dst, int64_t* all_carried, int64_t* all_balances, ROW* queues, int64_t* sent, uint32_t* broken) {
    __shared__ unsigned long long total;
    __shared__ uint32_t tail;
    const Graph graph = {offsets, indices, capacity, positions, num_rows, num_arcs};
    const int64_t slot = blockIdx.x, begin = flow_begins[slot], end = flow_begins[slot + 1];
    int64_t *carried = all_carried + slot * num_arcs, *balance = all_balances + slot * num_rows;
    ROW* queue = queues + slot * num_rows;
    const ROW source = src[slot], target = dst[slot];
    bool wrong = false;
    for (int64_t arc = threadIdx.x; arc < num_arcs; arc += PROOF_THREADS) {
        carried[arc] = 0;
    }
    for (int64_t row = threadIdx.x; row < num_rows; row += PROOF_THREADS) {
        balance[row] = 0;
    }
    __syncthreads();
    for (int64_t entry = begin + threadIdx.x; entry < end; entry += PROOF_THREADS) {
        const int64_t arc = flow_arcs[entry], amount = amounts[entry];
        wrong |= amount <= 0 || amount > capacity[arc] || (entry > begin && flow_arcs[entry - 1] >= arc);
        carried[arc] = amount;
        atomicAdd((unsigned long long*)balance + tails[entry], (unsigned long long)amount);
        atomicAdd((unsigned long long*)balance + indices[arc], (unsigned long long)-amount);
    }
    __syncthreads();
    const int64_t value = balance[source];
    for (int64_t row = threadIdx.x; row < num_rows; row += PROOF_THREADS) {
        wrong |= balance[row] != 0 && row != source && row != target;
    }
    __syncthreads();
    for (int64_t row = threadIdx.x; row < num_rows; row += PROOF_THREADS) {
        balance[row] = row == source;
    }
    if (threadIdx.x == 0) {
        sent[slot] = value;
        queue[0] = source;
        tail = 1;
    }
    __syncthreads();
    for (int64_t head = 0, stop = 1; head < stop;) {
        for (int64_t place = head + (threadIdx.x >> 3); place < stop; place += PROOF_THREADS >> 3) {  // eight lanes for a row
            const ROW row = queue[place];
            for (int64_t arc = offsets[row] + (threadIdx.x & 7); arc < offsets[row + 1]; arc += 8) {
                if (carried[arc] < capacity[arc] && swap_if(balance + indices[arc], (int64_t)0, (int64_t)1) == 0) {
                    queue[atomicAdd(&tail, 1u)] = indices[arc];
                }
            }
        }
        for (int64_t entry = begin + threadIdx.x; entry < end; entry += PROOF_THREADS) {
            if (balance[indices[flow_arcs[entry]]] && swap_if(balance + tails[entry], (int64_t)0, (int64_t)1) == 0) {
                queue[atomicAdd(&tail, 1u)] = tails[entry];
            }
        }
        __syncthreads();
        head = stop;
        stop = tail;
        __syncthreads();
    }
    wrong |= balance[target] != 0 || (int64_t)tail != vertices[slot];
    int64_t crossing = 0, across = 0;
    for (int64_t place = threadIdx.x; place < (int64_t)tail; place += PROOF_THREADS) {
        const ROW row = queue[place];
        for (int64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
            if (!balance[indices[arc]]) {
                crossing += capacity[arc] > 0;
                across += capacity[arc];
            }
        }
    }
    const Cut cut = {cut_src, cut_dst, cut_begins[slot], cut_begins[slot + 1]};
    wrong |= sum_of_block(crossing, &total) != cut.end - cut.begin;
    wrong |= sum_of_block(across, &total) != value;
    for (int64_t entry = cut.begin + threadIdx.x; entry < cut.end; entry += PROOF_THREADS) {
        wrong |= misplaced(graph, cut, balance, entry);
    }
    if (wrong) {
        *broken = 1;
    }
}
