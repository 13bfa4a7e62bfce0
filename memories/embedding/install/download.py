"""Downloads one file over HTTP: resumable, with progress, and quick to give up without internet access."""

import http.client
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..folder import sha256_of

# From the call to the response headers, including name resolution, proxies and redirects.
OPEN_TIMEOUT_S: Final = 5.0
# Between two reads: a slow connection is not a dead one.
STALL_TIMEOUT_S: Final = 30.0
CHUNK_BYTES: Final = 1 << 18
RANGE_NOT_SATISFIABLE: Final = 416

# Called with (bytes so far, total bytes or None).
Progress = Callable[[int, int | None], None]


class DownloadFailed(Exception):
    """The download failed, or the file is not the expected one; the message says why."""


def download(url: str, target: Path, *, sha256: str, progress: Progress) -> None:
    """Download `url` to `target`, resuming an earlier attempt (`target` + ".part").

    `target` appears only with the right SHA-256. Uses the environment's proxies.

    Raises:
        DownloadFailed: no connection within 5 s, a broken one, or a file with another SHA-256.
    """
    part = target.with_name(target.name + ".part")
    resumed = part.is_file() and part.stat().st_size > 0
    fetch_part(url, part, progress)
    if sha256_of(part) != sha256 and resumed:
        # The partial file may have been the start of another file.
        part.unlink()
        fetch_part(url, part, progress)
    if sha256_of(part) != sha256:
        part.unlink()
        raise DownloadFailed(f"{url} is not the published file: its SHA-256 differs.")
    part.replace(target)


def fetch_part(url: str, part: Path, progress: Progress) -> None:
    """Append the missing bytes of `url` to `part`."""
    done_bytes = part.stat().st_size if part.is_file() else 0
    try:
        with open_url(url, done_bytes) as response:
            # 206 continues the file; 200 is the whole file from a server without range support.
            resumed = response.status == http.HTTPStatus.PARTIAL_CONTENT
            save_response(response, part, done_bytes if resumed else 0, progress)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != RANGE_NOT_SATISFIABLE:
            raise DownloadFailed(f"{url} answers {error.code} {error.reason}.") from error
        # Nothing is left to send: the part is complete, or longer than the file. Its hash decides.
    except (OSError, http.client.HTTPException) as error:
        raise DownloadFailed(f"{url} cannot be read: {getattr(error, 'reason', error)}.") from error


def save_response(
    response: http.client.HTTPResponse, part: Path, done_bytes: int, progress: Progress
) -> None:
    """Append the response's body to `part`, which holds `done_bytes`; OSError if the body is too short."""
    length = response.headers.get("Content-Length")
    total = done_bytes + int(length) if length and length.isdigit() else None
    with part.open("ab" if done_bytes else "wb") as file:
        while chunk := response.read(CHUNK_BYTES):
            file.write(chunk)
            done_bytes += len(chunk)
            progress(done_bytes, total)
    if total is not None and done_bytes < total:
        raise OSError(f"the connection broke off at {done_bytes:,} of {total:,} bytes")


def open_url(url: str, offset: int) -> http.client.HTTPResponse:
    """Open the URL or give up after 5 s; socket timeouts do not cover name resolution."""
    if urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
        raise DownloadFailed(f"{url} is not an http(s) address.")
    headers = {"User-Agent": "loci"} | ({"Range": f"bytes={offset}-"} if offset else {})
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  # the scheme was checked
    opening = OpeningThread(request)
    opening.start()
    opening.join(OPEN_TIMEOUT_S)
    return opening.result()


class OpeningThread(threading.Thread):
    """Opens a URL on a thread that the caller can abandon."""

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
        except Exception as error:  # raised on the waiting thread by result()
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
