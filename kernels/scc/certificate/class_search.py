"""State of a search inside the classes of one rank, which passes on the CPU and the GPU advance."""

from __future__ import annotations

from typing import NamedTuple

from kernels.graph import Array


class ClassSearch(NamedTuple):
    """One direction's search; n own rows, g ghosts, and k classes that own rows or ghosts belong to.

    Attributes
    ----------
    classes : index width [n + g]
        Numbers of the classes, 0 to k - 1.
    label_rows : index width [k]
        The own row that is a class's label; -1 where another rank owns it.
    unread : int64 [n]
        Arcs into the class of which an own row is the label that no rank has read yet; lowered.
    read : int64 [k]
        Arcs read into a class whose label another rank owns, until they are sent to it; raised.
    unreached : uint32 [n + g]
        0 where reached, own rows and ghosts; lowered.
    """

    classes: Array
    label_rows: Array
    unread: Array
    read: Array
    unreached: Array
