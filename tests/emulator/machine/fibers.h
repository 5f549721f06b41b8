/* Data structures of the machine: fibers, the queue of runnable fibers, warps, blocks and clusters. */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machine.h"

namespace emulated {

const int WARP = 32, MOST_WARPS = 32;
const unsigned char POISON = 0xCB;

struct Block;
struct Warp;

/* A CUDA thread; the structure is at the upper end of its stack. */
struct Fiber : Thread {
    void* there[5]; /* where it continues; written by __builtin_setjmp */
    Block* in_block;
    Warp* warp;
    int lane;
    bool ready; /* can begin a kernel */
    unsigned long long found; /* result of what it waited for */
};

/* Lanes that wait for the other lanes of their mask. */
struct Waiting {
    Exchange kind;
    unsigned mask, here;
    const char* file;
    int line;
    unsigned long long values[WARP];
    signed char from[WARP];
};

/* Lanes that have converged at a place of the code; the first one waits for others. */
struct Converged {
    const void *place, *caller;
    long depth;
    unsigned here;
};

struct Warp {
    unsigned alive;
    Fiber* lanes[WARP];
    std::vector<Waiting> waiting;
    std::vector<Converged> converged;
};

struct Cluster {
    unsigned first, alive; /* first block; number of threads that have not ended */
    std::vector<Fiber*> waiting;
};

struct Block {
    Index index;
    char* shared;
    unsigned rank, alive, values, first_fiber;
    Cluster* cluster;
    const char* file;
    int line;
    std::vector<Fiber*> waiting;
    unsigned num_warps;
    Warp warps[MOST_WARPS];
};

/* Queue of runnable fibers. */
class Queue {
  public:
    unsigned size() const { return count; }
    Fiber* take(unsigned place); /* the first fiber moves to the place of the taken one */
    void put_last(Fiber* fiber);
    void put_first(Fiber* fiber);
    void clear() { count = 0; }

  private:
    void grow();
    std::vector<Fiber*> ring;
    unsigned first = 0, count = 0;
};

extern Queue ready;

inline Fiber* running() {
    return static_cast<Fiber*>(self);
}

/* fibers.cpp */
void use_turns(unsigned long long seed, double seconds); /* called at the start of a launch; without a seed fibers run in order */
void wait();                                            /* until another fiber puts this one into the queue */
[[noreturn]] void run_next();
[[noreturn]] void go_home();                             /* returns to the caller of `run_until_home` */
void run_until_home();                                  /* run fibers until one calls `go_home`, or none is runnable */
Fiber* idle_fiber(unsigned number);                     /* a fiber that has not begun its kernel */
[[noreturn]] void leave(const std::string& why);        /* end the launch with this failure */
extern std::string failure;
std::string at(const char* file, int line);

/* warps.cpp */
bool end_exchanges(Warp* warp, Fiber* last);

/* machine.cpp */
bool live_once(); /* run the kernel in the running fiber; returns whether its block has ended and another block can start */

}
