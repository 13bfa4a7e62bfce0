"""A model behind an address that answers as OpenAI's /v1/embeddings does: Ollama, vLLM, a hosted service.

Texts leave this machine, to the host that the operator named in `loci model add`.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from operator import itemgetter
from typing import ClassVar, Final
from weakref import finalize

import httpx2
import numpy as np
from django.conf import settings

from access.errors import InvalidInput
from memories.embedding.manifest import BUILT_IN, MINILM, TOKENIZER_FILE, WIDTHS, Model
from memories.embedding.model import (
    QUESTION_S,
    ModelInstallFailed,
    ModelUnavailable,
    TextRefused,
    TextTokenizer,
    Vectors,
    unit_rows,
)

_ADDRESS: Final = re.compile(r"https?://[^\s/@?#]+(/[^\s@?#]*)?")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MOST_WIDE: Final = 4000  # that PostgreSQL's index takes
_FIRST_S: Final = 10.0  # a server may load its model before its first answer; no recall waits for that one
_BULK_S: Final = 120.0  # for a batch that no caller waits for: a machine without a GPU may compute long texts
_PAUSE_S: Final = 0.3  # before the second attempt
_MOST_BYTES: Final = 1 << 24
_TOO_LONG: Final = (400, 413, 422)
_OF_ANY_TEXT: Final = (401, 403, 404, 429)
_HARMLESS: Final = "harbour"
_LEAST: Final = 32  # letters: a text refused for its length is longer
_LETTERS: Final = 16  # of a token at most: MiniLM's tokenizer takes any long word for one
_HINT: Final = (
    "Check that it runs and takes LOCI_EMBEDDING_ENDPOINT_KEY. Until it answers, words find memories, and vectors are"
    " made later."
)


class LettersTokenizer(TextTokenizer):
    """MiniLM's tokenizer, which counts; the ids are letters, since the endpoint has a tokenizer of its own."""

    def ids(self, texts: Sequence[str], *, max_tokens: int) -> list[list[int]]:
        """The code points of each text, cut to the window."""
        return [[*map(ord, self._cut(text, max_tokens))] for text in texts]

    def _cut(self, text: str, most: int) -> str:
        text = text[: most * _LETTERS]
        return text if self.count(text) <= most else text[: self.tokens(text)[most].start]


class _Answered(Exception):
    """The endpoint answered with this status."""


class EndpointSession:
    """Asks an endpoint for vectors; after its first failure it only gives the reason. Safe to share between threads."""

    batch_tokens: ClassVar[int] = 32_000  # letters

    def __init__(self, model: Model, on_failure: Callable[[Exception], object] = lambda error: None) -> None:
        self._model, self._on_failure = model, on_failure
        self._failure, self._has_answered = "", False
        self._bulk = (
            threading.Lock()
        )  # else a question waits for several batches, where a server answers in turn
        key = settings.LOCI.embedding.endpoint_key.strip().encode()
        # The operator names this host, so unlike a webhook's it may be a private one. Without redirects, proxies and
        # .netrc, texts and key reach no other.
        headers = {b"Authorization": b"Bearer " + key} if key else {}
        self._client = httpx2.Client(trust_env=False, headers=headers)
        finalize(self, self._client.close)

    def run(self, rows: Sequence[Sequence[int]], patience_s: float | None = None) -> Vectors:
        """Vectors of texts, each as its code points: float32[n, width], unit length.

        Without `patience_s`, one batch at a time is asked for.

        Raises:
            TextRefused: it refuses one of these texts.
            ModelUnavailable: the endpoint failed now or earlier: no answer in time, or an answer without vectors.
        """
        texts = ["".join(map(chr, row)) for row in rows]
        wait_s = _BULK_S if patience_s is None else patience_s
        with self._bulk if patience_s is None else nullcontext():
            return self._run_now(texts, wait_s if self._has_answered else _FIRST_S)

    def _run_now(self, texts: Sequence[str], wait_s: float) -> Vectors:
        if not self._failure:
            # The words of a library's error or of the answer are not passed on: they may quote the key.
            try:
                return self._vectors_of(texts, time.monotonic() + wait_s)
            except _Answered as answer:
                why = f"answers {answer}"
            except httpx2.TimeoutException:
                why = f"does not answer within {wait_s:g} s"
                if wait_s < QUESTION_S:  # what a question's vector left: no fault of the endpoint
                    raise ModelUnavailable(f"{self._model.url} {why}.", hint=_HINT) from None
            except (httpx2.HTTPError, httpx2.InvalidURL, OverflowError) as error:  # the last of a port
                why = f"cannot be reached ({type(error).__name__})"
            # RuntimeError is also that of a client which was closed meanwhile.
            except (LookupError, RuntimeError, TypeError, ValueError):
                why = f"does not answer with vectors of {self._model.width or 'equally many'} numbers"
            self._failure = f"{self._model.url} {why}."
            self._client.close()  # ends the threads that still read
            self._on_failure(ModelUnavailable(self._failure, hint=_HINT))
        raise ModelUnavailable(self._failure, hint=_HINT)

    def _vectors_of(self, texts: Sequence[str], until: float) -> Vectors:
        """The vectors; of a text that the endpoint refuses, those of as much of its beginning as it takes."""
        status, body = self._ask(texts, until)
        if status == HTTPStatus.OK:
            return self._read(body, len(texts))
        if self._has_answered and status not in _OF_ANY_TEXT:
            if len(texts) > 1:
                return np.concatenate([self._vectors_of([text], until) for text in texts])
            if status in _TOO_LONG and len(texts[0]) > _LEAST:
                return self._vectors_of([texts[0][: len(texts[0]) // 2]], until)
            if self._ask([_HARMLESS], until)[0] == HTTPStatus.OK:
                raise TextRefused(
                    f"{self._model.url} answers {status} to one text.", hint="It takes other texts."
                )
        raise _Answered(status)

    def _ask(self, texts: Sequence[str], until: float) -> tuple[int, bytes]:
        """The answer's status and body; a second attempt if the first fails at once."""
        wanted = {"dimensions": self._model.dimensions} if self._model.dimensions else {}
        asked = json.dumps({"model": self._model.repository, "input": texts, **wanted}).encode()
        try:
            status, body = self._post(asked, until)
            if status != HTTPStatus.TOO_MANY_REQUESTS and status < HTTPStatus.INTERNAL_SERVER_ERROR:
                return status, body
        except httpx2.TimeoutException:
            raise
        except httpx2.TransportError:  # perhaps a kept connection that the server has closed
            pass
        time.sleep(_PAUSE_S)
        return self._post(asked, until)

    def _post(self, asked: bytes, until: float) -> tuple[int, bytes]:
        """The answer's status and body. What comes in drops, headers too, holds a thread and not the caller."""
        answer = Future[tuple[int, bytes]]()

        def exchange() -> None:
            try:
                answer.set_result(self._exchange(asked, until))
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=exchange, name="loci-endpoint", daemon=True).start()
        try:
            return answer.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise httpx2.ReadTimeout("") from None

    def _exchange(self, asked: bytes, until: float) -> tuple[int, bytes]:
        body, left = bytearray(), until - time.monotonic()
        if left <= 0:
            raise httpx2.ReadTimeout("")
        headers = {"Content-Type": "application/json"}
        with self._client.stream(
            "POST", self._model.url, content=asked, headers=headers, timeout=left
        ) as answer:
            for part in answer.iter_bytes():
                body += part
                if len(body) > _MOST_BYTES or time.monotonic() > until:
                    raise httpx2.ReadTimeout("")
            return answer.status_code, bytes(body)

    def _read(self, body: bytes, count: int) -> Vectors:
        """The vectors of an answer; LookupError, TypeError or ValueError if it is something else."""
        answers = sorted(json.loads(body)["data"], key=itemgetter("index"))
        vectors = np.array([answer["embedding"] for answer in answers], dtype=np.float64)
        if vectors.shape != (count, self._model.width or vectors.shape[-1]):
            raise ValueError("another number of vectors, or of another width")
        if not (np.isfinite(vectors).all() and vectors.any(axis=1).all()):
            raise ValueError("not numbers, or no direction")
        self._has_answered = True
        # Squares of very large and very small numbers are none.
        return unit_rows(vectors / np.abs(vectors).max(axis=1, keepdims=True))


def describe_endpoint(
    url: str, *, name: str, served: str, width: int, question_prefix: str, text_prefix: str
) -> Model:
    """The model that is called `served` below the address, as wide as its first answer; `width` 0 leaves that to it.

    Raises:
        InvalidInput: the address or the name will not do.
        ModelUnavailable: the endpoint does not answer with a vector.
        ModelInstallFailed: vectors of this width cannot be indexed.
    """
    known = {*BUILT_IN, *(model.name for model in BUILT_IN.values())}
    if not (_ADDRESS.fullmatch(url) and served and _NAME.fullmatch(name)) or name in known:
        raise InvalidInput(
            "An endpoint needs an address such as https://host/v1, its model's name there, and a name for it here.",
            hint="Write --model MODEL --as NAME; a key belongs in LOCI_EMBEDDING_ENDPOINT_KEY.",
            field="model",
        )
    read = (url, served, width, question_prefix, text_prefix)
    model = Model(
        name=name, revision=sha256(repr(read).encode()).hexdigest(), licence="unknown", width=width, layers=0, heads=0,
        sha256={TOKENIZER_FILE: MINILM.sha256[TOKENIZER_FILE]}, repository=served, url=f"{url.rstrip('/')}/embeddings",
        dimensions=width, question_prefix=question_prefix, text_prefix=text_prefix,
    )  # fmt: skip
    found = EndpointSession(model).run([[*map(ord, _HARMLESS)]]).shape[1]
    if found % WIDTHS or found > _MOST_WIDE:
        raise ModelInstallFailed(
            f"Its vectors are {found} wide; Loci needs a multiple of {WIDTHS}, at most {_MOST_WIDE}.",
            hint="Some models answer with fewer numbers if asked: --width 768.",
        )
    return replace(model, width=found)
