/* What GCC's -fsanitize calls: a kernel that does what CUDA leaves undefined, or what a GPU does otherwise, ends with a fault. */
#include "fibers.h"

namespace {

/* The first member of what every check passes. */
struct Place {
    const char* file;
    unsigned line, column;
};

[[noreturn]] void fault(const char* what, const void* place) {
    const Place* at = (const Place*)place;
    emulated::leave(std::string(what) + " at " + emulated::at(at->file ? at->file : "?", (int)at->line));
}

}

extern "C" void __ubsan_handle_shift_out_of_bounds(const void* place, unsigned long, unsigned long) {
    fault("a shift by as many bits as the value has, or more,", place);
}

extern "C" void __ubsan_handle_out_of_bounds(const void* place, unsigned long) {
    fault("an index outside of an array of fixed length", place);
}

extern "C" void __ubsan_handle_float_cast_overflow(const void* place, unsigned long) {
    fault("a float that its integer type cannot hold", place);
}

extern "C" void __ubsan_handle_type_mismatch_v1(const void* place, unsigned long) {
    fault("access to an address that is no multiple of its type's alignment,", place);
}

#define OVERFLOW(operation, ...)                                                                      \
    extern "C" void __ubsan_handle_##operation##_overflow(const void* place, __VA_ARGS__) {          \
        fault("a result that its signed type cannot hold", place);                                   \
    }
OVERFLOW(add, unsigned long, unsigned long)
OVERFLOW(sub, unsigned long, unsigned long)
OVERFLOW(mul, unsigned long, unsigned long)
OVERFLOW(divrem, unsigned long, unsigned long)
OVERFLOW(negate, unsigned long)
