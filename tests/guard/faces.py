"""The faces that a text can enter by, each as a function of the text, and those that it can come out of."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from access.actor import Actor, Via
from access.groups import create_group
from access.tokens import actor_for_secret, actor_for_user, create_token, operator
from maintenance.backups import backup_job
from maintenance.jobs import job_actor
from memories.draft import Draft
from memories.models import Memory
from memories.recall_log import COUNTER
from memories.review.decide import ReviewDecision, decide
from memories.store.bulk import store_many
from sources.artifacts.ingest import ingest_content
from sources.importing.importer import LineRules
from sources.uploads import SentUpload, discard_upload, own_uploads, receive_upload
from tests.loci_site.api.conftest import Caller
from tests.loci_site.api.conversations.conftest import ORIGIN, Browser, conversation
from tests.loci_site.hooks.conftest import HookClient
from tests.loci_site.mcp.people import Agent

Send = Callable[[str], Any]
_numbers = count(1)


@dataclass(frozen=True)
class World:
    """A store with an owner, an agent of theirs, and a browser where the owner is signed in."""

    user: User
    owner: Caller
    agent: Agent
    browser: Client
    person: Actor


def prepare() -> World:
    """A new store with a group."""
    settings.ALLOWED_HOSTS = ["*"]
    user = User.objects.create_superuser("alice", password="a-long-password")
    person = (
        actor_for_user(user, via=Via.BROWSER)
        if hasattr(Via, "BROWSER")
        else actor_for_user(user, via=Via.COMMAND)
    )
    create_group(person, "ledger")
    scopes = ("read", "write", "curate", "admin", "create-group")
    secret = create_token(operator(), user=user, name="owner", scopes=scopes).secret
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return World(user, Caller(secret), Agent(actor_for_secret(secret, via="mcp")), browser, person)


def new_memory() -> str:
    """The id of a memory to change."""
    done = store_many(operator(), [Draft(f"Quay {next(_numbers)} opens at eight.", group="ledger")])
    return str(done.ids[0])


def faces(world: World, folder: Path = Path()) -> dict[str, Send]:
    """Every way in, by name."""
    return {
        **rest_faces(world),
        **agent_faces(world),
        **command_faces(folder),
        **people_faces(world),
        **import_faces(world, folder),
        **hook_faces(world),
        **capture_faces(world),
    }


def rest_faces(world: World) -> dict[str, Send]:
    """REST: each part of a body, and the header that names the program."""

    def rest(method: str, path: str, body: Callable[[str], dict[str, Any]], **headers: str) -> Send:
        def send(text: str) -> str:
            where = path.replace("ID", new_memory() if "ID" in path else "")
            sent = getattr(world.owner.client, method)(
                f"/api{where}", data=json.dumps(body(text)), content_type="application/json",
                HTTP_AUTHORIZATION=f"Bearer {world.owner.secret}", **dict.fromkeys(headers, text),
            )  # fmt: skip
            return f"{sent.status_code} {sent.content.decode()}"

        return send

    def keyed(text: str) -> str:
        sent = world.owner.client.post(
            "/api/memories", data={"content": text, "group": "ledger"}, content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {world.owner.secret}", HTTP_IDEMPOTENCY_KEY=f"key-of-{next(_numbers)}-for-this",
        )  # fmt: skip
        return f"{sent.status_code} {sent.content.decode()}"

    def stored(**fields: Any) -> Callable[[str], dict[str, Any]]:
        return lambda text: {
            "content": f"Note {next(_numbers)} of the quay.", "group": "ledger",
            **{name: make(text) for name, make in fields.items()},
        }  # fmt: skip

    return {
        "rest content": rest("post", "/memories", stored(content=str)),
        "rest keyed": keyed,
        "rest client": rest("post", "/memories", stored(), HTTP_USER_AGENT=""),
        "rest tags": rest("post", "/memories", stored(tags=lambda text: [text[:60], text.split()[-1][:60]])),
        "rest metadata": rest("post", "/memories", stored(metadata=lambda text: {"a": [{"note": text}], text[:40]: 1})),
        "rest source": rest("post", "/memories", stored(source=lambda text: text[:200], source_ref=lambda text: text[:300])),
        "rest thread": rest("post", "/memories", stored(thread=lambda text: text[:200])),
        "rest edit": rest("patch", "/memories/ID", lambda text: {"content": text}),
        "rest edit tags": rest("patch", "/memories/ID", lambda text: {"tags": [text[-60:]], "metadata": {"n": text}}),
        "rest reason": rest("post", "/memories/ID/dispute", lambda text: {"reason": text}),
        "rest retract": rest("post", "/memories/ID/retract", lambda text: {"reason": text, "successor": text}),
        "rest merge": rest("post", "/memories/ID/merge", lambda text: {"into": new_memory(), "content": text}),
        "rest recall": rest("post", "/recall", lambda text: {"query": text, "group": "ledger"}),
        "rest relation": rest("post", "/relations", lambda text: {
            "subject": f"Ann {text}"[:200], "predicate": text[:80], "object": text[:200], "group": "ledger"}),
        "rest relation name": rest("post", "/relations", lambda text: {
            "subject": f"Ann {next(_numbers)}", "predicate": "owns", "object": text[:200], "group": "ledger"}),
        "rest checkpoint": rest("post", "/checkpoints", lambda text: {
            "group": "ledger", "thread": text[:200], "state": {"done": [text]}}),
        "rest group": rest("post", "/groups", lambda text: {"slug": f"g-{next(_numbers)}", "title": text[:200]}),
        "rest instructions": rest("patch", "/groups/ledger", lambda text: {"instructions": text, "title": text[:100]}),
    }  # fmt: skip


def agent_faces(world: World) -> dict[str, Send]:
    """MCP: the tools that take a text."""
    call = world.agent.call
    return {
        "mcp store": lambda text: call("store_memory", content=text, group="ledger", tags=[text[-60:]], thread=text[:200]),
        "mcp recall": lambda text: call("recall_memory", query=text, group="ledger"),
        "mcp edit": lambda text: call("forget_memory", id=new_memory(), verb="edit", content=text, reason=text),
        "mcp relation": lambda text: call("store_relation", subject="Ben", predicate="knows", object=text[:200], group="ledger"),
        "mcp checkpoint": lambda text: call("checkpoint", group="ledger", state=text),
        "mcp context": lambda text: call("get_context", group="ledger", query=text),
    }  # fmt: skip


def command_faces(folder: Path) -> dict[str, Send]:
    """Commands of the operator."""

    def command(*arguments: str) -> str:
        out = io.StringIO()
        call_command(*arguments, stdout=out, stderr=out)
        return out.getvalue()

    def imported(text: str) -> str:
        path = folder / f"lines-{next(_numbers)}.jsonl"
        path.write_text(json.dumps({"id": "1", "text": text, "session": text[:100]}) + "\n", encoding="utf-8")
        return command("import", str(path), "--group", "ledger", "--source", text[:100], "--json")

    return {
        "command remember": lambda text: command("remember", text, "--group", "ledger"),
        "command edit": lambda text: command("memory", "edit", new_memory(), "--content", text),
        "command recall": lambda text: command("recall", text, "--group", "ledger"),
        "command import": imported,
    }


def people_faces(world: World) -> dict[str, Send]:
    """Pages: the forms of a memory, the Review; tokens."""

    def post(path: str, **fields: Any) -> str:
        sent = world.browser.post(path, fields, follow=True)
        return f"{sent.status_code} {sent.content.decode()}"

    def form(content: str) -> dict[str, Any]:
        return {"content": content, "type": "semantic", "scope": "group", "importance": 5, "confidence": 0.7}

    def admin_add(text: str) -> str:
        return post("/admin/memories/memory/add/", **form(text), group="ledger", tags=text[-50:])

    def admin_edit(text: str) -> str:
        id_ = new_memory()
        return post(f"/admin/memories/memory/{id_}/edit/", **form(text), version=1, reason=text)

    def review_edit(text: str) -> str:
        return repr(decide(world.person, ReviewDecision("edit", new_memory(), content=text, reason=text)))

    return {
        "admin add": admin_add,
        "admin edit": admin_edit,
        "admin flag": lambda text: post(f"/admin/memories/memory/{new_memory()}/dispute/", reason=text),
        "review edit": review_edit,
        "token name": lambda text: repr(
            create_token(operator(), user=world.user, name=text[:120]).token.name
        ),
    }


def import_faces(world: World, folder: Path) -> dict[str, Send]:
    """Files: in the browser, and an export that somebody wrote or changed."""

    def uploaded(text: str) -> str:
        raw = (json.dumps({"id": "1", "text": text}) + "\n").encode()
        rules = LineRules(text[:100], group="ledger")
        return repr(receive_upload(world.person, SentUpload(f"{text[:60]}.jsonl", len(raw), [raw]), rules))

    def restored(text: str) -> str:
        path = folder / f"export-{next(_numbers)}.jsonl"
        out = io.StringIO()
        call_command("export", str(path), stdout=out)
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        changed = [
            foreign(line, text)
            for line in lines
            if line["kind"] in ("header", "group", "thread", "memory", "checkpoint", "end")
        ]
        path.write_text(
            "".join(json.dumps(line) + "\n" for line in changed[:40] + changed[-1:]), encoding="utf-8"
        )
        call_command("import", str(path), stdout=out, stderr=out)
        return out.getvalue()

    return {"upload": uploaded, "foreign export": restored}


def hook_faces(world: World) -> dict[str, Send]:
    """An agent's hooks: what a person typed, what the agent answered, and how the session ended."""
    secret = create_token(operator(), user=world.user, name="hooks", scopes=("hook",)).secret

    def session(prompt: str = "Look at the quay of the harbour.") -> HookClient:
        hooks = HookClient(secret, folder="/home/alice/ledger", session=f"s-{next(_numbers)}")
        hooks.call("prompt", prompt=prompt)
        return hooks

    def ended(text: str) -> str:
        hooks = session()
        hooks.call("post-compact", compact_summary=text)
        return repr(hooks.call("session-end", reason=text))

    return {
        "hook prompt": lambda text: session(f"Remember that {text}").call("session-end"),
        "hook answer": lambda text: session().call(
            "stop", last_assistant_message=f"We decided on it because {text}"
        ),
        "hook end": ended,
    }


def capture_faces(world: World) -> dict[str, Send]:
    """The browser extension, and files that are read as evidence."""
    made = create_token(operator(), user=world.user, name="browser", scopes=("capture",), origin=ORIGIN)
    browser = Browser(made.secret)

    def read(text: str) -> str:
        return repr(
            ingest_content(
                operator(), [(f"{next(_numbers)}.md", text.encode())], group="ledger", source="team"
            ).as_json()
        )

    return {
        "capture": lambda text: browser.post("/captures", {"conversations": [conversation((f"m{next(_numbers)}", "user", text))]}),
        "selection": lambda text: browser.post("/captures/remember", {"conversation": {"platform": "claude.ai", "id": "c-1"}, "text": text}),
        "file": read,
    }  # fmt: skip


def foreign(line: dict[str, Any], text: str) -> dict[str, Any]:
    """A line of an export with the text in every part, as another row."""
    number = next(_numbers)
    row = line.get("row")
    if row is None:
        return line
    line.pop("checked", None)
    row["id"] = f"{number:08x}-0000-7000-8000-{number:012x}"
    if line["kind"] == "memory":
        row |= {"content": f"{number} {text}", "tags": [text[-60:]], "metadata": {"note": text}, "source": text[:200],
                "source_ref": f"{number} {text}"[:300], "root": None, "superseded_by": None, "thread": None,
                "position": None, "version": 1, "state": "live", "group": "ledger"}  # fmt: skip
    elif line["kind"] == "checkpoint":
        row |= {"state": {"next": text}, "thread": None, "group": "ledger"}
    elif line["kind"] == "thread":
        row |= {"name": f"{number} {text}"[:200], "group": "ledger"}
    elif line["kind"] == "group":
        row |= {
            "slug": f"f-{number}",
            "title": text[:150],
            "instructions": text,
            "guard": "personal=allow, guessed-secret=allow",
        }
    return line


def agent_readings(world: World) -> Iterator[Any]:
    """What agents may read of it all."""
    COUNTER.flush()
    call = world.agent.call
    yield from world.agent.use(resources_and_prompts)
    for query in ("harbour", "build", "told today", "quay", "system prompt", "instructions"):
        yield call("recall_memory", query=query, group="ledger")
        yield call("memory_inspect", query=query, group="ledger")
        yield world.owner.get(f"/suggest?q={query.split()[0]}&group=ledger")
        yield call("get_context", group="ledger", query=query)
    yield call("get_context", group="ledger")
    yield call("memory_stats", group="ledger")
    for place in ("/memories?group=ledger&limit=100", "/memories?group=ledger&trust=quarantined", "/recalls?group=ledger",
                  "/log?group=ledger", "/checkpoints?group=ledger", "/groups", "/review/candidates?group=ledger"):  # fmt: skip
        sent = world.owner.client.get(f"/api{place}", HTTP_AUTHORIZATION=f"Bearer {world.owner.secret}")
        yield sent.content.decode()
    for id_ in Memory.objects.order_by("-key").values_list("id", flat=True)[:40]:
        yield call("memory_inspect", id=str(id_))


async def resources_and_prompts(client: Any) -> list[str]:
    """What the resources and prompts hold, those that need arguments left out."""
    found = [str(await client.list_resources()), str(await client.list_prompts())]
    resources = (await client.list_resources()).resources
    found += [str(await client.read_resource(str(each.uri))) for each in resources]
    for prompt in (await client.list_prompts()).prompts:
        needed = [each.name for each in prompt.arguments or [] if each.required or each.name == "group"]
        found.append(str(await client.get_prompt(prompt.name, dict.fromkeys(needed, "ledger"))))
    return found


def people_readings(world: World) -> Iterator[str]:
    """Pages that show what was stored and done."""
    for place in ("/admin/", "/admin/memories/memory/", "/admin/access/auditentry/", "/admin/review/", "/admin/memories/recalllog/",
                  "/admin/review/?kind=quarantined", "/app/?q=harbour", "/admin/memories/memory/?mine=1"):  # fmt: skip
        yield world.browser.get(place, follow=True).content.decode()


def wind_up(world: World) -> str:
    """Discard the files that wait as they were sent; scan, back up, export, check: what the commands say."""
    out = io.StringIO()
    for upload in own_uploads(world.person).filter(finished_at=None):
        discard_upload(world.person, upload.id)
    COUNTER.flush()
    for arguments in (["guard", "scan"], ["stats"], ["stats", "--json"], ["audit", "verify"], ["doctor"]):
        try:
            call_command(*arguments, stdout=out, stderr=out)
        except (SystemExit, Exception) as error:
            out.write(repr(error))
    out.write(repr(backup_job(job_actor("backup"))))
    call_command("export", str(settings.LOCI.home / "all.jsonl"), stdout=out)
    return out.getvalue()
