"""Masks secrets of published formats in an uploaded file that waits to be confirmed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from access.groups.guarding import OnHold, admit
from guard import Door, Family, GuardTreatment, Policy
from storage.encryption import DatabaseKey
from storage.encryption.sealing import readable, sealed_chunks
from storage.whole_file import replace_whole

_ONLY_SECRETS: Final = Policy(
    own={family.value: GuardTreatment.ALLOW for family in Family} | {Family.SECRET.value: GuardTreatment.MASK}
)
_MAX_FRAME_LINES: Final = 200  # of a private key that is written over lines
FRAME, FRAME_END = b"-----BEGIN ", b"-----END "


def mask_file(path: Path, key: DatabaseKey | None = None) -> bool:
    """Mask the secrets of a text file, in place; False for a zip or another file of bytes, which stays as it is.

    A file that is sealed with the key is sealed again.
    """
    with readable(path, key) as plain, plain.open("rb") as stream:
        if b"\0" in stream.read(4096) or path.suffix == ".zip":
            return False
        stream.seek(0)
        with replace_whole(path) as out:
            masked = map(_mask_passage, _passages(stream))
            out.writelines(sealed_chunks(masked, key) if key else masked)
    return True


def _passages(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; the lines of a private key as one passage."""
    frame = list[bytes]()
    for line in stream:
        if frame or (FRAME in line and FRAME_END not in line):
            frame.append(line)
            if FRAME_END not in line and len(frame) < _MAX_FRAME_LINES:
                continue
            line = b"".join(frame)
            frame = []
        yield line
    yield b"".join(frame)


def _mask_passage(raw: bytes) -> bytes:
    """A line with its secrets masked; a changed line of an export also loses the vectors of its old text."""
    text = raw.decode("utf-8", "surrogateescape")
    value = _read_json(text)
    if value is None:
        return str(_without_secrets(text)).encode("utf-8", "surrogateescape")
    safe = _without_secrets(value)
    if safe == value:
        return raw
    safe.pop("pieces", None) if isinstance(safe, dict) else None
    return json.dumps(safe, ensure_ascii=False).encode("utf-8", "surrogateescape") + raw[len(raw.rstrip()) :]


def _without_secrets(value: Any) -> Any:
    return admit(value, Door.OUTSIDE, _ONLY_SECRETS, on_hold=OnHold.MASK).value


def _read_json(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
