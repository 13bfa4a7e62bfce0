"""One client of a running server, over one kept connection: an agent's tools, REST with a token, pages with a login."""

import json
import re
import select
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPMessage
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

from bench.proof.proof import ProofError

PROTOCOL = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "loci-proof", "version": "1"},
}
GONE = (OSError, HTTPException)  # what a call raises where the server does not answer
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
_EDGE = "part-of-a-form"


class Refused(Exception):
    """The server answered, and the answer is an error."""


@dataclass(frozen=True)
class Answer:
    """What the server answered, and how long it took, in seconds."""

    status: int
    text: str
    headers: HTTPMessage
    seconds: float

    def json(self) -> Any:
        """The body, which is JSON."""
        return json.loads(self.text)

    def must(self, *statuses: int) -> Any:
        """The JSON of an answer with one of these statuses, or any below 300. Raises ProofError for another one."""
        if self.status not in statuses if statuses else self.status >= 300:
            raise ProofError(f"The server answered {self.status}: {self.text[:300]}")
        return json.loads(self.text) if self.text.startswith(("{", "[")) else self.text


class Client:
    """One program or browser. Without a token it is anonymous until it logs in."""

    def __init__(self, port: int, secret: str = "", *, timeout_s: float = 60) -> None:
        self.port = port
        self._wire = HTTPConnection("127.0.0.1", port, timeout=timeout_s)
        self._headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self._cookies: dict[str, str] = {}
        self.csrf = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wire.close()

    def send(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send a request; a body that is not bytes goes as JSON. Raises one of GONE where no answer comes."""
        sent = self._headers | (headers or {})
        if body is not None and not isinstance(body, bytes):
            body, sent = json.dumps(body).encode(), {"Content-Type": "application/json", **sent}
        if self._cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        if self._wire.sock and select.select([self._wire.sock], [], [], 0)[0]:
            self._wire.close()  # the server has closed a connection that was idle for long
        begun = time.perf_counter()
        try:
            self._wire.request(method, path, body, sent)
            response = self._wire.getresponse()
            text = response.read().decode()
        except GONE:
            self._wire.close()
            raise
        seconds = time.perf_counter() - begun
        for cookie in response.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        return Answer(response.status, text, response.headers, seconds)

    def get(self, path: str) -> Answer:
        """A GET."""
        return self.send("GET", path)

    def post(self, path: str, body: Any) -> Answer:
        """A POST of JSON."""
        return self.send("POST", path, body)

    def store(self, content: str, group: str, **more: Any) -> Answer:
        """Store a text over REST, which its group alone sees."""
        return self.post("/api/memories", {"content": content, "group": group, "scope": "group", **more})

    def recall(self, query: str, group: str) -> Answer:
        """Ask a question over REST."""
        return self.post("/api/recall", {"query": query, "group": group})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool over MCP; the answer's `text` and what is structured. Raises Refused where the server answers with an error."""
        answer = self.call_raw(tool, arguments)
        if answer.status != 200:
            raise Refused(f"{answer.status}: {answer.text[:400]}")
        message = message_of(answer.text)
        result = message.get("result", {})
        if "error" in message or result.get("isError"):
            raise Refused(json.dumps(message.get("error") or result.get("content"))[:400])
        return {"text": result["content"][0]["text"], **result.get("structuredContent", {})}

    def call_raw(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool; the answer as it came."""
        params = {"name": tool, "arguments": arguments, "_meta": META}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": PROTOCOL,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self.send("POST", "/mcp", request, headers=headers)

    def log_in(self, user: str, password: str) -> None:
        """Fill the login form."""
        self.open("/login/")
        answer = self.form("/login/", {"username": user, "password": password, "next": "/admin/"})
        if answer.status != 302:
            raise ProofError(f"The login answered {answer.status}.")

    def open(self, path: str) -> str:
        """The text of a page, whose form may be sent then. Raises ProofError where it is not shown."""
        text: str = self.get(path).must(200)
        if found := _CSRF.search(text):
            self.csrf = found[1]
        return text

    def form(self, path: str, fields: dict[str, str], *, file: tuple[str, str] | None = None) -> Answer:
        """Send a page's form as a browser does, with a file of a name and a text."""
        fields = {**fields, "csrfmiddlewaretoken": self.csrf}
        kind, body = "application/x-www-form-urlencoded", urlencode(fields)
        if file:
            parts = {f'name="{name}"': value for name, value in fields.items()}
            parts[f'name="file"; filename="{file[0]}"'] = file[1]
            kind = f"multipart/form-data; boundary={_EDGE}"
            body = "".join(
                f"--{_EDGE}\r\nContent-Disposition: form-data; {name}\r\n\r\n{value}\r\n"
                for name, value in parts.items()
            )
            body += f"--{_EDGE}--\r\n"
        headers = {"Content-Type": kind, "Referer": f"http://127.0.0.1:{self.port}{path}"}
        return self.send("POST", path, body.encode(), headers=headers)


def message_of(text: str) -> dict[str, Any]:
    """The JSON-RPC message of a response: the whole body, or the last event of a stream."""
    if not text.startswith("{"):
        events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        if not events:
            raise Refused(f"no message in the answer: {text[:400]!r}")
        text = events[-1]
    message: dict[str, Any] = json.loads(text)
    return message
