"""Fetches a missing embedding model for a process that serves, as `loci up` does, and says how that stands."""

import math
import subprocess
import sys
import threading
import time
from typing import Final

from django.conf import settings

from loci_site.server.up import RUN_AGAIN, child_environment
from memories.embedding import model_status

_AGAIN_S: Final = 3600.0
_MAX_REASON_CHARS: Final = 200


class _Fetch:
    """One attempt at a time, by a process that ends by itself and outlives this one; after a failure the next in an hour."""

    def __init__(self) -> None:
        self.is_wanted = False
        self._lock, self._next_at, self._note = threading.Lock(), 0.0, ""

    def describe(self) -> str:
        """How it stands, empty where no model is missing or none is to be fetched; begins an attempt that is due."""
        if not self.is_wanted or not settings.LOCI.embedding.hub or model_status().state != "absent":
            return ""
        with self._lock:
            if time.monotonic() >= self._next_at:
                self._next_at, self._note = math.inf, "the embedding model is being fetched"
                threading.Thread(target=self._run, name="loci-model-fetch", daemon=True).start()
            return self._note

    def _run(self) -> None:
        done = subprocess.run(  # noqa: S603 - this program again
            [sys.executable, "-P", "-c", RUN_AGAIN, "loci", "model", "install"],
            env=child_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors="replace", check=False,
        )  # fmt: skip
        reason = " ".join(done.stderr.split())[:_MAX_REASON_CHARS]
        with self._lock:
            self._next_at = time.monotonic() + _AGAIN_S
            self._note = f"the embedding model cannot be fetched, the next attempt is in an hour ({reason})"


_FETCH: Final = _Fetch()
describe_fetch = _FETCH.describe


def fetch_when_missing() -> None:
    """Let this process fetch a missing model at the first question that needs it, unless `embedding.hub` is false."""
    _FETCH.is_wanted = True
