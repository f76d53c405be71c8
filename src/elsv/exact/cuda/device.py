"""The one GPU of this process: memory, and the kernels of `lattice.cu`, through CuPy."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from elsv._base.typing import AnyArray
from elsv.choice import TIE
from elsv.errors import InvalidInputError, MissingExtraError

DEVICES = ("cpu", "cuda")
NULL = 0  # in the place of an array that a kernel must not read
_OPTIONS = ("--std=c++17",)


def source() -> str:
    """Return the source of the kernels, with the constant of the tie rule (`elsv.choice`) in front."""
    own = files("elsv.exact.cuda").joinpath("lattice.cu").read_text(encoding="utf-8")
    return f"#define TIE {TIE!r}\n{own}"


class Device:
    """The current CUDA device; tests have another of the same form, which runs the kernels on the CPU."""

    def __init__(self) -> None:
        self._cupy = _cupy()
        properties = self._cupy.cuda.runtime.getDeviceProperties(self._cupy.cuda.Device().id)
        self.name = properties["name"].decode()
        self._module = self._cupy.RawModule(code=source(), options=_OPTIONS)
        self._kernels: dict[str, Any] = {}

    def free(self) -> int:
        """Return how many bytes can be allocated, after giving back what earlier answers left behind."""
        self._cupy.get_default_memory_pool().free_all_blocks()
        return int(self._cupy.cuda.runtime.memGetInfo()[0])

    def empty(self, size: int) -> Any:
        """Return room for `size` doubles."""
        return self._cupy.empty(size, dtype=self._cupy.float64)

    def array(self, values: AnyArray) -> Any:
        """Return a copy on the card."""
        return self._cupy.asarray(values)

    def launch(self, kernel: str, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        """Start a kernel on the current stream."""
        if kernel not in self._kernels:
            self._kernels[kernel] = self._module.get_function(kernel)
        self._kernels[kernel]((blocks,), (threads,), tuple(arguments))

    def fetch(self, values: Any) -> AnyArray:
        """Return a copy as a NumPy array."""
        found: AnyArray = self._cupy.asnumpy(values)
        return found


def find_device() -> Device:
    """Return the CUDA device, or raise in one line why there is none."""
    cupy = _cupy()
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise InvalidInputError(
            f"device='cuda' needs an NVIDIA driver and a GPU ({error}); use device='cpu'"
        ) from None
    if count == 0:
        raise InvalidInputError("device='cuda' needs a GPU, and CUDA finds none; use device='cpu'")
    return Device()


def check_device(name: str) -> bool:
    """Return whether the answer is to be computed on a GPU."""
    if name not in DEVICES:
        raise InvalidInputError(f"device must be 'cpu' or 'cuda', got {name!r}")
    return name == "cuda"


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise MissingExtraError("device='cuda'", "gpu") from error
    return cupy
