"""Reader for safetensors files: 8 bytes of header length, a JSON header, then the tensors' bytes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

Tensors = Mapping[str, npt.NDArray[np.float32]]

# The format's own limit; a larger number means another kind of file.
MAX_HEADER_BYTES: Final = 100_000_000


def read_tensors(path: Path) -> Tensors:
    """Every float32 tensor of the file by name, as read-only views of a memory map.

    Raises:
        ValueError: not a safetensors file, or a tensor outside the file.
    """
    data = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(data[:8].tobytes(), "little")
    if length > min(MAX_HEADER_BYTES, len(data) - 8):
        raise ValueError(f"{path.name} is not a safetensors file: its header is too long.")
    header = json.loads(data[8 : 8 + length].tobytes())
    body = data[8 + length :]
    return {
        name: view_tensor(body, name, entry["shape"], *entry["data_offsets"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def view_tensor(
    body: npt.NDArray[np.uint8], name: str, shape: list[int], start: int, end: int
) -> npt.NDArray[np.float32]:
    """View of the bytes from `start` to `end` as a tensor."""
    if not 0 <= start <= end <= len(body):
        raise ValueError(f"The tensor {name} is outside the file.")
    return body[start:end].view("<f4").reshape(shape)
