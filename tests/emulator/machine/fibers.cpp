/* Fibers: one runs at a time, until it waits for others or yields. The next one is the first of a queue or, with a seed, a random one.

   A switch uses GCC's __builtin_setjmp and __builtin_longjmp, which take a few instructions; ucontext only starts a fiber (Engelschall:
   Portable Multithreading, USENIX 2000). Stacks are in huge pages; their tops are in different cache sets. */
#include "fibers.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

namespace emulated {

Thread* self;
Queue ready;
std::string failure;

namespace {

const size_t STACK = (16 << 10) + 576, MOST_FIBERS = 1 << 16;
const unsigned long long CANARY = 0x5afe57ac5afe57acull;
const int FUEL = 64; /* atomics and volatile loads after which a fiber yields */

char* stacks;
ucontext_t maker;
void* home[5];
bool at_random;
unsigned long long random_state, switches;
int fuel;
double ends;

double seconds_of_this_thread() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

unsigned draw(unsigned below) { /* xorshift */
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 32) * below >> 32);
}

void yield_now() {
    ready.put_last(running());
    wait();
}

char* stack_of(unsigned number) {
    return stacks + number * STACK;
}

unsigned number_of(const Fiber* fiber) {
    return (unsigned)(((const char*)fiber - stacks) / STACK);
}

/* The main function of a fiber: one kernel after another. */
void live() {
    if (__builtin_setjmp(running()->there) == 0) {
        setcontext(&maker);
    }
    for (;;) {
        const bool block_ended = live_once();
        if (*(const unsigned long long*)stack_of(number_of(running())) != CANARY) {
            leave("a thread used more stack than the emulator has");
        }
        running()->ready = true;
        if (__builtin_setjmp(running()->there) == 0) {
            block_ended ? go_home() : run_next();
        }
    }
}

}

Fiber* Queue::take(unsigned place) {
    const unsigned mask = (unsigned)ring.size() - 1;
    Fiber* taken = ring[(first + place) & mask];
    ring[(first + place) & mask] = ring[first & mask];
    ++first;
    --count;
    return taken;
}

void Queue::grow() {
    std::vector<Fiber*> larger(ring.empty() ? 1024 : 2 * ring.size());
    for (unsigned k = 0; k < count; ++k) {
        larger[k] = ring[(first + k) & (ring.size() - 1)];
    }
    ring.swap(larger);
    first = 0;
}

void Queue::put_last(Fiber* fiber) {
    if (count == ring.size()) {
        grow();
    }
    ring[(first + count++) & (ring.size() - 1)] = fiber;
}

void Queue::put_first(Fiber* fiber) {
    if (count == ring.size()) {
        grow();
    }
    --first;
    ++count;
    ring[first & (ring.size() - 1)] = fiber;
}

void use_turns(unsigned long long seed, double seconds) {
    random_state = seed * 0x9e3779b97f4a7c15ull + 1;
    at_random = seed != 0;
    fuel = FUEL;
    switches = 0;
    ends = seconds_of_this_thread() + seconds;
    failure.clear();
    ready.clear();
}

__attribute__((noinline)) void run_next() {
    if (ready.size() == 0) {
        go_home();
    }
    if ((++switches & 0xfff) == 0 && seconds_of_this_thread() > ends) {
        leave("it does not end: threads wait for an event that never happens, or the work is too much for the emulator");
    }
    self = ready.take(at_random ? draw(ready.size()) : 0);
    __builtin_longjmp(running()->there, 1);
}

__attribute__((noinline)) void wait() {
    if (__builtin_setjmp(running()->there) == 0) {
        run_next();
    }
}

__attribute__((noinline)) void go_home() {
    __builtin_longjmp(home, 1);
}

__attribute__((noinline)) void run_until_home() {
    if (__builtin_setjmp(home) == 0) {
        run_next();
    }
}

void leave(const std::string& why) {
    failure = why;
    go_home();
}

std::string at(const char* file, int line) {
    return std::string(file) + ":" + std::to_string(line);
}

Fiber* idle_fiber(unsigned number) {
    if (!stacks) {
        const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        stacks = (char*)mmap(nullptr, MOST_FIBERS * STACK, PROT_READ | PROT_WRITE, how, -1, 0);
        madvise(stacks, MOST_FIBERS * STACK, MADV_HUGEPAGE);
    }
    Fiber* fiber = (Fiber*)(stack_of(number) + STACK - sizeof(Fiber) / 64 * 64 - 64);
    if (!fiber->ready) {
        memset((void*)fiber, 0, sizeof(Fiber));
        *(unsigned long long*)stack_of(number) = CANARY;
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = stack_of(number) + 64;
        context.uc_stack.ss_size = (size_t)((char*)fiber - stack_of(number)) - 64;
        context.uc_link = nullptr;
        makecontext(&context, live, 0);
        self = fiber;
        swapcontext(&maker, &context);
    }
    fiber->ready = false;
    return fiber;
}

void may_yield() {
    if (at_random ? draw(4) == 0 : --fuel <= 0) {
        fuel = FUEL;
        yield_now();
    }
}

void yield() {
    yield_now();
}

}
