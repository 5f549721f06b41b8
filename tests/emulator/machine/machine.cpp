/* Launches, blocks, clusters and faults of the emulated GPU, whose threads take turns (fibers.cpp).

   Memory is sequentially consistent, so a missing fence is not found; a missing barrier is found if some order of threads shows it.
   Shared memory is poisoned before a block starts, and ends at a page without access rights. */
#include "machine.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>

#include "fibers.h"

namespace emulated {

Index block_size, grid_size;
unsigned long long dynamic_shared;

namespace {

const size_t PAGE = 4096;

std::vector<std::unique_ptr<Block>> blocks;
std::vector<std::unique_ptr<Cluster>> clusters;
const Kernel* kernel;
void** arguments;
size_t shared_bytes;
unsigned next_block, num_blocks;
Block* ended; /* another block may take its place */

void wake(std::vector<Fiber*>& waiting) {
    for (size_t k = waiting.size(); k-- > 0;) {
        ready.put_first(waiting[k]);
    }
    waiting.clear();
}

void end_barrier_if_all_arrived(Block* block) {
    if (block->alive && block->waiting.size() == block->alive) {
        if (block->alive < block_size.x * block_size.y * block_size.z) {
            leave("some threads of a block have ended, and others wait for the whole block at " + at(block->file, block->line));
        }
        for (Fiber* fiber : block->waiting) {
            fiber->found = block->values;
        }
        block->values = 0;
        wake(block->waiting);
    }
}

void end_barrier_if_all_arrived(Cluster* cluster) {
    if (cluster->alive && cluster->waiting.size() == cluster->alive) {
        wake(cluster->waiting);
    }
}

size_t in_pages(size_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

char* new_shared() {
    const size_t length = in_pages(shared_bytes);
    char* pages = (char*)mmap(nullptr, length + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + length, PAGE, PROT_NONE);
    return pages + length - shared_bytes;
}

void delete_shared(char* shared) {
    const size_t length = in_pages(shared_bytes);
    munmap(shared + shared_bytes - length, length + PAGE);
}

void start_thread(Block* block, unsigned thread, unsigned place) {
    const Index size = block_size;
    Fiber* fiber = idle_fiber(place);
    fiber->thread = {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
    fiber->block = block->index;
    fiber->shared = block->shared;
    fiber->in_block = block;
    fiber->warp = block->warps + thread / WARP;
    fiber->lane = (int)(thread % WARP);
    fiber->warp->lanes[fiber->lane] = fiber;
    ready.put_last(fiber);
}

/* Start the next block of the grid in the place of this one. */
void start(Block* block) {
    const unsigned threads = block_size.x * block_size.y * block_size.z, number = next_block++;
    block->index = {number % grid_size.x, number / grid_size.x % grid_size.y, number / grid_size.x / grid_size.y};
    block->alive = threads;
    block->values = 0;
    block->num_warps = (threads + WARP - 1) / WARP;
    memset(block->shared, POISON, shared_bytes);
    for (unsigned warp = 0; warp < block->num_warps; ++warp) {
        const unsigned lanes = std::min(threads - warp * WARP, (unsigned)WARP);
        block->warps[warp].alive = lanes == WARP ? 0xffffffffu : (1u << lanes) - 1;
    }
    for (unsigned thread = 0; thread < threads; ++thread) {
        start_thread(block, thread, block->first_fiber + thread);
    }
}

void add_block() {
    blocks.emplace_back(new Block);
    Block* block = blocks.back().get();
    block->shared = new_shared();
    block->rank = kernel->cluster ? next_block % (unsigned)kernel->cluster : 0;
    const unsigned threads = block_size.x * block_size.y * block_size.z;
    if (kernel->cluster && block->rank == 0) {
        clusters.emplace_back(new Cluster{next_block, (unsigned)kernel->cluster * threads, {}});
    }
    block->cluster = kernel->cluster ? clusters.back().get() : nullptr;
    block->first_fiber = (unsigned)(blocks.size() - 1) * threads;
    start(block);
}

std::string describe_deadlock() {
    std::string text = "deadlock:";
    for (auto& block : blocks) {
        const std::string of_block = " of block " + std::to_string(block->index.x);
        if (!block->waiting.empty()) {
            text += " " + std::to_string(block->waiting.size()) + " of the " + std::to_string(block->alive) + " threads" + of_block +
                    " at " + at(block->file, block->line) + ";";
        }
        for (unsigned warp = 0; warp < block->num_warps; ++warp) {
            for (const Waiting& waiting : block->warps[warp].waiting) {
                text += " " + std::to_string(__builtin_popcount(waiting.here)) + " lanes of " +
                        std::to_string(__builtin_popcount(waiting.mask)) + " in warp " + std::to_string(warp) + of_block + " at " +
                        at(waiting.file, waiting.line) + ";";
            }
        }
    }
    return text.substr(0, 1000);
}

/* Run all blocks, at most `resident` of them at the same time. `failure` says what went wrong. */
void run(unsigned resident) {
    next_block = 0;
    ended = nullptr;
    while (next_block < num_blocks && blocks.size() < resident) {
        add_block();
    }
    for (bool alive = true; alive && failure.empty();) {
        run_until_home();
        if (ended) {
            start(ended);
            ended = nullptr;
        }
        alive = std::any_of(blocks.begin(), blocks.end(), [](auto& block) { return block->alive > 0; });
        if (alive && ready.size() == 0 && failure.empty()) {
            failure = describe_deadlock();
        }
    }
    for (auto& block : blocks) {
        delete_shared(block->shared);
    }
    blocks.clear();
    clusters.clear();
}

void at_signal(int number, siginfo_t* what, void*) {
    char place[32];
    snprintf(place, sizeof(place), "%p", what->si_addr);
    leave(
        (number == SIGFPE ? "division by zero at " : "access outside of an array, at ") + std::string(place) + ", thread " +
        std::to_string(self->thread.x) + " of block " + std::to_string(self->block.x));
}

/* While a kernel runs, signals are its faults. */
class Watch {
  public:
    Watch() {
        stack_t ours = {};
        ours.ss_sp = stack;
        ours.ss_size = sizeof(stack);
        sigaltstack(&ours, &stack_before);
        struct sigaction action = {};
        action.sa_sigaction = at_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int k = 0; k < 3; ++k) {
            sigaction(number(k), &action, before + k);
        }
    }
    ~Watch() {
        for (int k = 0; k < 3; ++k) {
            sigaction(number(k), before + k, nullptr);
        }
        sigaltstack(&stack_before, nullptr);
    }

  private:
    static int number(int k) { return k == 0 ? SIGSEGV : k == 1 ? SIGBUS : SIGFPE; }
    struct sigaction before[3];
    stack_t stack_before;
    char stack[1 << 16];
};

std::mutex one_launch;

}

bool live_once() {
    kernel->run(arguments);
    Fiber* fiber = running();
    Block* block = fiber->in_block;
    fiber->warp->alive &= ~(1u << fiber->lane);
    --block->alive;
    end_exchanges(fiber->warp, nullptr);
    end_barrier_if_all_arrived(block);
    if (block->cluster) {
        --block->cluster->alive;
        end_barrier_if_all_arrived(block->cluster);
    }
    if (block->alive > 0 || next_block == num_blocks) {
        return false;
    }
    ended = block;
    return true;
}

unsigned block_barrier(bool value, const char* file, int line) {
    Block* block = running()->in_block;
    if (!block->waiting.empty() && (block->line != line || (block->file != file && strcmp(block->file, file)))) {
        leave("threads of a block wait at " + at(file, line) + " and at " + at(block->file, block->line));
    }
    block->file = file;
    block->line = line;
    block->values += value;
    block->waiting.push_back(running());
    end_barrier_if_all_arrived(block);
    wait();
    return (unsigned)running()->found;
}

void cluster_barrier() {
    Cluster* cluster = running()->in_block->cluster;
    if (!cluster) {
        leave("a kernel without __cluster_dims__ calls a cluster barrier");
    }
    cluster->waiting.push_back(running());
    end_barrier_if_all_arrived(cluster);
    wait();
}

unsigned cluster_rank() {
    return running()->in_block->rank;
}

unsigned shared_address(const void* place) {
    const size_t offset = (size_t)((const char*)place - self->shared);
    if (offset > shared_bytes) {
        leave("an address outside of shared memory is used as a shared address");
    }
    return (unsigned)offset;
}

char* shared_place(unsigned address) {
    const unsigned rank = address >> RANK_SHIFT, offset = address & ((1u << RANK_SHIFT) - 1);
    if (offset >= shared_bytes) {
        leave("an address beyond the end of shared memory");
    }
    return rank ? in_block_of_cluster(self->shared + offset, rank - 1) : self->shared + offset;
}

char* in_block_of_cluster(const void* place, unsigned rank) {
    const Cluster* cluster = running()->in_block->cluster;
    if (!cluster || rank >= (unsigned)kernel->cluster) {
        leave("the cluster has no such block");
    }
    return blocks[cluster->first + rank]->shared + shared_address(place);
}

}

/* Run a kernel on a grid of blocks; returns null, or what went wrong. All blocks of a kernel with clusters must be resident. */
extern "C" const char* run_kernel(
    const emulated::Kernel* kernel, void** arguments, const unsigned* grid, const unsigned* block, unsigned static_bytes,
    unsigned dynamic_bytes, unsigned resident, unsigned long long seed, double seconds) {
    static std::string message;
    std::lock_guard<std::mutex> alone(emulated::one_launch);
    emulated::grid_size = {grid[0], grid[1], grid[2]};
    emulated::block_size = {block[0], block[1], block[2]};
    emulated::num_blocks = grid[0] * grid[1] * grid[2];
    emulated::dynamic_shared = (static_bytes + 127) / 128 * 128;
    emulated::shared_bytes = emulated::dynamic_shared + (dynamic_bytes + 31) / 32 * 32; /* it ends a page, and begins aligned */
    emulated::kernel = kernel;
    emulated::arguments = arguments;
    emulated::use_turns(seed, seconds);
    const emulated::Watch watch;
    emulated::run(resident);
    message = emulated::failure;
    return message.empty() ? nullptr : message.c_str();
}
