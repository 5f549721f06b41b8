/* What a compiled kernel and the machine that runs it (machine.cpp) know of each other. No header of the standard library: its
   int64_t is another type than the kernels'. */
#pragma once

namespace emulated {

struct Index {
    unsigned x, y, z;
};

/* The thread that runs. */
struct Thread {
    Index thread, block;
    char* shared; /* the shared memory of its block: the static part, then the dynamic one */
};

extern Thread* self;
extern Index block_size, grid_size;
extern unsigned long long dynamic_shared; /* where the dynamic part begins */

/* What the lanes in `mask` make of a value of each, when all of them have come: SYNC nothing; VOTE the lanes with a value that is not
   zero; SHUFFLE the value of lane `from`, or poison if that is none of them; MATCH the lanes with an equal value; the others the sum,
   least or greatest of all values. */
enum Exchange { SYNC, VOTE, SHUFFLE, MATCH, ADD, LEAST, LEAST_SIGNED, GREATEST, GREATEST_SIGNED };
unsigned long long exchange(Exchange kind, unsigned mask, unsigned long long value, int from, const char* file, int line);

/* All threads of the block that have not ended wait for each other; how many brought a value that is not zero. */
unsigned block_barrier(bool value, const char* file, int line);
void cluster_barrier();
unsigned cluster_rank();

void touch(); /* another thread may run here */
void look();  /* another thread runs here, for this one may wait for it */

/* The 32-bit address of a place in a block's shared memory, and the place: the upper bits are 1 + the block's rank in its cluster,
   or 0 for the running thread's own. */
const int RANK_SHIFT = 24;
unsigned shared_address(const void* place);
char* shared_place(unsigned address);
char* in_block_of_cluster(const void* place, unsigned rank);

struct Parameter {
    int bytes;
    char kind; /* as NumPy's kinds; 'p' for a pointer, 'V' for a struct */
};

struct Kernel {
    void (*run)(void** arguments);
    const Parameter* parameters;
    int num_parameters;
    int most_threads; /* of a block, 0 where the source does not say */
    int cluster;      /* blocks of a cluster, 0 where there are none */
};

}
