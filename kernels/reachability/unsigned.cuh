/* Unsigned integers of a given size. Including a header of this folder also gives the sources of its subfolders constants.py. */
#pragma once

#include "gpu/unsigned.cuh"
