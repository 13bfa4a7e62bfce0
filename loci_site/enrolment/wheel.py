"""The client as a wheel, made of this server's own files, so that its version always fits: `uvx --from` and Python take it."""

import base64
import hashlib
import io
import zipfile
from dataclasses import dataclass
from functools import cache
from typing import Final

from loci_site import __version__
from loci_site.clients.program import CLIENT, read_parts

_NAME: Final = "loci_client"
_ABOUT: Final = {
    "METADATA": f"""\
Metadata-Version: 2.1
Name: loci-client
Version: {__version__}
Summary: Connects agents' clients to the Loci that serves this file
License: Apache-2.0
Requires-Python: >=3.11
""",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: loci\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "entry_points.txt": "[console_scripts]\nloci-client = loci_site.clients.main:main\n",
}


@dataclass(frozen=True)
class _ClientWheel:
    """A file to download; `sha256` in hex."""

    name: str
    data: bytes
    sha256: str


@cache
def client_wheel() -> _ClientWheel:
    """The same bytes for the same files: in order, uncompressed, without a date of today."""
    info = f"{_NAME}-{__version__}.dist-info"
    files = dict(sorted(read_parts(CLIENT).items())) | {
        f"{info}/{name}": text.encode() for name, text in _ABOUT.items()
    }
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data)
    data = whole.getvalue()
    return _ClientWheel(f"{_NAME}-{__version__}-py3-none-any.whl", data, hashlib.sha256(data).hexdigest())


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
