"""The emulated GPU executes CUDA as documented, and reports each of the faults here."""

# ruff: noqa: E402  (the imports below need the emulator)
import ctypes

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from kernels.distributed.gpu.nccl import BetweenGpus, unique_id
from kernels.distributed.gpu_threads import on_gpus
from kernels.distributed.threads import run_ranks
from kernels.gpu import cupy_internals, loader
from tests.emulator.machine import architectures
from tests.emulator.machine import launch as machine
from tests.emulator.machine.launch import EmulatedFault
from tests.emulator.machine.translation import translate
from tests.sharded.collectives import check_collectives

SOURCE = r"""
#define ALL 0xffffffffu
#include "gpu/cluster.cuh"

extern "C" __global__ void write_at(int* out, long long place) { out[place] = 1; }
extern "C" __global__ void read_at(const int* in, int* out, long long place) { out[0] = in[place]; }
extern "C" __global__ void divide(int* out, int by) { out[0] = 7 / by; }
extern "C" __global__ void write_shared(int* out, int place) {
    extern __shared__ int dynamic[];
    dynamic[place] = 1;
    out[0] = dynamic[place];
}
extern "C" __global__ void shift(int* out, int by) { out[0] = 1 << by; }
extern "C" __global__ void add(int* out, int by) { out[0] = 0x7fffffff + by; }
extern "C" __global__ void convert(int* out, float number) { out[0] = (int)number; }
extern "C" __global__ void load_four(int* out, long long place) { out[0] = (int)((const uint4*)(out + place))->x; }
extern "C" __global__ void write_to_one_of_two(int* out, int place) {
    __shared__ int two[2];
    __shared__ int others[32];
    two[place] = 1;
    others[threadIdx.x] = two[place];
    out[0] = others[0];
}
extern "C" __global__ void part_of_a_block_waits() {
    if (threadIdx.x < 16) {
        __syncthreads();
    }
}
extern "C" __global__ void wait_in_two_places(int from) {
    if (threadIdx.x < from) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}
extern "C" __global__ void part_of_a_warp_waits() {
    if (threadIdx.x < 16) {
        __shfl_sync(ALL, threadIdx.x, 0);
    } else {
        __syncthreads();
    }
}
extern "C" __global__ void vote_for_others() { __ballot_sync(threadIdx.x < 16 ? 0xffff0000u : 0xffffu, 1); }
extern "C" __global__ void spin(const unsigned* never) {
    while (load_acquire(never) == 0) {
    }
}
extern "C" __global__ void __launch_bounds__(64) few_threads() {}

extern "C" __global__ void exchange(int* out) {
    const int lane = threadIdx.x;
    int* mine = out + 8 * lane;
    mine[0] = __shfl_sync(ALL, lane * lane, 31 - lane);
    mine[1] = __shfl_up_sync(ALL, lane, 3);
    mine[2] = __shfl_xor_sync(ALL, lane, 5, 8);
    mine[3] = __popc(__ballot_sync(ALL, lane % 3 == 0));
    mine[4] = (int)__match_any_sync(ALL, lane % 4);
    mine[5] = __reduce_min_sync(ALL, lane - 5);
    mine[6] = (int)__reduce_add_sync(ALL, (unsigned)lane);
    mine[7] = lane % 2 ? __shfl_sync(0xaaaaaaaau, lane, 3) : __shfl_down_sync(0x55555555u, lane, 2);
}
/* Every block adds to a count, and all see the sum behind the barrier. */
extern "C" __global__ void meet(unsigned* barrier, unsigned* count, unsigned* out) {
    __shared__ unsigned of_block;
    if (threadIdx.x == 0) {
        of_block = 0;
    }
    __syncthreads();
    atomicAdd(&of_block, 1u);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(count, of_block);
    }
    grid_barrier(barrier);
    out[global_thread()] = *count;
}
extern "C" __global__ void TEAM write_to_next(int* out) {
    __shared__ int32_t held;
    const uint32_t next = team_address(&held, (team_rank() + 1) % TEAM_BLOCKS);
    team_exchange(next, (int32_t)blockIdx.x);
    team_barrier();
    out[blockIdx.x] = held;
    team_barrier();
}
/* Lanes begin in different iterations. */
extern "C" __global__ void append_once_or_twice(uint64_t* lengths, int queues) {
    for (int turn = threadIdx.x / 16; turn < 2; ++turn) {
        append(lengths + turn % queues);
    }
}
extern "C" __global__ void count_active(int* out) {
    if (threadIdx.x % 3 == 0) {
        out[threadIdx.x] = __popc(__activemask());
    } else {
        out[threadIdx.x] = __popc(__activemask());
    }
}
extern "C" __global__ void add_without_atomics(int* sum) {
    const int before = __ldcg(sum);
    __nanosleep(1);
    *sum = before + 1;
}
"""


@pytest.fixture(scope="module")
def kernel():
    return cupy.RawModule(code=SOURCE, options=(*loader.OPTIONS, "-DTEAM_BLOCKS=1"), enable_cooperative_groups=True).get_function


def ints(count=32):
    return cupy.zeros(count, np.int32)


@pytest.mark.parametrize("place", [32, -1, 1 << 40])
def test_writes_outside_of_an_array(kernel, place):
    with pytest.raises(EmulatedFault, match="write"):
        kernel("write_at")((1,), (1,), (ints(), np.int64(place)))


def test_an_array_that_ends_in_the_middle_of_an_aligned_word(kernel):
    with pytest.raises(EmulatedFault, match=r"it wrote outside of argument 0, int32\[3\]"):
        kernel("write_at")((1,), (1,), (ints(3), np.int64(3)))


def test_reads_outside_of_an_array(kernel):
    with pytest.raises(EmulatedFault, match="access outside of an array"):
        kernel("read_at")((1,), (1,), (ints(), ints(), np.int64(32)))


def test_new_memory_is_poisoned(kernel):
    out = ints()
    kernel("read_at")((1,), (1,), (cupy.empty(5, np.int32), out, np.int64(4)))
    assert int(out[0]) == int.from_bytes(b"\xcb" * 4, "little", signed=True)


def test_shared_memory_has_an_end(kernel):
    kernel("write_shared")((1,), (1,), (ints(), np.int32(31)), shared_mem=128)
    with pytest.raises(EmulatedFault, match="access outside of an array"):
        kernel("write_shared")((1,), (1,), (ints(), np.int32(32)), shared_mem=128)
    with pytest.raises(EmulatedFault, match="65536 bytes of shared memory, where 49152 are allowed"):
        kernel("write_shared")((1,), (1,), (ints(), np.int32(0)), shared_mem=65536)


def test_shared_memory_has_the_limits_of_the_architecture():
    code = """
    __device__ void keep_little() { __shared__ char little[1000]; little[threadIdx.x] = 0; }
    __device__ void keep_much() { __shared__ char much[MUCH]; much[threadIdx.x] = 0; keep_little(); }
    extern "C" __global__ void little() { keep_little(); }
    extern "C" __global__ void much() { keep_much(); }"""

    def kernel(name, bytes_of_much):
        return cupy.RawModule(code=code, options=(f"-DMUCH={bytes_of_much}",)).get_function(name)

    assert kernel("little", 49_000).shared_size_bytes == 1000
    with pytest.raises(EmulatedFault, match="much: 50000 bytes of static shared memory, where 49152 are allowed"):
        kernel("much", 49_000)
    for capability, most in (("8.0", 163 << 10), ("8.9", 99 << 10), ("10.0", 227 << 10), ("12.0", 99 << 10)):
        with architectures.using(architectures.ARCHITECTURES[capability]):
            much = kernel("much", 40_000)
            assert much.max_dynamic_shared_size_bytes == 49_152 - 41_000
            much.max_dynamic_shared_size_bytes = most - 41_000
            much((1,), (32,), (), shared_mem=most - 41_000)
            occupancy = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor
            assert [occupancy(much.kernel.ptr, 32, most - 41_000 + more) for more in (0, 1)] == [1, 0]
            with pytest.raises(cupy.cuda.driver.CUDADriverError, match="INVALID_VALUE"):
                much.max_dynamic_shared_size_bytes = most - 41_000 + 1
    with (
        pytest.raises(
            EmulatedFault, match=rf"much: 41000 \+ {most - 41_000} bytes of shared memory are more than the {64 << 10} of"
        ),
        architectures.using(architectures.ARCHITECTURES["7.5"]),
    ):
        much((1,), (32,), (), shared_mem=most - 41_000)


def test_a_modules_shared_variables_are_its_own():
    code = """__device__ __forceinline__ void keep_in_block(int* out) {
        __shared__ NUMBER held[32];
        __shared__ int beside[32];
        beside[threadIdx.x] = threadIdx.x;
        __syncthreads();
        held[threadIdx.x] = -1;
        __syncthreads();
        out[threadIdx.x] = beside[threadIdx.x];
    }
    extern "C" __global__ void keep(int* out) { keep_in_block(out); }"""
    for number, size in (("char", 1), ("long long", 8)):
        out, keep = ints(), cupy.RawModule(code=code, options=(f"-DNUMBER={number}",)).get_function("keep")
        keep((1,), (32,), (out,))
        assert out.tolist() == list(range(32))
        assert keep.emulated.static == 32 * size + 128


@pytest.mark.parametrize(
    ("name", "threads", "arguments", "what"),
    [
        ("divide", 1, (np.int32(0),), "division by zero"),
        ("shift", 1, (np.int32(32),), "a shift by as many bits"),
        ("add", 1, (np.int32(1),), "a result that its signed type cannot hold"),
        ("convert", 1, (np.float32(3e9),), "a float that its integer type cannot hold"),
        ("load_four", 1, (np.int64(1),), "no multiple of its type's alignment"),
        ("write_to_one_of_two", 1, (np.int32(2),), r"an index outside of an array of fixed length at .*:\d"),
        ("part_of_a_block_waits", 64, (), "have ended, and others wait"),
        ("wait_in_two_places", 64, (np.int32(16),), "threads of a block wait at .* and at"),
        ("part_of_a_warp_waits", 32, (), "deadlock: 16 of the 32 threads of block 0"),
        ("vote_for_others", 32, (), "not in its own mask"),
        ("few_threads", 128, (), "allows at most 64 threads per block, in clusters of 1 blocks"),
        ("write_at", 1, (), "1 arguments, where it has 2"),
        ("write_at", 1, (np.int32(3),), "argument 1 is i4, where the kernel takes i8"),
    ],
)
def test_faults(kernel, name, threads, arguments, what):
    arrays = (ints(),) if name in {"divide", "write_at", "shift", "add", "convert", "load_four", "write_to_one_of_two"} else ()
    with pytest.raises(EmulatedFault, match=what):
        kernel(name)((1,), (threads,), (*arrays, *arguments))


def test_a_kernel_that_does_not_end(kernel, monkeypatch):
    monkeypatch.setattr(machine, "LIMIT", 0.2)
    with pytest.raises(EmulatedFault, match="does not end"):
        kernel("spin")((1,), (32,), (cupy.zeros(1, np.uint32),))


def test_kernels_run_after_a_fault(kernel):
    with pytest.raises(EmulatedFault):
        kernel("part_of_a_warp_waits")((1,), (32,), ())
    test_warps(kernel)


def test_warps(kernel):
    out, lane = cupy.zeros((32, 8), np.int32), np.arange(32)
    kernel("exchange")((1,), (32,), (out,))
    expected = [
        (31 - lane) ** 2, np.where(lane < 3, lane, lane - 3), lane ^ 5, np.full(32, 11),
        np.left_shift(0x11111111, lane % 4).astype(np.int64).astype(np.uint32).view(np.int32), np.full(32, -5), np.full(32, 496),
        np.where(lane % 2, 3, np.where(lane < 30, lane + 2, lane)),
    ]  # fmt: skip
    np.testing.assert_array_equal(out.get(), np.stack(expected, 1))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_grid_barrier(kernel, monkeypatch, seed):
    monkeypatch.setattr(machine, "SEED", seed)
    out, barrier = cupy.zeros(192, np.uint32), cupy.zeros(1, np.uint32)
    for _ in range(2):
        kernel("meet")((3,), (64,), (barrier, cupy.zeros(1, np.uint32), out))
        assert (out.get() == 192).all()


def test_a_cluster_shares_memory():
    def write(blocks):
        out = ints()
        kernel = cupy.RawModule(code=SOURCE, options=(*loader.OPTIONS, f"-DTEAM_BLOCKS={blocks}")).get_function("write_to_next")
        if blocks > 8:
            cupy.cuda.driver.funcSetAttribute(kernel.kernel.ptr, 14, 1)
        kernel((32,), (64,), (out,))
        np.testing.assert_array_equal(out.get(), np.roll(np.arange(32).reshape(-1, blocks), 1, 1).ravel())

    for capability, most in (("9.0", 16), ("12.0", 8), ("8.9", 1)):
        with architectures.using(architectures.ARCHITECTURES[capability]):
            write(most)
            with pytest.raises(EmulatedFault, match=f"no clusters of {2 * most} blocks on {capability}"):
                write(2 * most)


def test_a_race_shows(kernel):
    total = ints(1)
    kernel("add_without_atomics")((1,), (32,), (total,))
    assert int(total[0]) < 32


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_active_lanes_are_at_the_same_place(kernel, monkeypatch, seed):
    monkeypatch.setattr(machine, "SEED", seed)
    active, lengths = ints(), cupy.zeros(1, np.uint64)
    kernel("count_active")((1,), (32,), (active,))
    third = np.arange(32) % 3 == 0
    most = [active.get()[lanes].max() for lanes in (third, ~third)]
    assert most == [11, 21] or (seed and 1 < most[0] <= 11 and 1 < most[1] <= 21)
    kernel("append_once_or_twice")((1,), (32,), (lengths, np.int32(1)))
    assert lengths.tolist() == [48]


def test_a_queue_for_each_iteration_shows(kernel):
    """Lanes of other iterations may be active, too, and the first lane's queue is then that of all."""
    lengths = cupy.zeros(2, np.uint64)
    kernel("append_once_or_twice")((1,), (32,), (lengths, np.int32(2)))
    assert lengths.tolist() == [32, 16]


def test_host_arrays_are_refused_as_by_cupy(kernel):
    array = cupy.arange(4)
    for mixed in (lambda: array + np.arange(4), lambda: np.asarray(array), lambda: cupy.concatenate([array, np.arange(4)])):
        with pytest.raises(TypeError):
            mixed()
    with pytest.raises(TypeError, match="pass a numpy"):
        kernel("write_at")((1,), (1,), (np.zeros(2, np.int32), np.int64(0)))
    with pytest.raises(TypeError):
        np.full(3, 1, like=array)
    with pytest.raises(TypeError, match="max has no keyword initial"):
        array.max(initial=0)
    assert isinstance(np.zeros(3, like=array), cupy.ndarray)
    assert np.searchsorted(array[::-1], array, sorter=array[::-1]).tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="several values at once"):
        array[cupy.asarray([1, 1])] = cupy.asarray([2, 3])


def test_floats_that_an_integer_type_cannot_hold():
    wrong = cupy.asarray([3e9, -3e9, np.nan])
    assert wrong.astype(np.int32).tolist() == [2**31 - 1, -(2**31), 0]
    assert cupy.asarray([2.0**63, -1e300, np.nan]).astype(np.int64).tolist() == [2**63 - 1, -(2**63), -(2**63)]


def test_a_kernel_of_which_no_block_fits_is_launched_and_fails():
    keys, counts = cupy.zeros(1, np.uint64), cupy.zeros(2, np.int64)
    with pytest.raises(EmulatedFault, match="the source allows at most 256 threads"):
        loader.launch("layout/merging/pairs.cu", "count_newest", 4096, None, keys, np.int64(1), counts, ROW=np.dtype(np.int32))


def test_sources_are_compiled_without_cupys_option_to_flush():
    cupy_internals.prepare_compiler()
    compile_source = cupy.cuda.compiler._compile_using_nvrtc_no_warning
    assert compile_source("", (*loader.OPTIONS, "-ftz=true"), "90") == loader.OPTIONS
    assert compile_source("", ("-ftz=true",)) == ("-ftz=true",)


def test_unknown_ptx_is_refused():
    with pytest.raises(ValueError, match=r"unknown PTX instruction: ld.weird.f16 %0, \[%1\]"):
        translate('void f() { asm volatile("ld.weird.f16 %0, [%1];" : "=h"(a) : "l"(b)); }')


def test_views_share_memory_and_keep_it():
    array = cupy.arange(10)
    view = array[2:8:2].view(np.uint64)
    place = array.data.ptr
    array[4] = 77
    del array
    assert view.data.ptr == place + 16
    assert view.tolist() == [2, 77, 6]
    assert ctypes.string_at(place, 1) == b"\0"


def test_ranks_swap_arrays_over_nccl():
    name = unique_id()

    def work(ranks):
        with BetweenGpus(name, ranks.rank, 2) as gpus:
            return check_collectives(gpus, cupy.asarray)

    assert run_ranks(2, work) == [766, 766]


def test_ranks_that_are_threads_swap_arrays_between_their_gpus():
    def work(ranks):
        return cupy.cuda.Device().id, check_collectives(ranks, cupy.asarray), check_collectives(ranks, np.copy)

    with architectures.using(architectures.GPUS[0]):
        assert run_ranks(2, on_gpus(2, work), 60) == [(0, 766, 764), (1, 766, 764)]
