/* A GPU of threads that take turns: one runs at a time, until it waits for others or gives way.

   A thread is a fiber with a stack of its own; the next one is the first of a queue or, with a seed, any one of it. Memory is
   sequentially consistent, so a fence that is missing is not found; a barrier that is missing is, if some order of turns shows it.
   An exchange of a warp is complete when all lanes of its mask have come that have not ended, as on GPUs since sm_70.

   Fibers switch by _setjmp and _longjmp, which make no system call; ucontext only starts them (Engelschall: Portable Multithreading,
   USENIX 2000). */
#include "machine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace emulated {

Thread* self;
Index block_size, grid_size;
unsigned long long dynamic_shared;

namespace {

constexpr size_t STACK = (48 << 10) + 576; /* no power of two: the stacks' tops would share few sets of the cache */
constexpr size_t PAGE = 4096;
constexpr unsigned char POISON = 0xCB;
constexpr unsigned long long CANARY = 0x5afe57ac5afe57acull;
constexpr int WARP = 32, MOST_WARPS = 32, FUEL = 64;

struct Block;
struct Warp;

struct Fiber : Thread {
    jmp_buf there;
    Block* in_block;
    Warp* warp;
    int lane;
    bool started = false;
    unsigned long long found; /* what it waited for */
    char* stack;
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
    unsigned rank_of_first, alive;
    std::vector<Fiber*> waiting;
};

struct Block {
    Index index;
    char* shared;
    unsigned rank, alive;
    Cluster* cluster;
    unsigned values;
    const char* file;
    int line;
    std::vector<Fiber*> waiting;
    Warp warps[MOST_WARPS];
    unsigned num_warps;
};

struct Machine {
    std::deque<Fiber*> ready;
    std::vector<std::unique_ptr<Fiber>> fibers, spare;
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<std::unique_ptr<Cluster>> clusters;
    unsigned long long random, switches;
    bool at_random;
    int fuel;
    unsigned live;
    const Kernel* kernel;
    void** arguments;
    jmp_buf home;
    char message[1000];
    double ends;
    size_t shared_bytes;
    std::vector<Block*> done;
};

Machine machine;
std::mutex one_launch;

double seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

unsigned draw(unsigned below) {
    machine.random ^= machine.random << 13;
    machine.random ^= machine.random >> 7;
    machine.random ^= machine.random << 17;
    return (unsigned)((machine.random >> 32) * below >> 32);
}

Fiber* running() {
    return static_cast<Fiber*>(self);
}

void describe(char* text, size_t size, const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(text, size, format, values);
    va_end(values);
}

[[noreturn]] void leave(const char* message) {
    if (message != machine.message) {
        describe(machine.message, sizeof(machine.message), "%s", message);
    }
    _longjmp(machine.home, 2);
}

/* Take the next fiber's place; the caller has seen to it that this one comes back. */
[[noreturn]] void run_next() {
    if (machine.ready.empty()) {
        _longjmp(machine.home, 1);
    }
    if ((++machine.switches & 0xfff) == 0 && seconds() > machine.ends) {
        leave("it does not end: some threads wait for what never comes, or the graph is too large for this");
    }
    if (machine.at_random) {
        std::swap(machine.ready.front(), machine.ready[draw((unsigned)machine.ready.size())]);
    }
    Fiber* next = machine.ready.front();
    machine.ready.pop_front();
    self = next;
    _longjmp(next->there, 1);
}

__attribute__((noinline)) void wait() {
    if (_setjmp(running()->there) == 0) {
        run_next();
    }
}

void give_way() {
    machine.ready.push_back(running());
    wait();
}

/* Who waited goes on before the others, while its stack is in the cache. */
void wake(std::vector<Fiber*>& waiting) {
    for (size_t k = waiting.size(); k-- > 0;) {
        machine.ready.push_front(waiting[k]);
    }
    waiting.clear();
}

void end_barrier_if_all_came(Block* block) {
    if (block->alive && block->waiting.size() == block->alive) {
        for (Fiber* fiber : block->waiting) {
            fiber->found = block->values;
        }
        block->values = 0;
        wake(block->waiting);
    }
}

void end_barrier_if_all_came(Cluster* cluster) {
    if (cluster && cluster->alive && cluster->waiting.size() == cluster->alive) {
        wake(cluster->waiting);
    }
}

unsigned long long combined(Exchange kind, unsigned long long one, unsigned long long other) {
    switch (kind) {
    case LEAST: return std::min(one, other);
    case LEAST_SIGNED: return (unsigned long long)std::min((long long)one, (long long)other);
    case GREATEST: return std::max(one, other);
    case GREATEST_SIGNED: return (unsigned long long)std::max((long long)one, (long long)other);
    default: return one + other;
    }
}

/* What `lane` gets of an exchange; what is the same for all is in `of_all`. */
unsigned long long result(const Waiting& waiting, int lane, unsigned long long of_all) {
    if (waiting.kind == SHUFFLE) {
        const int from = waiting.from[lane];
        return waiting.here >> from & 1 ? waiting.values[from] : 0x0101010101010101ull * POISON;
    }
    if (waiting.kind == MATCH) {
        unsigned same = 0;
        for (unsigned lanes = waiting.here; lanes; lanes &= lanes - 1) {
            const int other = __builtin_ctz(lanes);
            same |= (unsigned)(waiting.values[other] == waiting.values[lane]) << other;
        }
        return same;
    }
    return of_all;
}

void end_exchange(const Waiting& waiting, Warp* warp, Fiber* last) {
    unsigned long long of_all = 0;
    if (waiting.kind == VOTE) {
        for (unsigned lanes = waiting.here; lanes; lanes &= lanes - 1) {
            const int lane = __builtin_ctz(lanes);
            of_all |= (unsigned long long)(waiting.values[lane] != 0) << lane;
        }
    } else if (waiting.kind >= ADD) {
        of_all = waiting.values[__builtin_ctz(waiting.here)];
        for (unsigned lanes = waiting.here & (waiting.here - 1); lanes; lanes &= lanes - 1) {
            of_all = combined(waiting.kind, of_all, waiting.values[__builtin_ctz(lanes)]);
        }
    }
    for (int lane = WARP - 1; lane >= 0; --lane) {
        if (waiting.here >> lane & 1) {
            warp->lanes[lane]->found = result(waiting, lane, of_all);
            if (warp->lanes[lane] != last) {
                machine.ready.push_front(warp->lanes[lane]);
            }
        }
    }
}

/* End the exchanges whose lanes have all come that live; the running fiber is not put in the queue. Returns whether it took part. */
bool end_exchanges(Warp* warp, Fiber* last) {
    bool mine = false;
    for (size_t k = 0; k < warp->waiting.size();) {
        Waiting& waiting = warp->waiting[k];
        if ((waiting.mask & warp->alive) != waiting.here) {
            ++k;
            continue;
        }
        mine = mine || (last && waiting.here >> last->lane & 1);
        end_exchange(waiting, warp, last);
        if (k + 1 < warp->waiting.size()) {
            waiting = warp->waiting.back();
        }
        warp->waiting.pop_back();
    }
    return mine;
}

void live_once(Fiber* fiber) {
    machine.kernel->run(machine.arguments);
    if (*(unsigned long long*)fiber->stack != CANARY) {
        leave("a thread's stack is too small here");
    }
    Block* block = fiber->in_block;
    fiber->warp->alive &= ~(1u << fiber->lane);
    --block->alive;
    --machine.live;
    end_exchanges(fiber->warp, nullptr);
    end_barrier_if_all_came(block);
    if (block->cluster) {
        --block->cluster->alive;
        end_barrier_if_all_came(block->cluster);
    }
    if (block->alive == 0) {
        machine.done.push_back(block);
    }
}

ucontext_t maker;

void live() {
    Fiber* fiber = running();
    if (_setjmp(fiber->there) == 0) {
        setcontext(&maker);
    }
    for (;;) {
        live_once(running());
        if (_setjmp(running()->there) == 0) {
            if (!machine.done.empty()) {
                _longjmp(machine.home, 1);
            }
            run_next();
        }
    }
}

/* A fiber that stands before its kernel. */
std::unique_ptr<Fiber> idle_fiber() {
    std::unique_ptr<Fiber> fiber;
    if (!machine.spare.empty()) {
        fiber = std::move(machine.spare.back());
        machine.spare.pop_back();
    } else {
        fiber.reset(new Fiber);
        fiber->stack = (char*)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (!fiber->started) {
        *(unsigned long long*)fiber->stack = CANARY;
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = fiber->stack + 16;
        context.uc_stack.ss_size = STACK - 16 - (machine.fibers.size() % 16) * 64;
        context.uc_link = nullptr;
        makecontext(&context, live, 0);
        self = fiber.get();
        swapcontext(&maker, &context);
        fiber->started = true;
    }
    return fiber;
}

/* Shared memory that ends at a page that nothing may touch. */
char* new_shared(size_t bytes) {
    const size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    char* pages = (char*)mmap(nullptr, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + room, PAGE, PROT_NONE);
    return pages + room - bytes;
}

void delete_shared(char* shared, size_t bytes) {
    const size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    munmap(shared + bytes - room, room + PAGE);
}

void start(Block* block) {
    const unsigned threads = block_size.x * block_size.y * block_size.z;
    memset(block->shared, POISON, machine.shared_bytes);
    block->alive = threads;
    block->values = 0;
    block->waiting.clear();
    block->num_warps = (threads + WARP - 1) / WARP;
    for (unsigned warp = 0; warp < block->num_warps; ++warp) {
        const unsigned lanes = std::min(threads - warp * WARP, (unsigned)WARP);
        block->warps[warp].alive = lanes == WARP ? 0xffffffffu : (1u << lanes) - 1;
        block->warps[warp].waiting.clear();
    }
    for (unsigned thread = 0; thread < threads; ++thread) {
        std::unique_ptr<Fiber> fiber = idle_fiber();
        fiber->thread = {thread % block_size.x, thread / block_size.x % block_size.y, thread / block_size.x / block_size.y};
        fiber->block = block->index;
        fiber->shared = block->shared;
        fiber->in_block = block;
        fiber->warp = block->warps + thread / WARP;
        fiber->lane = (int)(thread % WARP);
        fiber->warp->lanes[fiber->lane] = fiber.get();
        machine.ready.push_back(fiber.get());
        machine.fibers.push_back(std::move(fiber));
    }
    machine.live += threads;
}

void at_signal(int number, siginfo_t* what, void*) {
    describe(
        machine.message, sizeof(machine.message), "%s %p (thread %u of block %u)",
        number == SIGFPE ? "it divides by zero at" : "it reads or writes where nothing is, at", what->si_addr,
        self->thread.x, self->block.x);
    _longjmp(machine.home, 2);
}

/* Faults are the kernel's while it runs. */
struct Watch {
    struct sigaction before[3];
    stack_t stack_before;
    char stack[1 << 15];
    static constexpr int NUMBERS[3] = {SIGSEGV, SIGBUS, SIGFPE};

    Watch() {
        stack_t ours = {};
        ours.ss_sp = stack;
        ours.ss_size = sizeof(stack);
        sigaltstack(&ours, &stack_before);
        struct sigaction action = {};
        action.sa_sigaction = at_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int k = 0; k < 3; ++k) {
            sigaction(NUMBERS[k], &action, before + k);
        }
    }
    ~Watch() {
        for (int k = 0; k < 3; ++k) {
            sigaction(NUMBERS[k], before + k, nullptr);
        }
        sigaltstack(&stack_before, nullptr);
    }
};
constexpr int Watch::NUMBERS[3];

void describe_deadlock() {
    char* text = machine.message;
    char* const end = text + sizeof(machine.message);
    text += snprintf(text, (size_t)(end - text), "no thread can go on:");
    for (auto& block : machine.blocks) {
        if (end - text < 300) {
            break;
        }
        if (!block->waiting.empty()) {
            text += snprintf(
                text, (size_t)(end - text), " %zu of the %u threads of block %u wait at %s:%d;", block->waiting.size(), block->alive,
                block->index.x, block->file, block->line);
        }
        for (unsigned warp = 0; warp < block->num_warps && end - text > 300; ++warp) {
            for (const Waiting& waiting : block->warps[warp].waiting) {
                if (end - text > 300) {
                    text += snprintf(
                        text, (size_t)(end - text), " lanes %08x of %08x in warp %u of block %u wait at %s:%d;", waiting.here, waiting.mask,
                        warp, block->index.x, waiting.file, waiting.line);
                }
            }
        }
    }
}

/* Put away what the launch used; fibers in the middle of a kernel begin anew. */
void clean_up(bool failed) {
    for (auto& fiber : machine.fibers) {
        fiber->started = fiber->started && !failed;
        machine.spare.push_back(std::move(fiber));
    }
    machine.fibers.clear();
    for (auto& block : machine.blocks) {
        delete_shared(block->shared, machine.shared_bytes);
    }
    machine.blocks.clear();
    machine.clusters.clear();
    machine.ready.clear();
    machine.done.clear();
}

/* Run all blocks, of which `resident` have their turns at a time. Returns whether all went well. */
bool run(unsigned num_blocks, unsigned resident, unsigned cluster) {
    volatile unsigned next = 0;
    if (_setjmp(machine.home) == 2) {
        clean_up(true);
        return false;
    }
    while (machine.done.size()) { /* another block takes the memory of one that has ended */
        Block* block = machine.done.back();
        machine.done.pop_back();
        if (next < num_blocks) {
            block->index = {next % grid_size.x, next / grid_size.x % grid_size.y, next / grid_size.x / grid_size.y};
            next = next + 1;
            start(block);
        }
    }
    while (next < num_blocks && machine.blocks.size() < resident) {
        machine.blocks.emplace_back(new Block);
        Block* block = machine.blocks.back().get();
        block->index = {next % grid_size.x, next / grid_size.x % grid_size.y, next / grid_size.x / grid_size.y};
        block->shared = new_shared(machine.shared_bytes);
        block->rank = cluster ? next % cluster : 0;
        block->cluster = nullptr;
        if (cluster) {
            if (block->rank == 0) {
                machine.clusters.emplace_back(new Cluster{next, cluster * block_size.x, {}});
            }
            block->cluster = machine.clusters.back().get();
        }
        next = next + 1;
        start(block);
    }
    if (machine.live) {
        if (machine.ready.empty()) {
            describe_deadlock();
            clean_up(true);
            return false;
        }
        run_next();
    }
    clean_up(false);
    return true;
}

}

unsigned long long exchange(Exchange kind, unsigned mask, unsigned long long value, int from, const char* file, int line) {
    Fiber* fiber = running();
    Warp* warp = fiber->warp;
    if (!(mask >> fiber->lane & 1)) {
        describe(machine.message, sizeof(machine.message), "%s:%d: lane %d is not in its own mask %08x", file, line, fiber->lane, mask);
        leave(machine.message);
    }
    Waiting* waiting = nullptr;
    for (Waiting& other : warp->waiting) {
        if (other.mask != mask) {
            continue;
        }
        if (other.kind != kind || (other.line != line && kind != SYNC)) {
            describe(
                machine.message, sizeof(machine.message), "lanes of a warp meet at %s:%d and at %s:%d, with mask %08x", file, line,
                other.file, other.line, mask);
            leave(machine.message);
        }
        waiting = &other;
    }
    if (!waiting) {
        warp->waiting.emplace_back();
        waiting = &warp->waiting.back();
        waiting->kind = kind;
        waiting->mask = mask;
        waiting->here = 0;
        waiting->file = file;
        waiting->line = line;
    }
    waiting->here |= 1u << fiber->lane;
    waiting->values[fiber->lane] = value;
    waiting->from[fiber->lane] = (signed char)from;
    if (!end_exchanges(warp, fiber)) {
        wait();
    }
    return running()->found;
}

unsigned block_barrier(bool value, const char* file, int line) {
    Block* block = running()->in_block;
    if (!block->waiting.empty() && (block->line != line || strcmp(block->file, file))) {
        describe(
            machine.message, sizeof(machine.message), "threads of block %u wait at %s:%d and at %s:%d", block->index.x, file, line,
            block->file, block->line);
        leave(machine.message);
    }
    block->file = file;
    block->line = line;
    block->values += value;
    block->waiting.push_back(running());
    end_barrier_if_all_came(block);
    wait();
    return (unsigned)running()->found;
}

unsigned block_alive() {
    return running()->in_block->alive;
}

void cluster_barrier() {
    Cluster* cluster = running()->in_block->cluster;
    if (!cluster) {
        leave("a kernel without __cluster_dims__ waits for its cluster");
    }
    cluster->waiting.push_back(running());
    end_barrier_if_all_came(cluster);
    wait();
}

unsigned cluster_rank() {
    return running()->in_block->rank;
}

void touch() {
    if (machine.at_random ? draw(4) == 0 : --machine.fuel <= 0) {
        machine.fuel = FUEL;
        give_way();
    }
}

void look() {
    give_way();
}

void fail(const char* why) {
    leave(why);
}

unsigned shared_address(const void* place) {
    const size_t offset = (size_t)((const char*)place - self->shared);
    if (offset > machine.shared_bytes) {
        leave("an address outside of shared memory is taken for one in it");
    }
    return (unsigned)offset;
}

char* shared_place(unsigned address) {
    const unsigned rank = address >> RANK_SHIFT, offset = address & ((1u << RANK_SHIFT) - 1);
    if (offset >= machine.shared_bytes) {
        leave("an address behind the end of shared memory");
    }
    return rank ? in_block_of_cluster(self->shared + offset, rank - 1) : self->shared + offset;
}

char* in_block_of_cluster(const void* place, unsigned rank) {
    const Cluster* cluster = running()->in_block->cluster;
    if (!cluster || rank >= (unsigned)machine.kernel->cluster) {
        leave("there is no such block in the cluster");
    }
    return machine.blocks[cluster->rank_of_first + rank]->shared + shared_address(place);
}

}

/* Run a kernel; returns nothing, or what went wrong. Blocks of clusters are all resident. */
extern "C" const char* run_kernel(
    const emulated::Kernel* kernel, void** arguments, const unsigned* grid, const unsigned* block, unsigned static_bytes,
    unsigned dynamic_bytes, unsigned resident, unsigned long long seed, double limit) {
    using namespace emulated;
    std::lock_guard<std::mutex> alone(one_launch);
    grid_size = {grid[0], grid[1], grid[2]};
    block_size = {block[0], block[1], block[2]};
    dynamic_shared = (static_bytes + 127) / 128 * 128;
    machine.shared_bytes = dynamic_shared + (dynamic_bytes + 15) / 16 * 16;
    machine.random = seed * 0x9e3779b97f4a7c15ull + 1;
    machine.at_random = seed != 0;
    machine.fuel = FUEL;
    machine.switches = 0;
    machine.live = 0;
    machine.kernel = kernel;
    machine.arguments = arguments;
    machine.ends = seconds() + limit;
    machine.message[0] = 0;
    Watch watch;
    return run(grid[0] * grid[1] * grid[2], resident, (unsigned)kernel->cluster) ? nullptr : machine.message;
}
