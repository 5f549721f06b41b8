/* Maximum flows, a block for each pair: a road network does not fill a GPU, but its pairs do.

   Method: synchronous push-relabel (Goldberg, Tarjan: A New Approach to the Maximum-Flow Problem. JACM 35(4), 1988). In a round
   the active rows, which hold an excess, push it to rows that are one lower; then those that still hold some are lifted above the
   lowest row to which they have a link. Heights do not change while rows push, so a link and its way back are written by one
   team only; they change all at once, so that no link ever leads down by more than one. Searches set all heights to distances:
   to the target, or V plus those to the source, to which excess returns that the target cannot take. They run at the beginning,
   and again after as many rounds with lifted rows as the searches before had levels. (Cherkassky, Goldberg: On Implementing the
   Push-Relabel Method for the Maximum Flow Problem. Algorithmica 19, 1997.)

   Balance: a row is read by a team of `width` lanes of a warp, about as many as a row has links.

   Encodings: each block has a slot of every array of state. `left` is what a link can carry still; a row's mark is the last round
   in which it was listed. At the end `heights` are not negative on the source's side of the cut, and -1 elsewhere. */
#include "gpu/device.cuh"

struct Network {
    const int64_t* __restrict__ offsets;
    const ROW* __restrict__ heads;
    const int64_t* __restrict__ back;
    int64_t num_rows;
};

struct Team {
    int width, lane;
    uint32_t mask;

    __device__ explicit Team(int lanes) {
        width = lanes;
        lane = threadIdx.x & (lanes - 1);
        mask = (lanes == 32 ? FULL_WARP : (1u << lanes) - 1) << ((threadIdx.x & 31) - lane);
    }

    __device__ __forceinline__ int64_t from(int64_t value, int of) const { return __shfl_sync(mask, value, of, width); }

    __device__ __forceinline__ int64_t sum_to_lane(int64_t value) const {
        for (int step = 1; step < width; step <<= 1) {
            const int64_t lower = __shfl_up_sync(mask, value, step, width);
            value += lane >= step ? lower : 0;
        }
        return value;
    }

    __device__ __forceinline__ int64_t least(int64_t value) const {
        for (int step = width >> 1; step > 0; step >>= 1) {
            const int64_t other = __shfl_xor_sync(mask, value, step, width);
            value = other < value ? other : value;
        }
        return value;
    }
};

/* The state of one pair. */
struct Pair {
    Network net;
    ROW source, target;
    int64_t *left, *heights, *excess, *lifted;
    uint32_t* marks;
    ROW *active, *next, *queue;
    uint32_t* count;  // of `next`, or the end of `queue`: shared memory

    /* List a row for the next round, once. */
    __device__ __forceinline__ void list_row(ROW row, uint32_t round) const {
        if (row != source && row != target && atomicExch(marks + row, round) != round) {
            next[atomicAdd(count, 1u)] = row;
        }
    }
};

/* Breadth-first search from `start` among rows of height `unseen`, against the links or, for the cut, along them. Returns how
   many rows it reached, and adds its levels to `levels`. */
__device__ int64_t search(const Pair& pair, const Team& team, ROW start, bool along, int64_t unseen, int64_t* levels) {
    const int64_t first = threadIdx.x / team.width, teams = THREADS / team.width;
    __syncthreads();
    if (threadIdx.x == 0) {
        pair.queue[0] = start;
        *pair.count = 1;
    }
    __syncthreads();
    int64_t begin = 0, end = 1;
    while (begin < end) {
        for (int64_t place = begin + first; place < end; place += teams) {
            const ROW row = pair.queue[place];
            const int64_t height = pair.heights[row] + 1;
            for (int64_t link = pair.net.offsets[row] + team.lane; link < pair.net.offsets[row + 1]; link += team.width) {
                const ROW near = pair.net.heads[link];
                if (pair.heights[near] == unseen && pair.left[along ? link : pair.net.back[link]] > 0 &&
                    swap_if(pair.heights + near, unseen, height) == unseen) {
                    pair.queue[atomicAdd(pair.count, 1u)] = near;
                }
            }
        }
        __syncthreads();
        begin = end;
        end = *pair.count;
        *levels += 1;
        __syncthreads();
    }
    return end;
}

__device__ void fill_heights(const Pair& pair, int64_t value) {
    for (int64_t row = threadIdx.x; row < pair.net.num_rows; row += THREADS) {
        pair.heights[row] = value;
    }
    __syncthreads();
}

/* Distances to the target; of rows that do not reach it, V plus those to the source. Returns the number of levels. */
__device__ int64_t set_heights(const Pair& pair, const Team& team) {
    const int64_t unseen = 2 * pair.net.num_rows;
    fill_heights(pair, unseen);
    if (threadIdx.x == 0) {
        pair.heights[pair.target] = 0;
        pair.heights[pair.source] = pair.net.num_rows;
    }
    int64_t levels = 0;
    search(pair, team, pair.target, false, unseen, &levels);
    search(pair, team, pair.source, false, unseen, &levels);
    return levels;
}

/* Push what active rows hold to rows that are one lower. */
__device__ void push(const Pair& pair, const Team& team, int64_t count, uint32_t round) {
    for (int64_t place = threadIdx.x / team.width; place < count; place += THREADS / team.width) {
        const ROW row = pair.active[place];
        const int64_t height = pair.heights[row], end = pair.net.offsets[row + 1];
        const int64_t held = team.from(pair.excess[row], 0);  // others may add to it meanwhile
        int64_t rest = held;
        for (int64_t base = pair.net.offsets[row]; base < end && rest > 0; base += team.width) {
            const int64_t link = base + team.lane;
            const ROW head = link < end ? pair.net.heads[link] : row;
            const int64_t most = link < end && pair.heights[head] + 1 == height ? pair.left[link] : 0;
            const int64_t before = team.sum_to_lane(most), spare = rest - (before - most);
            const int64_t amount = spare < most ? (spare > 0 ? spare : 0) : most;
            if (amount > 0) {
                pair.left[link] -= amount;
                pair.left[pair.net.back[link]] += amount;
                atomicAdd((unsigned long long*)pair.excess + head, (unsigned long long)amount);
                pair.list_row(head, round);
            }
            const int64_t total = team.from(before, team.width - 1);
            rest -= total < rest ? total : rest;
        }
        if (team.lane == 0 && rest < held) {
            atomicAdd((unsigned long long*)pair.excess + row, (unsigned long long)(rest - held));
        }
    }
    __syncthreads();
}

/* Lift the active rows that still hold something, and list them again. Returns whether there are any, to all threads. */
__device__ bool lift(const Pair& pair, const Team& team, int64_t count, uint32_t round) {
    const int64_t first = threadIdx.x / team.width, teams = THREADS / team.width;
    for (int64_t place = first; place < count; place += teams) {
        const ROW row = pair.active[place];
        int64_t lowest = 2 * pair.net.num_rows;
        if (pair.excess[row] > 0) {
            for (int64_t link = pair.net.offsets[row] + team.lane; link < pair.net.offsets[row + 1]; link += team.width) {
                const int64_t height = pair.heights[pair.net.heads[link]];
                lowest = height < lowest && pair.left[link] > 0 ? height : lowest;
            }
        }
        lowest = team.least(lowest);
        if (team.lane == 0) {
            pair.lifted[place] = lowest;
        }
    }
    __syncthreads();
    bool any = false;
    for (int64_t place = threadIdx.x; place < count; place += THREADS) {
        const ROW row = pair.active[place];
        if (pair.excess[row] > 0) {
            if (pair.lifted[place] >= pair.heights[row]) {
                pair.heights[row] = pair.lifted[place] + 1;
                any = true;
            }
            pair.list_row(row, round);
        }
    }
    return __syncthreads_or(any);
}

/* All arrays but the network's have a slot for each of the `gridDim.x` pairs. */
// spills: 25 words on sm_120; a block of THREADS leaves each thread 80 registers
extern "C" __global__ void __launch_bounds__(THREADS)
solve(const int64_t* offsets, const ROW* heads, const int64_t* capacity, const int64_t* back, int64_t num_rows, int64_t num_links,
      int width, const ROW* src, const ROW* dst, int64_t* left, int64_t* state, uint32_t* marks, ROW* lists, int64_t* value,
      int64_t* vertices) {
    __shared__ uint32_t listed;
    const int64_t slot = blockIdx.x;
    const Team team(width);
    int64_t* rows = state + 3 * slot * num_rows;
    ROW* places = lists + 3 * slot * num_rows;
    Pair pair = {{offsets, heads, back, num_rows}, src[slot], dst[slot], left + slot * num_links, rows, rows + num_rows,
                 rows + 2 * num_rows, marks + slot * num_rows, places, places + num_rows, places + 2 * num_rows, &listed};
    for (int64_t link = threadIdx.x; link < num_links; link += THREADS) {
        pair.left[link] = capacity[link];
    }
    for (int64_t row = threadIdx.x; row < num_rows; row += THREADS) {
        pair.excess[row] = 0;
        pair.marks[row] = 0;
    }
    if (threadIdx.x == 0) {
        listed = 0;
    }
    __syncthreads();
    uint32_t round = 1;
    for (int64_t link = offsets[pair.source] + threadIdx.x; link < offsets[pair.source + 1]; link += THREADS) {
        const int64_t amount = pair.left[link];
        if (heads[link] != pair.source && amount > 0) {
            pair.left[link] = 0;
            pair.left[back[link]] += amount;
            atomicAdd((unsigned long long*)pair.excess + heads[link], (unsigned long long)amount);
            pair.list_row(heads[link], round);
        }
    }
    __syncthreads();
    int64_t count = listed, levels = 0, lifting = 1;  // so that the heights are set first
    while (count > 0) {
        if (lifting > levels) {
            levels = set_heights(pair, team);
            lifting = 0;
        }
        ROW* done = pair.active;
        pair.active = pair.next;
        pair.next = done;
        __syncthreads();
        if (threadIdx.x == 0) {
            listed = 0;
        }
        __syncthreads();
        ++round;
        push(pair, team, count, round);
        lifting += lift(pair, team, count, round);
        count = listed;
    }
    __syncthreads();
    fill_heights(pair, -1);
    if (threadIdx.x == 0) {
        pair.heights[pair.source] = 0;
        value[slot] = pair.excess[pair.target];
    }
    const int64_t reached = search(pair, team, pair.source, true, -1, &levels);
    if (threadIdx.x == 0) {
        vertices[slot] = reached;
    }
}
