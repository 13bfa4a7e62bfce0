"""A model on a port of this machine that answers the same, or first calls a tool; it keeps what clients send. Two APIs:
Anthropic's, OpenAI's.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "Understood. The next step is to write the migration."


@dataclass
class StubModel:
    """The address, and the bodies of all requests for an answer. `tool`: the name and the arguments of a call that precedes it."""

    url: str = ""
    tool: tuple[str, dict[str, Any]] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)

    def since(self, number: int, prompt: str) -> list[str]:
        """The requests after so many, as text, that have the prompt in them."""
        return [text for text in map(flatten, self.requests[number:]) if prompt in text]

    def tool_results(self, number: int) -> list[str]:
        """What the requests after so many tell the model of the call of its tool."""
        contents = [
            message["content"] for body in self.requests[number:] for message in body.get("messages", ())
        ]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        told = [block["content"] for block in blocks if block["type"] == "tool_result"]
        return [
            each if isinstance(each, str) else "".join(part.get("text", "") for part in each) for each in told
        ]

    def calls_for(self, body: dict[str, Any]) -> bool:
        """Whether this request is answered by the call of the tool: it has the tool, and not yet its result."""
        offered = self.tool is not None and self.tool[0] in [
            tool.get("name") for tool in body.get("tools", ())
        ]
        return offered and "tool_result" not in json.dumps(body["messages"])


def flatten(value: Any) -> str:
    """All strings of a JSON value, a line each."""
    if isinstance(value, str):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "\n".join(filter(None, map(flatten, parts)))


@contextmanager
def stub_model() -> Iterator[StubModel]:
    """A running stub."""
    stub = StubModel()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
            path = self.path.split("?")[0]
            if path.endswith("/messages"):
                stub.requests.append(body)
                if stub.tool is not None and stub.calls_for(body):
                    self.send_events(anthropic_call(*stub.tool))
                else:
                    self.send_events(anthropic_events() if body.get("stream") else [("", anthropic_whole())])
            elif path.endswith("/responses"):
                stub.requests.append(body)
                self.send_events(openai_events())
            else:
                self.send_json({"input_tokens": 10})

        def do_GET(self) -> None:
            self.send_json({"data": [], "models": []})

        def send_events(self, events: list[tuple[str, dict[str, Any]]]) -> None:
            if len(events) == 1:
                self.send_json(events[0][1])
                return
            text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
            self.send_body(text.encode(), "text/event-stream")

        def send_json(self, data: dict[str, Any]) -> None:
            self.send_body(json.dumps(data).encode(), "application/json")

        def send_body(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()


def anthropic_whole() -> dict[str, Any]:
    """A whole answer of the Messages API."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": [{"type": "text", "text": ANSWER}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def anthropic_events() -> list[tuple[str, dict[str, Any]]]:
    """The same as a stream."""
    return anthropic_stream({"type": "text", "text": ""}, {"type": "text_delta", "text": ANSWER}, "end_turn")


def anthropic_call(name: str, arguments: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The call of a tool as a stream."""
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
    return anthropic_stream(
        block, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use"
    )


def anthropic_stream(
    block: dict[str, Any], delta: dict[str, Any], stop_reason: str
) -> list[tuple[str, dict[str, Any]]]:
    """An answer of one block of content."""
    start = {**anthropic_whole(), "content": [], "stop_reason": None}
    return [
        ("message_start", {"type": "message_start", "message": start}),
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}),
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        ("message_delta", {"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": None}, "usage": {"output_tokens": 1}}),
        ("message_stop", {"type": "message_stop"}),
    ]  # fmt: skip


def openai_events() -> list[tuple[str, dict[str, Any]]]:
    """An answer of the Responses API as a stream."""
    content = {"type": "output_text", "text": ANSWER, "annotations": []}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [content]}
    usage = {
        "input_tokens": 1,
        "output_tokens": 1,
        "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    done = {"id": "r1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return [
        ("response.created", {"type": "response.created", "response": {"id": "r1"}}),
        ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}),
        ("response.completed", {"type": "response.completed", "response": done}),
    ]
