"""The energy that a GPU and the CPUs have used, and the GPU's peak bandwidth.

The GPU's is read by NVML (NVIDIA's management library, part of the driver), the CPUs' where Linux offers RAPL (Running Average
Power Limit) to the user.
"""

import ctypes
import time
from collections.abc import Callable
from pathlib import Path

import cupy

_MEMORY = 2  # NVML_CLOCK_MEM
_RAPL = Path("/sys/class/powercap")


def cpu_joules() -> float | None:
    """Energy of all CPU packages since some time, or None if the machine does not offer it."""
    try:
        found = [int(each.read_text()) for each in _RAPL.glob("intel-rapl:[0-9]*/energy_uj") if each.parent.name.count(":") == 1]
    except OSError:
        return None
    return sum(found) / 1e6 if found else None


class Meter:
    """Counts joules of the current GPU; `works` is False where the driver does not count them."""

    def __init__(self) -> None:
        self._device, self.works = ctypes.c_void_p(), False
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
            bus = cupy.cuda.Device().pci_bus_id.encode()
            if self._library.nvmlInit_v2() == 0:
                self.works = not self._library.nvmlDeviceGetHandleByPciBusId_v2(bus, ctypes.byref(self._device))
                self.works = self.works and self.joules() > 0
        except OSError:
            return

    def joules(self) -> float:
        """Energy since the driver was loaded; 0 if it is not counted."""
        millijoules = ctypes.c_ulonglong()
        failed = self._library.nvmlDeviceGetTotalEnergyConsumption(self._device, ctypes.byref(millijoules))
        return 0.0 if failed else millijoules.value / 1000

    def peak_rate(self) -> float | None:
        """Bytes a second of the memory: two transfers a cycle of its highest clock; None without NVML."""
        megahertz, bits = ctypes.c_uint(), ctypes.c_uint()
        if not self.works or self._library.nvmlDeviceGetMaxClockInfo(self._device, _MEMORY, ctypes.byref(megahertz)):
            return None
        if self._library.nvmlDeviceGetMemoryBusWidth(self._device, ctypes.byref(bits)):
            return None
        return 2e6 * megahertz.value * bits.value / 8

    def of(self, call: Callable[[], object], seconds: float = 0.4) -> tuple[float, float | None, float]:
        """Joules of the GPU and of the CPUs, and seconds, of one `call` that is repeated, as counters move every 0.1 s."""
        count = 0
        cupy.cuda.Device().synchronize()
        of_cpus, before, start = cpu_joules(), self.joules(), time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds:
            call()
            cupy.cuda.Device().synchronize()
            count += 1
        used, after = self.joules() - before, cpu_joules()
        return used / count, None if of_cpus is None or after is None else (after - of_cpus) / count, passed / count
