/* What translated sources call: shared variables, PTX, and the description of a kernel for launches. */
#pragma once

#include "machine.h"

namespace emulated {

template <typename To, typename From>
inline To as(const From& from) {
    static_assert(sizeof(To) >= sizeof(From), "");
    To to = {};
    __builtin_memcpy(&to, &from, sizeof(from));
    return to;
}

template <typename To>
inline To back(unsigned long long from) {
    static_assert(sizeof(To) <= 8, "a value of a warp exchange has at most 64 bits");
    To to;
    __builtin_memcpy((void*)&to, &from, sizeof(to));
    return to;
}

inline int lane() {
    return (int)((self->thread.x + block_size.x * (self->thread.y + block_size.y * self->thread.z)) & 31);
}

/* The static shared variables of all kernels of a module are placed one after another. */
inline unsigned long long& static_shared() {
    static unsigned long long bytes = 0;
    return bytes;
}
/* Bytes of each variable of the source; in a template, of all its instances. */
inline unsigned long long& size_of_shared(int number) {
    static unsigned long long sizes[1024];
    return sizes[number];
}
inline unsigned long long reserve(int number, unsigned long long bytes, unsigned long long aligned) {
    unsigned long long& end = static_shared();
    const unsigned long long begin = (end + aligned - 1) / aligned * aligned;
    end = begin + bytes;
    size_of_shared(number) += bytes;
    return begin;
}
template <int number, typename Variable>
struct Shared {
    static unsigned long long place;
};
template <int number, typename Variable>
unsigned long long Shared<number, Variable>::place = reserve(number, sizeof(Variable), alignof(Variable));
template <int number, typename Variable>
inline Variable& shared() {
    return *(Variable*)(self->shared + Shared<number, Variable>::place);
}
template <typename T>
inline T* dynamic() {
    return (T*)(self->shared + dynamic_shared);
}

/* PTX: `Address` is a pointer, or a 32-bit address in shared memory. */
template <typename T>
inline T* place_of(const volatile void* address) {
    return (T*)address;
}
template <typename T>
inline T* place_of(unsigned address) {
    return (T*)shared_place(address);
}
template <typename T, typename Address>
inline T load(Address address) {
    yield();
    return *(const volatile T*)place_of<T>(address);
}
template <typename T, typename Address>
inline void store(Address address, T value) {
    *(volatile T*)place_of<T>(address) = value;
    may_yield();
}
template <typename T, typename Address>
inline T atomic_or(Address address, T bits) {
    may_yield();
    T* place = place_of<T>(address);
    const T before = *place;
    *place = before | bits;
    return before;
}
template <typename T, typename Address>
inline T atomic_exch(Address address, T value) {
    may_yield();
    T* place = place_of<T>(address);
    const T before = *place;
    *place = value;
    return before;
}
inline unsigned map_to_block(unsigned address, unsigned rank) {
    return address | (rank + 1) << RANK_SHIFT;
}
template <typename T>
inline T* map_to_block(T* place, unsigned rank) {
    return (T*)in_block_of_cluster(place, rank);
}

template <typename T>
struct KindOf {
    static const char value = T(-1) < T(0) ? 'i' : 'u';
};
template <>
struct KindOf<bool> {
    static const char value = 'b';
};
template <>
struct KindOf<float> {
    static const char value = 'f';
};
template <>
struct KindOf<double> {
    static const char value = 'f';
};
template <typename T>
struct KindOf<T*> {
    static const char value = 'p';
};

template <int... Numbers>
struct List {};
template <int Count, int... Numbers>
struct UpTo : UpTo<Count - 1, Count - 1, Numbers...> {};
template <int... Numbers>
struct UpTo<0, Numbers...> {
    typedef List<Numbers...> Type;
};

template <typename Function, Function* function>
struct Entry;
template <typename... Types, void (*function)(Types...)>
struct Entry<void(Types...), function> {
    template <int... Numbers>
    static void call(void** arguments, List<Numbers...>) {
        function(*(Types*)arguments[Numbers]...);
    }
    static void run(void** arguments) { call(arguments, typename UpTo<sizeof...(Types)>::Type()); }
    static const Parameter parameters[sizeof...(Types)];
    static Kernel kernel(int most_threads, int cluster, const char* shared) {
        return Kernel{run, parameters, sizeof...(Types), most_threads, cluster, shared};
    }
};
template <typename... Types, void (*function)(Types...)>
const Parameter Entry<void(Types...), function>::parameters[sizeof...(Types)] = {{sizeof(Types), KindOf<Types>::value}...};

inline int first_of(int number = 0, int = 0) {
    return number;
}

}

#define EMULATED_KERNEL(name, bounds, cluster, shared)                                                                 \
    extern "C" const emulated::Kernel emulated_##name =                                                                \
        emulated::Entry<decltype(name), name>::kernel(emulated::first_of bounds, cluster, shared);
#define EMULATED_MODULE                                                                                                \
    extern "C" unsigned long long emulated_static_shared() { return emulated::static_shared(); }                       \
    extern "C" unsigned long long emulated_size_of_shared(int number) { return emulated::size_of_shared(number); }
