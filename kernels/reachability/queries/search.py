"""Searches in the DAG, without recursion. Each visits a node once per query, and resets only the nodes that it visited.

The bidirectional search goes from u along the arcs and from v against them, one node at a time on the side with the shorter
queue. It drops a node that the labels rule out, and ends at a node whose labels answer yes, or when the sides meet
(Hanauer et al. 2021).

Callers pass it two different nodes that the cuts do not decide. A search without labels checks answers.
"""

from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.reachability.constants import FILTER, POSITIVE_CUT
from kernels.reachability.queries.records import decide

# Arrays are separate arguments: a tuple of them costs an update of shared reference counts at every call.


@njit(cache=True, nogil=True)
def meet(
    bits: Array, entries: Array, backward: Array, offsets: Array, indices: Array, into_offsets: Array, into_indices: Array,
    visited: Array, queue: Array, back_visited: Array, back_queue: Array, u: int, v: int,
) -> tuple[int, bool, int, int]:  # fmt: skip
    """Search in both directions with all cuts, and leave the visited nodes marked.

    Returns a node on a path from u to v, -1 if there is none; whether it was found from u; and the numbers of nodes in the
    queues, which `reset` takes.
    """
    queue[0], back_queue[0] = u, v
    visited[u] = back_visited[v] = True
    head, tail, back_head, back_tail = 0, 1, 0, 1
    met, forward = -1, True
    while met < 0 and head < tail and back_head < back_tail:
        forward = tail - head <= back_tail - back_head
        if forward:
            node = queue[head]
            head += 1
            for arc in range(offsets[node], offsets[node + 1]):
                child = indices[arc]
                if not visited[child]:
                    decided = decide(bits, entries, backward, child, v)
                    if back_visited[child] or decided == POSITIVE_CUT:
                        met = child
                    if decided != FILTER:
                        visited[child] = True
                        queue[tail] = child
                        tail += 1
        else:
            node = back_queue[back_head]
            back_head += 1
            for arc in range(into_offsets[node], into_offsets[node + 1]):
                parent = into_indices[arc]
                if not back_visited[parent]:
                    decided = decide(bits, entries, backward, u, parent)
                    if visited[parent] or decided == POSITIVE_CUT:
                        met = parent
                    if decided != FILTER:
                        back_visited[parent] = True
                        back_queue[back_tail] = parent
                        back_tail += 1
    return met, forward, tail, back_tail


@njit(cache=True, nogil=True)
def breadth_first(offsets: Array, indices: Array, visited: Array, queue: Array, u: int, v: int) -> bool:
    """Whether u reaches v, by a breadth-first search without labels; u may be v."""
    queue[0] = u
    visited[u] = True
    head, tail, reaches = 0, 1, u == v
    while head < tail and not reaches:
        node = queue[head]
        head += 1
        for arc in range(offsets[node], offsets[node + 1]):
            child = indices[arc]
            if not visited[child]:
                visited[child] = True
                queue[tail] = child
                tail += 1
                reaches |= child == v
    reset(visited, queue, tail)
    return reaches


@njit(cache=True, nogil=True, inline="always")
def reset(visited: Array, queue: Array, tail: int) -> None:
    """Forget the visited nodes."""
    for place in range(tail):
        visited[queue[place]] = False
