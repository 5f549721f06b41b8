/* The interface between a compiled kernel and the machine that runs it (machine.cpp). It includes no standard header, because
   the standard int64_t differs from the kernels' type. */
#pragma once

namespace emulated {

struct Index {
    unsigned x, y, z;
};

/* The running thread. */
struct Thread {
    Index thread, block;
    char* shared; /* shared memory of its block: the static part, then the dynamic part */
};

extern Thread* self;
extern Index block_size, grid_size;
extern unsigned long long dynamic_shared; /* offset of the dynamic part */

/* Combine one value of each lane in `mask`, when all of these lanes have arrived. SYNC returns nothing; VOTE the lanes with non-zero
   values; SHUFFLE the value of lane `from`, or poison if that lane is not in the mask; MATCH the lanes with equal values; the others
   return the sum, minimum or maximum of all values. */
enum Exchange { SYNC, VOTE, SHUFFLE, MATCH, ADD, LEAST, LEAST_SIGNED, GREATEST, GREATEST_SIGNED };
unsigned long long exchange(Exchange kind, unsigned mask, unsigned long long value, int from, const char* file, int line);

/* The lanes of the warp that arrive here, with the same arguments, before this one continues. */
unsigned converged(const void* place, const void* caller, long depth);

/* Barrier of all threads of the block that have not ended; returns the number of non-zero values. */
unsigned block_barrier(bool value, const char* file, int line);
void cluster_barrier();
unsigned cluster_rank();

void may_yield(); /* another thread may run here */
void yield();     /* another thread runs here, because this one may wait for it */

/* Converts between pointers into a block's shared memory and 32-bit addresses, whose upper bits are 1 + the block's rank in its
   cluster, or 0 for the running thread's own block. */
const int RANK_SHIFT = 24;
unsigned shared_address(const void* place);
char* shared_place(unsigned address);
char* in_block_of_cluster(const void* place, unsigned rank);

struct Parameter {
    int bytes;
    char kind; /* NumPy's kind; 'p' for a pointer, 'V' for a struct */
};

struct Kernel {
    void (*run)(void** arguments);
    const Parameter* parameters;
    int num_parameters;
    int most_threads; /* per block; 0 if the source states none */
    int cluster;      /* blocks per cluster; 0 if there are none */
    const char* shared; /* numbers of its static shared variables */
};

}
