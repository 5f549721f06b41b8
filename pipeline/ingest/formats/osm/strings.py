"""The strings of a block of PBF data: loops over its bytes."""

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array


@njit(cache=True, nogil=True)
def kinds_of(data: Array, strings: Array, keys: Array, key_ends: Array, key_kinds: Array, kinds: Array) -> None:
    """Say of each string of a block what it is for as a key.

    Args:
        data (uint8 [N]): The block.
        strings (int32 [S, 2]): Where each string begins and ends.
        keys (uint8 [K]), key_ends (int64 [n]), key_kinds (int8 [n]): The keys that are for something, one behind the other.
        kinds (int8 [S]): Gets the kinds; 0 for other strings.
    """
    for string in range(len(strings)):
        begin, length, start = strings[string, 0], strings[string, 1] - strings[string, 0], 0
        kinds[string] = 0
        for key in range(len(key_ends)):
            same = 0
            if key_ends[key] - start == length:
                while same < length and data[begin + same] == keys[start + same]:
                    same += 1
                if same == length:
                    kinds[string] = key_kinds[key]
                    break
            start = key_ends[key]


@njit(cache=True, nogil=True)
def distinct_names(data: Array, strings: Array, names: Array, numbers: Array, ends: Array, texts: Array) -> int:
    """Gather the different names of ways, in the order in which they come first; returns how many there are.

    Args:
        data (uint8 [N]): The block.
        strings (int32 [S, 2]): Where each string begins and ends.
        names (int32 [n]): The string of each way's name, or -1; gets the number of the name.
        numbers (int32 [S]): -1, also afterwards: blocks may have many groups of few ways, which share it.
        ends (int64 [n + 1]): 0; gets where each name ends, behind the first place.
        texts (uint8 [N]): Gets the names, one behind the other.
    """
    count, end, firsts = 0, 0, np.empty(len(names), np.int32)
    for way in range(len(names)):
        string = names[way]
        if string < 0:
            continue
        if numbers[string] < 0:
            for at in range(strings[string, 0], strings[string, 1]):
                texts[end] = data[at]
                end += 1
            numbers[string] = count
            firsts[count] = string
            count += 1
            ends[count] = end
        names[way] = numbers[string]
    for number in range(count):
        numbers[firsts[number]] = -1
    return count
