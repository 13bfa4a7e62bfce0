"""Replicas of claude.ai and chatgpt.com on this machine, over https: pages, conversations, and answers as streams."""

import datetime
import json
import ssl
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PAGES = Path(__file__).resolve().parent / "sites"
SITES = {"claude.ai": "claude", "chatgpt.com": "chatgpt"}
ROOT = "00000000-0000-4000-8000-000000000000"
# As strict as the sites themselves about what their pages may load: the extension's panel must come up all the same.
POLICY = "default-src 'self'; script-src 'self'; frame-src 'none'; connect-src 'self'; style-src 'self'"
LONGEST_HOLD_S = 60


@dataclass
class Message:
    """A message of a conversation's tree."""

    id: str
    parent: str
    role: str
    text: str
    at: float = 1_772_359_200.0  # 1 March 2026


@dataclass
class Talk:
    """A conversation of a site; `last` is the message that the page shows last."""

    id: str
    title: str = ""
    messages: list[Message] = field(default_factory=list)
    last: str = ""
    is_temporary: bool = False

    def add(self, role: str, text: str, *, id_: str = "", parent: str = "") -> Message:
        """A new message, which is the last one then."""
        message = Message(id_ or str(uuid.uuid4()), parent or self.last or ROOT, role, text)
        self.messages.append(message)
        self.last = message.id
        return message

    def shown(self) -> list[Message]:
        """The branch that the page shows."""
        by_id, way, at = {each.id: each for each in self.messages}, list[Message](), self.last
        while at in by_id:
            way.insert(0, by_id[at])
            at = by_id[at].parent
        return way


@dataclass
class Replicas:
    """Both sites. `generation` is the form of their pages and traffic; `hold` keeps an answer open after its first word."""

    port: int = 0
    generation: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SITES, 2))
    talks: dict[str, dict[str, Talk]] = field(default_factory=lambda: {site: {} for site in SITES})
    hold: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.hold.set()

    def talk(self, site: str, *said: str, title: str = "Moving the mail server") -> Talk:
        """A conversation with these texts, by turns of the user and the assistant."""
        talk = Talk(str(uuid.uuid4()), title)
        for n, text in enumerate(said):
            talk.add(("user", "assistant")[n % 2], text)
        self.talks[site][talk.id] = talk
        return talk

    def answer_to(self, prompt: str) -> str:
        """What the sites answer."""
        return f"You asked: {prompt} Brass has the room for it."


class Handler(BaseHTTPRequestHandler):
    """Answers as the site of the Host header would."""

    replicas: Replicas
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: Any) -> None:
        """Say nothing."""

    @cached_property
    def site(self) -> str:
        """The site that is asked."""
        return self.headers["Host"].split(":")[0]

    @property
    def talks(self) -> dict[str, Talk]:
        """The site's conversations."""
        return self.replicas.talks[self.site]

    @property
    def generation(self) -> int:
        """The form of the site's pages and traffic."""
        return self.replicas.generation[self.site]

    def do_GET(self) -> None:
        """A page, its script, a list or a conversation."""
        path, name = urlsplit(self.path).path, SITES[self.site]
        if path == "/app.js":
            script = (PAGES / f"{name}.js").read_text(encoding="utf-8")
            self.reply(script.replace("@GENERATION@", str(self.generation)), "text/javascript")
        elif path.endswith(("_list", "/conversations")):
            listed = [each for each in self.talks.values() if not each.is_temporary]
            self.reply(
                json.dumps([{"uuid": t.id, "id": t.id, "name": t.title, "title": t.title} for t in listed])
            )
        elif "/api/" in path or "/backend-api/" in path:
            talk = self.talks.get(path.rpartition("/")[2])
            if talk is None:
                self.send_error(404)
            else:
                self.reply(json.dumps(claude_json(talk) if name == "claude" else self.chatgpt_json(talk)))
        else:
            self.reply((PAGES / f"{name}.html").read_text(encoding="utf-8"), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """A new conversation, or a question and its answer."""
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.site == "chatgpt.com":
            self.chatgpt_stream(sent)
        elif self.path.endswith("/completion"):
            self.claude_stream(self.talks[self.path.split("/")[-2]], sent)
        else:
            talk = Talk(sent["uuid"], "New mail server", is_temporary=sent["is_temporary"])
            self.talks[talk.id] = talk
            self.reply(json.dumps(claude_json(talk) | {"chat_messages": []}))

    def reply(self, body: str, kind: str = "application/json") -> None:
        """Send a whole answer."""
        data = body.encode()
        self.send_response(200)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(data)))):
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events: list[Any], *, talk: Talk, named: bool = True) -> None:
        """Send events one by one; after the second one it waits while the answer is held."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("X-Conversation", talk.id)
        self.send_header("Connection", "close")
        self.end_headers()
        for n, event in enumerate(events):
            if n == 2:
                self.replicas.hold.wait(LONGEST_HOLD_S)
            data = event if isinstance(event, str) else json.dumps(event)
            line = (
                f"event: {event['type']}\n" if named and isinstance(event, dict) and "type" in event else ""
            )
            self.wfile.write(f"{line}data: {data}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def claude_stream(self, talk: Talk, sent: dict[str, Any]) -> None:
        """An answer of claude.ai; the question is stored before, the answer even if nobody waits for it."""
        names = sent.get("turn_message_uuids", {})
        asked = talk.add(
            "user",
            sent["prompt"],
            id_=names.get("human_message_uuid", ""),
            parent=sent["parent_message_uuid"],
        )
        text = self.replicas.answer_to(sent["prompt"])
        told = talk.add("assistant", text, id_=names.get("assistant_message_uuid", ""))
        first, rest = text[:12], text[12:]
        events: list[Any] = [
            {"type": "message_start", "message": {"uuid": told.id, "parent_uuid": asked.id}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": first}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": rest}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_stop"},
        ]
        self.stream(events, talk=talk)

    def chatgpt_json(self, talk: Talk) -> dict[str, Any]:
        """A conversation of chatgpt.com; in the third generation without the mapping. `shown` is for the replica's own page."""
        shown = [{"id": each.id, "role": each.role, "text": each.text} for each in talk.shown()]
        body: dict[str, Any] = {"title": talk.title, "shown": shown}
        if self.generation == 3:
            return body | {"nodes": []}
        nodes = {
            each.id: {"id": each.id, "parent": each.parent, "message": chatgpt_message(each)}
            for each in talk.messages
        }
        return body | {"mapping": nodes, "current_node": talk.last, "conversation_id": talk.id}

    def chatgpt_stream(self, sent: dict[str, Any]) -> None:
        """An answer of chatgpt.com in the form of the generation."""
        id_ = sent.get("conversation_id") or str(uuid.uuid4())
        talk = self.talks.setdefault(id_, Talk(id_, "New mail server"))
        talk.is_temporary = sent["history_and_training_disabled"]
        asked, prompt = sent["messages"][0], sent["messages"][0]["content"]["parts"][0]
        talk.add("user", prompt, id_=asked["id"], parent=sent["parent_message_id"])
        told = talk.add("assistant", self.replicas.answer_to(prompt))
        whole, words = chatgpt_message(told), told.text.split(" ")
        begun = whole | {"content": {"content_type": "text", "parts": [""]}}
        parts: list[Any]
        if self.generation == 1:
            half = whole | {"content": {"content_type": "text", "parts": [" ".join(words[:2])]}}
            parts = [{"message": each, "conversation_id": id_} for each in (begun, half, whole)]
        elif self.generation == 2:
            parts = [
                '"v1"',
                {"p": "", "o": "add", "v": {"message": begun, "conversation_id": id_}, "c": 1},
                {"p": "/message/content/parts/0", "o": "append", "v": words[0]},
                *({"v": f" {word}"} for word in words[1:]),
                {
                    "p": "",
                    "o": "patch",
                    "v": [{"p": "/message/status", "o": "replace", "v": "finished_successfully"}],
                },
                {"type": "message_stream_complete", "conversation_id": id_},
            ]
        else:
            parts = [{"frame": n, "bytes": word} for n, word in enumerate(words)]
        self.stream([*parts, "[DONE]"], talk=talk, named=False)


def claude_json(talk: Talk) -> dict[str, Any]:
    """A conversation as claude.ai's page loads it: all branches, and the one that is shown."""
    messages = [
        {
            "uuid": each.id,
            "parent_message_uuid": each.parent,
            "sender": {"user": "human", "assistant": "assistant"}[each.role],
            "text": "",
            "content": [{"type": "text", "text": each.text}],
            "created_at": "2026-03-01T10:00:00+00:00",
        }
        for each in talk.messages
    ]
    return {"uuid": talk.id, "name": talk.title, "is_temporary": talk.is_temporary, "current_leaf_message_uuid": talk.last,
            "chat_messages": messages}  # fmt: skip


def chatgpt_message(message: Message) -> dict[str, Any]:
    """A message as chatgpt.com sends it."""
    return {
        "id": message.id,
        "author": {"role": message.role},
        "recipient": "all",
        "create_time": message.at,
        "status": "in_progress",
        "content": {"content_type": "text", "parts": [message.text]},
    }


class QuietServer(ThreadingHTTPServer):
    """A server that says nothing of browsers that leave while it answers."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""


@contextmanager
def serving_replicas() -> Iterator[Replicas]:
    """Serve both sites on a free port of this machine."""
    replicas = Replicas()
    handler = type("ReplicaHandler", (Handler,), {"replicas": replicas})
    server = QuietServer(("127.0.0.1", 0), handler)
    with tempfile.TemporaryDirectory() as folder:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(make_certificate(Path(folder)))
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    replicas.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield replicas
    finally:
        replicas.hold.set()
        server.shutdown()
        server.server_close()


def make_certificate(folder: Path) -> Path:
    """A certificate for an hour, with its key, in one file; the browser of the test asks for no other."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "replica")])
    now = datetime.datetime.now(datetime.UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(
        now + datetime.timedelta(hours=1)
    )
    built = built.add_extension(
        x509.SubjectAlternativeName([x509.DNSName(site) for site in SITES]), critical=False
    )
    signed = built.sign(key, hashes.SHA256())
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path = folder / "replica.pem"
    path.write_bytes(pem + signed.public_bytes(serialization.Encoding.PEM))
    return path
