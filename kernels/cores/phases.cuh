/* Phases of a cooperative launch, between which all threads wait. Counters of three phases take turns, so that those of the next
   one are reset while no thread reads or adds to them. */
#pragma once

#include "gpu/device.cuh"

#define MOST 0x7fffffffffffffffll

struct Phase {
    uint64_t queued; // rows appended to the queue
    uint64_t kept;   // rows kept for later
    int64_t least;   // number of neighbours that a kept row has left
};

struct Control {
    uint32_t barrier;
    uint32_t deep; // the removal was given up, after too many thin phases
    Phase phases[3];
};
static_assert(sizeof(Phase) == PHASE_WORDS * 8 && sizeof(Control) == CONTROL_WORDS * 8, "words of constants.py are wrong");

/* One thread's view of the phases; all threads begin and end them together. `control` is zero before the launch. */
struct Phases {
    Control* control;
    int64_t number;

    __device__ __forceinline__ explicit Phases(Control* of_grid) : control(of_grid), number(0) {
        if (global_thread() == 0) {
            control->phases[0].least = MOST;
        }
        grid_barrier(&control->barrier);
    }

    __device__ __forceinline__ Phase* current() const { return &control->phases[number % 3]; }

    /* Return what all threads counted. */
    __device__ __forceinline__ Phase end() {
        if (global_thread() == 0) {
            control->phases[(number + 1) % 3] = {0, 0, MOST};
        }
        grid_barrier(&control->barrier);
        const volatile Phase* ended = current();
        number++;
        return {ended->queued, ended->kept, ended->least};
    }
};
