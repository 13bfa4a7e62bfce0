"""The memory tool on a real server: what it does as the SDK's own tool does, and what a team's memory adds."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool  # no public name
from loci_team_memory_anthropic import AsyncLociMemoryTool, LociMemoryTool
from loci_team_memory_client import Loci


@pytest.fixture
def tool(server: Any, group: str) -> LociMemoryTool:
    return LociMemoryTool(server.loci, group=group)


def said(tool: Any, command: str, **values: Any) -> tuple[str, str]:
    """What a command answers, and whether it is an error."""
    try:
        return "done", tool.call({"command": command, **values})
    except ToolError as error:
        return "error", str(error)


def create(tool: Any, path: str, text: str = "one\ntwo\nthree") -> tuple[str, str]:
    return said(tool, "create", path=path, file_text=text)


A = "/memories/a.md"
SCRIPT: list[dict[str, Any]] = [
    {"command": "view", "path": A},
    {"command": "create", "path": A, "file_text": "one\ntwo\nthree two"},
    {"command": "create", "path": A, "file_text": "again"},
    {"command": "create", "path": "/memories/b.md", "file_text": "one\ntwo\nthree two"},
    {"command": "view", "path": A},
    {"command": "view", "path": A, "view_range": [2, 3]},
    {"command": "view", "path": A, "view_range": [2, -1]},
    {"command": "str_replace", "path": A, "old_str": "absent", "new_str": "x"},
    {"command": "str_replace", "path": A, "old_str": "two", "new_str": "x"},
    {"command": "str_replace", "path": A, "old_str": "one\ntwo", "new_str": "1\n2"},
    {"command": "str_replace", "path": A, "old_str": "three two", "new_str": "3"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": A, "insert_line": 0, "insert_text": "zero\n"},
    {"command": "insert", "path": A, "insert_line": 9, "insert_text": "nine"},
    {"command": "insert", "path": A, "insert_line": -1, "insert_text": "minus"},
    {"command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "x"},
    {"command": "str_replace", "path": A, "old_str": "zero", "new_str": "null"},
    {"command": "rename", "old_path": A, "new_path": "/memories/b.md"},
    {"command": "rename", "old_path": A, "new_path": "/memories/c.md"},
    {"command": "rename", "old_path": A, "new_path": "/memories/d.md"},
    {"command": "view", "path": A},
    {"command": "view", "path": "/memories/c.md", "view_range": [1, 2]},
    {"command": "create", "path": A, "file_text": "a new one"},
    {"command": "view", "path": "/memories/c.md", "view_range": [1, 2]},
    {"command": "delete", "path": "/memories/c.md"},
    {"command": "delete", "path": "/memories/c.md"},
    {"command": "view", "path": "/memories/c.md"},
    {"command": "create", "path": "/memories/c.md", "file_text": "after the deletion"},
    {"command": "view", "path": "/memories/c.md"},
    {"command": "delete", "path": "/memories"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
    {"command": "view", "path": "/memories/nothing/here"},
    {"command": "view", "path": "/elsewhere"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "create", "path": "/memories/../outside.md", "file_text": "x"},
]  # fmt: skip


def test_it_answers_as_the_sdks_own_tool(tool: LociMemoryTool, tmp_path: Path) -> None:
    own = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for command in SCRIPT:
        # A blank line at the end of a file is not kept.
        expected = [re.sub(r"\n +\d+\t$", "", text) for text in said(own, **command)]
        assert [*said(tool, **command)] == expected, command


def test_a_directory_is_listed_as_the_sdk_lists_it(
    server: Any, group: str, tool: LociMemoryTool, tmp_path: Path
) -> None:
    own = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for path in (
        "a.md",
        "b.md",
        "deep/c.md",
        "deep/er/d.md",
        "deep/er/est/e.md",
        ".hidden.md",
        "deep/.hidden/x.md",
    ):
        for each in (own, tool):
            create(each, f"/memories/{group}/top/{path}")
    for path in (f"/memories/{group}/top", f"/memories/{group}/top/deep", f"/memories/{group}/top/deep/er"):
        ours, theirs = (
            re.sub(r"(?m)^[\d.]+[BKMG]\t", "", said(each, "view", path=path)[1]) for each in (tool, own)
        )
        assert ours.splitlines() == sorted(theirs.splitlines(), key=theirs.splitlines().index)


def test_groups_that_the_token_may_see_are_directories(server: Any, group: str, tool: LociMemoryTool) -> None:
    other = server.loci.add_group(f"{group}-2").slug
    create(tool, "/memories/home.md")
    create(tool, f"/memories/{other}/shared.md")
    listed = said(tool, "view", path="/memories")[1].splitlines()
    assert {"13B\t/memories/home.md", f"13B\t/memories/{other}/", f"13B\t/memories/{other}/shared.md"} <= {
        *listed
    }
    with Loci(server.url, server.new_token(group, "--group", group)) as narrow:
        mine = LociMemoryTool(narrow, group=group)
        assert other not in said(mine, "view", path="/memories")[1]
        for command in ("view", "delete"):
            kind, text = said(mine, command, path=f"/memories/{other}/shared.md")
            assert kind == "error"
            assert "does not exist" in text
        kind, text = create(mine, f"/memories/{other}/new.md")
        assert (kind, f"There is no group '{other}'" in text) == ("error", True)
        assert said(mine, "view", path="/memories/home.md")[0] == "done"
    assert said(tool, "view", path=f"/memories/{other}/shared.md")[0] == "done"


def test_directories_are_neither_deleted_nor_renamed_nor_made_files(
    server: Any, group: str, tool: LociMemoryTool
) -> None:
    create(tool, f"/memories/{group}/part/file.md")
    for path in (f"/memories/{group}", f"/memories/{group}/part"):
        assert "a group of Loci" in said(tool, "delete", path=path)[1]
        assert "a group of Loci" in said(tool, "rename", old_path=path, new_path="/memories/x.md")[1]
        assert create(tool, path)[0] == "error"
        assert (
            said(tool, "str_replace", path=path, old_str="a", new_str="b")[1]
            == f"The path {path} is not a file."
        )
    assert said(tool, "view", path=f"/memories/{group}/part/file.md")[0] == "done"


def test_a_file_stays_in_its_group(server: Any, group: str, tool: LociMemoryTool) -> None:
    other = server.loci.add_group(f"{group}-2").slug
    create(tool, A)
    kind, text = said(tool, "rename", old_path=A, new_path=f"/memories/{other}/a.md")
    assert (kind, "a person who curates both moves it" in text) == ("error", True)
    assert said(tool, "view", path=A)[0] == "done"


def test_every_edit_is_a_version_and_a_delete_is_taken_back(
    server: Any, tool: LociMemoryTool, group: str
) -> None:
    create(tool, A, "one")
    said(tool, "str_replace", path=A, old_str="one", new_str="two")
    said(tool, "rename", old_path=A, new_path="/memories/b.md")
    said(tool, "insert", path="/memories/b.md", insert_line=1, insert_text="three")
    [row] = server.loci.list_all_memories(group=group).items
    versions = server.loci.read_memory(row.id, versions=True).versions
    assert [version.content for version in versions] == ["one", "two", "two\nthree"]
    said(tool, "delete", path="/memories/b.md")
    assert said(tool, "view", path="/memories/b.md")[0] == "error"
    server.loci.undo_one_write(tool.last_undo)
    assert "three" in said(tool, "view", path="/memories/b.md")[1]


def test_an_edit_of_a_version_that_is_gone_is_refused(tool: LociMemoryTool) -> None:
    create(tool, A, "one")
    seen = tool._files.find(tool._files.place(A))
    said(tool, "str_replace", path=A, old_str="one", new_str="two")
    find = tool._files.find
    tool._files.find = lambda place: seen  # another agent was first
    kind, text = said(tool, "str_replace", path=A, old_str="one", new_str="three")
    tool._files.find = find
    assert (kind, "Read it again" in text) == ("error", True)
    assert said(tool, "view", path=A)[1].endswith("two")


def test_of_two_files_of_one_name_the_first_stays(server: Any, group: str) -> None:
    async def both() -> list[Any]:
        tools = [LociMemoryTool(server.loci, group=group) for _ in range(4)]
        return await asyncio.gather(
            *(asyncio.to_thread(create, each, A, f"by {n}") for n, each in enumerate(tools))
        )

    answers = asyncio.run(both())
    assert sorted(kind for kind, _ in answers) == ["done", "error", "error", "error"]
    assert len(server.loci.list_all_memories(group=group).items) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/memoriesx/a", "memories/a", "/memories/./a", "/memories/%2e%2e/a", "/memories/..%2fa", "/memories/a\\..\\b", "/memories/a\nb",
        "/memories/a\u200bb", "/memories/ a", "/memories/a ", "/memories/a  b", "/memories/" + "x" * 250, "/memories/a:b", "/memories/a%",
    ],
)  # fmt: skip
def test_a_path_that_is_not_allowed_is_refused(tool: LociMemoryTool, path: str) -> None:
    assert create(tool, path)[0] == "error"
    assert said(tool, "view", path=path)[0] == "error"


@pytest.mark.parametrize(
    "name", ["Notes 2026 (draft).md", "ünïcode.md", "记忆.md", "x" * 230, "UPPER.md", "a@b.c,d+e"]
)
def test_a_path_of_letters_and_signs_is_found_again(tool: LociMemoryTool, name: str) -> None:
    assert create(tool, f"/memories/{name}")[0] == "done"
    assert said(tool, "view", path=f"/memories/{name}")[0] == "done"
    assert said(tool, "view", path=f"/memories/{name.swapcase()}x")[0] == "error"
    assert f"/memories/{name}" in said(tool, "view", path="/memories")[1]


def test_secrets_are_masked_and_it_is_said(tool: LociMemoryTool) -> None:
    kind, text = create(tool, A, "The key is AKIAIOSFODNN7EXAMPLE.")
    assert kind == "done"
    assert "AWS access key" in text
    assert "AKIAIOSFODNN7EXAMPLE" not in said(tool, "view", path=A)[1]
    kind, text = create(tool, "/memories/AKIAIOSFODNN7EXAMPLE.md")
    assert (kind, "Use another name" in text) == ("error", True)
    kind, text = said(tool, "rename", old_path=A, new_path="/memories/AKIAIOSFODNN7EXAMPLE.md")
    assert (kind, "Use another name" in text) == ("error", True)
    assert said(tool, "view", path=A)[0] == "done"
    listed = said(tool, "view", path="/memories")[1]
    assert "/memories/a.md" in listed
    assert "aws" not in listed.lower()
    assert create(tool, "/memories/empty.md", "")[0] == "error"


def test_what_waits_for_a_curator_is_said(server: Any, group: str, tool: LociMemoryTool) -> None:
    create(tool, "/memories/old.md", "It is so.")
    server.manage("group", "update", group, "--policy", "all")
    kind, text = create(tool, A, "A new text.")
    assert kind == "done"
    assert "waits in Loci's Review" in text
    assert "waits in Loci's Review" in said(tool, "view", path=A)[1]
    assert create(tool, A, "Another text.")[0] == "error"
    kind, text = said(tool, "str_replace", path="/memories/old.md", old_str="so", new_str="otherwise")
    assert kind == "done"
    assert "The file stays as it is until then." in text
    assert said(tool, "view", path="/memories/old.md")[1].endswith("It is so.")
    server.approve_all(group)
    assert said(tool, "view", path=A)[1].endswith("A new text.")
    assert said(tool, "view", path="/memories/old.md")[1].endswith("It is otherwise.")


def test_what_a_person_vouches_for_waits_before_it_changes(
    server: Any, group: str, tool: LociMemoryTool
) -> None:
    create(tool, A, "It is so.")
    [row] = server.loci.list_all_memories(group=group).items
    server.manage("memory", "verify", row.id)
    for command, values in (
        ("str_replace", {"path": A, "old_str": "so", "new_str": "otherwise"}),
        ("delete", {"path": A}),
    ):
        kind, text = said(tool, command, **values)
        assert kind == "done"
        assert "waits in Loci's Review" in text
        assert said(tool, "view", path=A)[1].endswith("It is so.")


def test_a_doubt_is_shown_with_the_file(server: Any, group: str, tool: LociMemoryTool) -> None:
    create(tool, A, "It is so.")
    [row] = server.loci.list_all_memories(group=group).items
    server.loci.do_to_memory(row.id, "dispute", reason="It is not.")
    assert "Loci says of this file: disputed" in said(tool, "view", path=A)[1]


def test_a_file_that_a_person_moves_is_in_the_other_directory(
    server: Any, group: str, tool: LociMemoryTool
) -> None:
    other = server.loci.add_group(f"{group}-2").slug
    create(tool, A, "It is so.")
    [row] = server.loci.list_all_memories(group=group).items
    server.manage("memory", "move", row.id, "--to", other)
    assert said(tool, "view", path=A)[0] == "error"
    assert said(tool, "view", path=f"/memories/{other}/a.md")[1].endswith("It is so.")


INPUTS = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": A, "file_text": "We deploy on Tuesdays."},
    {"command": "str_replace", "path": A, "old_str": "Mondays", "new_str": "Fridays"},
    {"command": "view", "path": A},
]


def check_conversation(asked: list[dict[str, Any]]) -> None:
    """The model got the tool, and each result, an error as one."""
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    blocks = [block for request in asked for message in request["messages"] for block in message["content"]]
    # A request may repeat what an earlier one told.
    results = {block["tool_use_id"]: block for block in blocks if "tool_use_id" in block}
    told = [(str(result["content"]), bool(result.get("is_error"))) for result in results.values()]
    assert [is_error for _, is_error in told] == [False, False, True, False]
    assert "did not appear verbatim" in told[2][0]
    assert "We deploy on Tuesdays." in told[3][0]


def test_it_works_in_the_sdks_loop(server: Any, group: str, messages_api: Callable[..., Any]) -> None:
    asks = {"model": "claude-test", "max_tokens": 100, "messages": [{"role": "user", "content": "Remember."}]}
    with messages_api(*INPUTS) as (url, asked), Anthropic(base_url=url, api_key="none") as anthropic:
        tools = [LociMemoryTool(server.loci, group=group)]
        assert (
            anthropic.beta.messages.tool_runner(**asks, tools=tools).until_done().content[0].text == "Done."
        )
        check_conversation(asked)
    other = server.loci.add_group(f"{group}-2").slug

    async def ask(url: str) -> str:
        async with AsyncAnthropic(base_url=url, api_key="none") as anthropic:
            tools = [AsyncLociMemoryTool(server.loci, group=other)]
            return (
                (await anthropic.beta.messages.tool_runner(**asks, tools=tools).until_done()).content[0].text
            )

    with messages_api(*INPUTS) as (url, asked):
        assert asyncio.run(ask(url)) == "Done."
        check_conversation(asked)


def test_the_quickstart_runs(
    server: Any, run_quickstart: Callable[..., str], messages_api: Callable[..., Any]
) -> None:
    file = {"command": "create", "path": "/memories/deploys.md", "file_text": "We deploy on Tuesdays."}
    with messages_api(file) as (url, _):
        printed = run_quickstart("anthropic-tool", ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="none")
    assert printed == "Done.\n"
    tool = LociMemoryTool(server.loci, group="assistant")
    assert "We deploy on Tuesdays." in said(tool, "view", path="/memories/deploys.md")[1]
