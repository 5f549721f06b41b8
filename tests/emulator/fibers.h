/* What the parts of the machine share: fibers, the queue of those that can go on, warps, blocks and clusters. */
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

/* A thread, at the upper end of its stack. */
struct Fiber : Thread {
    void* there[5]; /* where it goes on, as __builtin_setjmp has it */
    Block* in_block;
    Warp* warp;
    int lane;
    bool ready; /* to begin a kernel */
    unsigned long long found; /* what it waited for */
};

/* Lanes that wait for the others of their mask. */
struct Waiting {
    Exchange kind;
    unsigned mask, here;
    const char* file;
    int line;
    unsigned long long values[WARP];
    signed char from[WARP];
};

struct Warp {
    unsigned alive;
    Fiber* lanes[WARP];
    std::vector<Waiting> waiting;
};

struct Cluster {
    unsigned first, alive; /* its first block; threads that have not ended */
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

/* The fibers that can go on, in their order. */
class Queue {
  public:
    unsigned size() const { return count; }
    Fiber* take(unsigned place); /* the last one comes into its place, but for the first's */
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
void use_turns(unsigned long long seed, double seconds); /* at a launch's start; without a seed in order */
void wait();                                            /* until another fiber puts this one in the queue */
[[noreturn]] void run_next();
[[noreturn]] void go_home();                             /* to `run_until_home`'s caller */
void run_until_home();                                  /* let fibers run until one goes home, or none can go on */
Fiber* idle_fiber(unsigned number);                     /* one that stands before the kernel */
[[noreturn]] void leave(const std::string& why);        /* ends the launch */
extern std::string failure;
std::string at(const char* file, int line);

/* warps.cpp */
bool end_exchanges(Warp* warp, Fiber* last);

/* machine.cpp */
bool live_once(); /* the kernel, by the running fiber; returns whether its block has ended and another one waits for the place */

}
