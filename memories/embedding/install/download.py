"""Fetches one file over HTTP: resumable, with progress, and quick to give up where there is no way out."""

import http.client
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..folder import sha256_of

# From the call to the answer's headers, names, proxies and redirects included.
OPEN_TIMEOUT_S: Final = 5.0
# Between two reads: a slow line is no dead line.
STALL_TIMEOUT_S: Final = 30.0
CHUNK_BYTES: Final = 1 << 18
RANGE_NOT_SATISFIABLE: Final = 416

# Called with (bytes there, bytes in all or None).
Progress = Callable[[int, int | None], None]


class DownloadFailed(Exception):
    """The file did not come, or is not the one that was asked for; the message says why."""


def download(url: str, target: Path, *, sha256: str, progress: Progress) -> None:
    """Fetch `url` to `target`, going on where an earlier try stopped (`target` + ".part").

    `target` appears only when its SHA-256 is right. Proxies of the environment are used.

    Raises:
        DownloadFailed: no connection within 5 s, a broken one, or a file with another SHA-256.
    """
    part = target.with_name(target.name + ".part")
    resumed = part.is_file() and part.stat().st_size > 0
    _fetch(url, part, progress)
    if sha256_of(part) != sha256 and resumed:
        # What was there may have been the start of something else.
        part.unlink()
        _fetch(url, part, progress)
    if sha256_of(part) != sha256:
        part.unlink()
        raise DownloadFailed(f"{url} is not the published file: its SHA-256 differs.")
    part.replace(target)


def _fetch(url: str, part: Path, progress: Progress) -> None:
    there = part.stat().st_size if part.is_file() else 0
    try:
        with _open(url, there) as response:
            # 206 goes on; 200 is the whole file from a server that knows no ranges.
            resumed = response.status == http.HTTPStatus.PARTIAL_CONTENT
            _save(response, part, there if resumed else 0, progress)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != RANGE_NOT_SATISFIABLE:
            raise DownloadFailed(f"{url} answers {error.code} {error.reason}.") from error
        # Nothing is left to send: the part is whole, or longer than the file. Its hash will tell.
    except (OSError, http.client.HTTPException) as error:
        raise DownloadFailed(f"{url} cannot be read: {getattr(error, 'reason', error)}.") from error


def _save(response: http.client.HTTPResponse, part: Path, there: int, progress: Progress) -> None:
    length = response.headers.get("Content-Length")
    total = there + int(length) if length and length.isdigit() else None
    with part.open("ab" if there else "wb") as file:
        while chunk := response.read(CHUNK_BYTES):
            file.write(chunk)
            there += len(chunk)
            progress(there, total)
    if total is not None and there < total:
        raise OSError(f"the connection broke off at {there:,} of {total:,} bytes")


def _open(url: str, offset: int) -> http.client.HTTPResponse:
    """Open the URL, or give up after 5 s; the time-outs of sockets leave out the look-up of names."""
    if urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
        raise DownloadFailed(f"{url} is not an http(s) address.")
    headers = {"User-Agent": "loci"} | ({"Range": f"bytes={offset}-"} if offset else {})
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  # the scheme was checked
    opening = _Opening(request)
    opening.start()
    opening.join(OPEN_TIMEOUT_S)
    return opening.result()


class _Opening(threading.Thread):
    """Opens a URL on a thread that can be left behind."""

    def __init__(self, request: urllib.request.Request) -> None:
        super().__init__(name="loci-download", daemon=True)
        self._request = request
        self._lock = threading.Lock()
        self._abandoned = False
        self._response: http.client.HTTPResponse | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            response = urllib.request.urlopen(self._request, timeout=STALL_TIMEOUT_S)  # noqa: S310
        except Exception as error:  # handed to the waiting thread
            self._error = error
            return
        with self._lock:
            if self._abandoned:
                response.close()
            self._response = response

    def result(self) -> http.client.HTTPResponse:
        with self._lock:
            if self._response is not None:
                return self._response
            self._abandoned = True
        raise self._error or TimeoutError(f"no answer within {OPEN_TIMEOUT_S:g} s")
