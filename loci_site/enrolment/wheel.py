"""The client as a wheel, made of this server's own files, so that its version always fits, and the script that runs it."""

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
# In Python 3.9, so that it can say what is missing. `u`, its own address, comes from the line that ran it.
_SCRIPT: Final = """\
import hashlib, pathlib, sys, tempfile, urllib.request

site, words = u.rpartition("/connect/")[0], sys.argv[1:]
if sys.version_info < (3, 11):
    sys.exit("Python 3.11 or newer is needed. The page also has a line for uv, which brings one.")
try:
    wheel = urllib.request.urlopen(site + "/connect/{name}").read()
except OSError as error:
    sys.exit(f"{{site}} does not send the client ({{error}}). Take a new line of the page.")
if hashlib.sha256(wheel).hexdigest() != "{sha256}":
    sys.exit("The client is not the one that the page named: nothing was run.")
if words[1:] and "-" not in (words[0][0], words[1][0]):
    words[1:2] = ["--url", site, "--code", words[1]]
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder, "{name}")
    file.write_bytes(wheel)
    sys.path.insert(0, str(file))
    sys.argv[1:] = ["connect", *words]
    from loci_site.clients.main import main

    main()
"""


@dataclass(frozen=True)
class _Served:
    """A file to download; `sha256` in hex."""

    name: str
    data: bytes
    sha256: str


@cache
def client_wheel() -> _Served:
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
    return _Served(f"{_NAME}-{__version__}-py3-none-any.whl", data, hashlib.sha256(data).hexdigest())


@cache
def client_script() -> _Served:
    """The script that fetches the wheel, checks it and runs it; its name is the half of its SHA-256 that its line checks."""
    wheel = client_wheel()
    data = _SCRIPT.format(name=wheel.name, sha256=wheel.sha256).encode()
    sha256 = hashlib.sha256(data).hexdigest()
    return _Served(sha256[:32], data, sha256)


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
