"""The kernels of `elsv.exact.cuda` compiled for the CPU by g++, and a device that runs them."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from elsv.exact.cuda.sweeps import source

HEADER = Path(__file__).with_name("cuda_on_host.h")


class HostDevice:
    """Runs a kernel's threads one after the other; arrays are NumPy's, poisoned with NaN when new."""

    name = "host"

    def __init__(self, library: ctypes.CDLL, memory: int = 1 << 33) -> None:
        self._library, self._memory = library, memory
        self.launched: list[str] = []

    def free(self) -> int:
        return self._memory

    def empty(self, size: int) -> np.ndarray:
        return np.full(size, np.nan)

    def array(self, values: np.ndarray) -> np.ndarray:
        return np.array(values)

    def fetch(self, values: np.ndarray) -> np.ndarray:
        return values.copy()

    def launch(self, kernel: str, blocks: int, threads: int, arguments: tuple) -> None:
        self.launched.append(kernel)
        getattr(self._library, kernel)(*(_argument(a) for a in (blocks, threads, *arguments)))


def _argument(value: object) -> object:
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        assert value.dtype in (np.float64, np.int64)
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_longlong(value)


def compile_kernels(folder: Path) -> ctypes.CDLL:
    """Compile `lattice.cu` for this machine, with every access checked where the compiler can."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    target = folder / "lattice.so"
    text = folder / "lattice.cpp"
    text.write_text(source(), encoding="utf-8")
    options = ["-std=c++17", "-O2", "-Wall", "-Wno-unknown-pragmas", "-shared", "-fPIC"]
    command = [compiler, *options, "-include", str(HEADER), str(text), "-o", str(target)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(target))
