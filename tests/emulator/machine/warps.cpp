/* Exchanges between the lanes of a warp. They complete when all lanes of the mask that have not ended have arrived, as from sm_70 on. */
#include <algorithm>

#include "fibers.h"

namespace emulated {

namespace {

unsigned long long combined(Exchange kind, unsigned long long one, unsigned long long other) {
    switch (kind) {
    case LEAST: return std::min(one, other);
    case LEAST_SIGNED: return (unsigned long long)std::min((long long)one, (long long)other);
    case GREATEST: return std::max(one, other);
    case GREATEST_SIGNED: return (unsigned long long)std::max((long long)one, (long long)other);
    default: return one + other;
    }
}

/* The part of the result that is the same for all lanes. */
unsigned long long of_all(const Waiting& waiting) {
    unsigned long long all = 0;
    if (waiting.kind == VOTE) {
        for (unsigned lanes = waiting.here; lanes; lanes &= lanes - 1) {
            const int lane = __builtin_ctz(lanes);
            all |= (unsigned long long)(waiting.values[lane] != 0) << lane;
        }
    } else if (waiting.kind >= ADD) {
        all = waiting.values[__builtin_ctz(waiting.here)];
        for (unsigned lanes = waiting.here & (waiting.here - 1); lanes; lanes &= lanes - 1) {
            all = combined(waiting.kind, all, waiting.values[__builtin_ctz(lanes)]);
        }
    }
    return all;
}

unsigned long long of_lane(const Waiting& waiting, int lane, unsigned long long all) {
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
    return all;
}

/* Lanes that waited run before other fibers, while their stacks are in the cache. */
void end_exchange(const Waiting& waiting, Warp* warp, const Fiber* last) {
    const unsigned long long all = of_all(waiting);
    for (int lane = WARP - 1; lane >= 0; --lane) {
        if (waiting.here >> lane & 1) {
            warp->lanes[lane]->found = of_lane(waiting, lane, all);
            if (warp->lanes[lane] != last) {
                ready.put_first(warp->lanes[lane]);
            }
        }
    }
}

Waiting& join(Warp* warp, Exchange kind, unsigned mask, const char* file, int line) {
    for (Waiting& other : warp->waiting) {
        if (other.mask == mask) {
            if (other.kind != kind || (other.line != line && kind != SYNC)) {
                leave("lanes of a warp wait for each other at " + at(file, line) + " and at " + at(other.file, other.line));
            }
            return other;
        }
    }
    warp->waiting.emplace_back();
    Waiting& waiting = warp->waiting.back();
    waiting.kind = kind;
    waiting.mask = mask;
    waiting.here = 0;
    waiting.file = file;
    waiting.line = line;
    return waiting;
}

}

/* Complete the exchanges whose lanes have all arrived. `last`, the running fiber or null, continues by itself. Returns whether it took part. */
bool end_exchanges(Warp* warp, Fiber* last) {
    bool took_part = false;
    for (size_t k = 0; k < warp->waiting.size();) {
        Waiting& waiting = warp->waiting[k];
        if ((waiting.mask & warp->alive) != waiting.here) {
            ++k;
            continue;
        }
        took_part = took_part || (last && waiting.here >> last->lane & 1);
        end_exchange(waiting, warp, last);
        if (k + 1 < warp->waiting.size()) {
            waiting = warp->waiting.back();
        }
        warp->waiting.pop_back();
    }
    return took_part;
}

unsigned long long exchange(Exchange kind, unsigned mask, unsigned long long value, int from, const char* file, int line) {
    Fiber* fiber = running();
    if (!(mask >> fiber->lane & 1)) {
        leave("a lane is not in its own mask at " + at(file, line));
    }
    Waiting& waiting = join(fiber->warp, kind, mask, file, line);
    waiting.here |= 1u << fiber->lane;
    waiting.values[fiber->lane] = value;
    waiting.from[fiber->lane] = (signed char)from;
    if (!end_exchanges(fiber->warp, fiber)) {
        wait();
    }
    return running()->found;
}

/* The first lane of a group lets all other threads run once, and then continues with the lanes that have joined it. */
unsigned converged(const void* place, const void* caller, long depth) {
    Fiber* fiber = running();
    Warp* warp = fiber->warp;
    const auto same = [=](const Converged& other) {
        return other.place == place && other.caller == caller && other.depth == depth;
    };
    const auto group = std::find_if(warp->converged.begin(), warp->converged.end(), same);
    if (group != warp->converged.end()) {
        group->here |= 1u << fiber->lane;
        wait();
        return (unsigned)running()->found;
    }
    warp->converged.push_back({place, caller, depth, 1u << fiber->lane});
    yield();
    fiber = running();
    warp = fiber->warp;
    const auto ours = std::find_if(warp->converged.begin(), warp->converged.end(), same);
    const unsigned here = ours->here;
    warp->converged.erase(ours);
    for (int lane = WARP - 1; lane >= 0; --lane) {
        if (here >> lane & 1 && lane != fiber->lane) {
            warp->lanes[lane]->found = here;
            ready.put_first(warp->lanes[lane]);
        }
    }
    return here;
}

}
