"""Gateway: one way in for every writer, and no way for an agent to speak with a person's authority."""

import ast
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.errors import LociError, NotPermitted
from access.models import AuditEntry, Group
from access.tokens import operator
from memories.lifecycle import verbs
from memories.lifecycle.purge.lift_tombstone import lift_tombstones
from memories.models import Memory, Tombstone
from memories.types import Trust
from sources.exporting import export
from sources.importing.formats.exports import restore_export
from sources.importing.formats.texts import TEXTS
from sources.importing.importer import LineRules
from tests import architecture
from tests.acceptance.house import House, command
from tests.memories.builders import fresh, keep, kept
from tests.people import person
from tests.settings import REPOSITORY

pytestmark = [pytest.mark.django_db, pytest.mark.model]

# The files that may write rows of memories, and why.
MAY_WRITE: dict[str, str] = {
    "memories/store/write.py": "the write path's executor",
    "memories/lifecycle/undo/reverse.py": "the one reversal: puts back what a change did",
    "memories/store/rows.py": "its new rows, and restatements",
    "memories/store/change.py": "one change of stored rows",
    "memories/store/supersede.py": "one memory takes another's place; what a withdrawn plan was to replace counts again",
    "memories/lifecycle/target.py": "one change of a verb",
    "memories/lifecycle/edit.py": "a new version",
    "memories/lifecycle/restore.py": "a former version",
    "memories/lifecycle/approve.py": "a candidate takes its place",
    "memories/lifecycle/regroup/narrow.py": "the scope of a group's memories",
    "memories/lifecycle/regroup/move.py": "the group of memories",
    "memories/sessions/conversations/move.py": "the group of a conversation's memories",
    "memories/lifecycle/merge.py": "two become one",
    "memories/store/derived.py": "what rests on a withdrawn memory",
    "memories/lifecycle/purge/__init__.py": "destroying",
    "memories/store/threads.py": "the neighbours' words, which nobody reads",
    "memories/recall_log.py": "how often it was recalled",
    "memories/store/pieces.py": "the pieces of a text",
    "sources/importing/rows.py": "an export's lines",
    "sources/importing/restoring/audit_chain.py": "the log of an export",
    "sources/importing/formats/exports.py": "the successors of an export's rows",
}
LOG = "access/audit/__init__.py"  # makes its own rows by copying as well
WRITES = frozenset(
    {"create", "bulk_create", "bulk_update", "update", "delete", "get_or_create", "update_or_create"}
)


def writers(root: Path) -> dict[str, int]:
    """The files that create, change or delete rows of memories, each with such a line."""
    return {
        source.path: line
        for source in architecture.sources(root, folders=architecture.LAYERS)
        for line in _written(source.tree)
    }


def _written(tree: ast.Module) -> Iterator[int]:
    for part in tree.body:
        named = set(_names_of_rows(part))
        for node in ast.walk(part):
            if not isinstance(node, ast.Call):
                continue
            # like() makes a row of whatever its example is.
            if isinstance(node.func, ast.Name) and node.func.id in ("Memory", "like"):
                yield node.lineno
            elif isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
                words = ast.unparse(node.func.value)
                if _are_memories(words) or words.split(".")[0] in named:
                    yield node.lineno


def _are_memories(words: str) -> bool:
    return "Memory.objects" in words or "Memory._base_manager" in words


def _names_of_rows(part: ast.stmt) -> Iterator[str]:
    """The names that a function gives to queries of memories."""
    for node in ast.walk(part):
        if isinstance(node, ast.Assign) and _are_memories(ast.unparse(node.value)):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def test_no_path_leads_around_the_write_path() -> None:
    """Rows of memories are written by the heart alone; faces, admin pages, commands and jobs call it."""
    found = writers(REPOSITORY)
    assert {path: line for path, line in found.items() if path not in MAY_WRITE and path != LOG} == {}
    assert {
        "memories/store/write.py",
        "memories/store/rows.py",
        "memories/lifecycle/purge/__init__.py",
    } <= found.keys()
    assert not any(path.startswith(("loci_site/", "access/", "relations/")) for path in MAY_WRITE)


def test_a_path_around_it_is_found(tmp_path: Path) -> None:
    """The check above sees a face that writes by itself."""
    ways = (
        "Memory(content=1).save()",
        "Memory.objects.filter(pk=1).update(trust=2)",
        "like(example(), {})",
        "rows = Memory.objects.filter(pk=1); rows.filter(pk=2).delete()",
    )
    for at, line in enumerate(ways):
        face = tmp_path / "loci_site" / f"face{at}.py"
        face.parent.mkdir(exist_ok=True)
        face.write_text(f"def work():\n    {line}\n", encoding="utf-8")
    assert writers(tmp_path) == {f"loci_site/face{at}.py": 2 for at in range(len(ways))}


BARRED, FREE = "The vault is open on Sundays.", "The vault has two doors."
Writer = Callable[[House, str, Path], object]


def by_lines(house: House, text: str, folder: Path) -> object:
    file = folder / "notes.jsonl"
    file.write_text(f'{{"id": "{len(text)}", "text": "{text}"}}\n', encoding="utf-8")
    return TEXTS.run(house.agent, file, LineRules(source="notes", group="ledger"))


def by_admin_form(house: House, text: str, folder: Path) -> object:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get(pk=house.user.pk))
    fields = {"content": text, "type": "semantic", "group": "ledger", "scope": "", "tags": "", "confidence": "0.7",
              "importance": "5", "source": "", "metadata": "{}"}  # fmt: skip
    return client.post("/admin/memories/memory/add/", fields)


WRITERS: dict[str, Writer] = {
    "service": lambda house, text, folder: keep(house.person, text, group="ledger"),
    "MCP": lambda house, text, folder: house.tool("store_memory", content=text, group="ledger"),
    "REST": lambda house, text, folder: house.rest("post", "/memories", {"content": text, "group": "ledger"}),
    "command": lambda house, text, folder: command("remember", text, "--group", "ledger"),
    "import": by_lines,
    "admin": by_admin_form,
}


@pytest.mark.parametrize("face", WRITERS)
def test_every_face_writes_through_it(house: House, tmp_path: Path, face: str) -> None:
    """Through each face a free text is written with its row in the log, and a withdrawn one is refused."""
    verbs.retract(house.person, kept(house.person, BARRED, group="ledger").id)
    for text, expected in ((FREE, 1), (BARRED, 0)):
        WRITERS[face](house, text, tmp_path)
        rows = Memory.objects.filter(content=text, state="live")
        assert rows.count() == expected, (face, text)
        for row in rows:
            log = AuditEntry.objects.filter(memory_id=row.id).values_list("operation", flat=True)
            assert (list(log), row.pieces.exclude(embedding=None).count()) == (["store"], 1)


CLAIMS = {"trust": "verified", "verified": True, "is_person": True, "author": "alice", "pinned": True}


def test_a_model_cannot_claim_a_persons_authority(house: House, tmp_path: Path, ledger: Group) -> None:
    """An agent with every scope confirms nothing, lifts nothing and hides behind no field that says it is a person."""
    memory = kept(house.agent, FREE, group="ledger", metadata=CLAIMS)
    assert (memory.trust, memory.pinned, memory.author_name) == ("active", False, "alice/house")
    withdrawn = kept(house.agent, BARRED, group="ledger")
    verbs.retract(house.agent, withdrawn.id)
    mark = Tombstone.objects.get()
    for claim in (verbs.verify, verbs.approve, verbs.reject):
        with pytest.raises(NotPermitted, match="Only a person"):
            claim(house.agent, memory.id)
    with pytest.raises(NotPermitted, match="Only a person"):
        lift_tombstones(house.agent, mark.id)
    for verb in ("verify", "approve", "reject"):
        assert house.rest("post", f"/memories/{memory.id}/{verb}")[0] == 403
    assert house.rest("post", f"/tombstones/{mark.id}/lift")[0] == 403
    for name, value in CLAIMS.items():
        body = {"content": f"A text that claims {name}.", "group": "ledger", name: value}
        assert house.rest("post", "/memories", body)[0] in (400, 422)
        house.tool(
            "store_memory", **body
        )  # an argument that is none is refused or passed over, never believed
    lines = tmp_path / "claims.jsonl"
    lines.write_text('{"id": "1", "text": "A line that claims.", "trust": "verified", "pinned": true}\n')
    TEXTS.run(house.agent, lines, LineRules(source="claims", group="ledger"))
    assert set(Memory.objects.exclude(pk=withdrawn.pk).values_list("trust", "pinned")) == {("active", False)}
    assert Memory.objects.filter(content="A line that claims.").exists()
    assert not {name for name, tool in _tools(house).items() if {"trust", "pinned", "author"} & tool}
    assert verbs.verify(house.person, memory.id).trust == Trust.VERIFIED  # a person's own word counts
    assert lift_tombstones(house.person, mark.id)[0].id == mark.id


def _tools(house: House) -> dict[str, set[str]]:
    async def listed(client: object) -> dict[str, set[str]]:
        tools = (await client.list_tools()).tools  # type: ignore[attr-defined]
        return {tool.name: set(tool.input_schema["properties"]) for tool in tools}

    found: dict[str, set[str]] = house.mcp(listed)
    assert "store_memory" in found
    return found


def test_an_agent_brings_no_verified_rows_in_with_an_export(house: House, bob: User, tmp_path: Path) -> None:
    """An export keeps each row's trust; only an admin of the whole store may import one."""
    memory = kept(house.person, FREE, group="ledger")
    verbs.verify(house.person, memory.id)
    file = tmp_path / "all.jsonl"
    out = StringIO()
    export(operator(), out)
    file.write_text(out.getvalue(), encoding="utf-8")
    for agent in (House.of(bob).agent, House.of(house.user, scopes=("read", "write", "curate")).agent):
        with pytest.raises(LociError):
            restore_export(agent, file)
    assert restore_export(person(house.user), file).unchanged["memory"] == 1
    assert fresh(memory).trust == "verified"
