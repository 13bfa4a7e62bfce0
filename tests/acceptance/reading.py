"""Every way in which a text can be read out of a store; each gives all that it says.

What is handed out answers a question or begins a session. What is looked at shows a person, or who asks for one memory,
everything that is stored, history included.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass

from access.actor import Actor
from access.errors import LociError
from access.tokens import operator
from memories.browse.inspection import inspect_memory
from memories.browse.listing import ListFilter, list_memories
from memories.language.cleaning import fold
from memories.recall import RecallRequest, recall
from memories.recall.scoring import MODES
from memories.sessions.context_pack import get_context
from sources.exporting import export
from tests.acceptance.house import House, command


@dataclass(frozen=True)
class Wanted:
    """What a reader looks for: a question, words that stand in the text, and the memory's id. None is what tells it."""

    question: str
    words: str
    id: str
    group: str = "ledger"


Reader = Callable[[House, Wanted], str]


def tellers(readers: dict[str, Reader], house: House, wanted: Wanted, mark: str) -> list[str]:
    """The readers that return a text with this mark, in any spelling, in the readers' order."""
    return having(mark, read_out(readers, house, wanted))


def read_out(readers: dict[str, Reader], house: House, wanted: Wanted) -> dict[str, str]:
    """What each reader returns."""
    return {name: _said(read, house, wanted) for name, read in readers.items()}


def having(mark: str, answers: dict[str, str]) -> list[str]:
    """The readers whose answer has this mark, in any spelling."""
    return [name for name, answer in answers.items() if fold(mark) in fold(answer)]


def _said(read: Reader, house: House, wanted: Wanted) -> str:
    try:
        return read(house, wanted)
    except LociError as refused:
        return str(refused)


def told(actor: Actor, asked: RecallRequest) -> str:
    """All texts of an answer, with the closest matches if nothing was found."""
    answer = recall(actor, asked)
    return "\n".join(item.text for item in (*answer.items, *answer.nearest))


def by_question(house: House, w: Wanted) -> str:
    said = [
        told(house.agent, RecallRequest(query, group=w.group, mode=mode, max_results=50))
        for mode in MODES
        for query in (w.question, w.words)
    ]
    return "\n".join(said)


def by_id(house: House, w: Wanted) -> str:
    return told(house.agent, RecallRequest(ids=(w.id,)))


def by_pack(house: House, w: Wanted) -> str:
    return get_context(house.agent, group=w.group, query=w.question, token_budget=4000).text


def by_list(house: House, w: Wanted) -> str:
    return "\n".join(row.content for row in list_memories(house.agent, ListFilter(group=w.group)).rows)


def by_tool(house: House, w: Wanted) -> str:
    return house.tool_text("recall_memory", query=w.question, group=w.group, explain=True)


def by_tool_with_id(house: House, w: Wanted) -> str:
    return house.tool_text("recall_memory", ids=[w.id])


def by_context_tool(house: House, w: Wanted) -> str:
    return house.tool_text("get_context", group=w.group, query=w.question, token_budget=4000)


def by_memory_resource(house: House, w: Wanted) -> str:
    return house.resource(f"loci://memories/{w.id}")


def by_pack_resource(house: House, w: Wanted) -> str:
    return house.resource(f"loci://groups/{w.group}/context")


def by_prompt(house: House, w: Wanted) -> str:
    return house.prompt("start_session", task=w.question, group=w.group)


def by_rest(house: House, w: Wanted) -> str:
    return house.rest("post", "/recall", {"query": w.question, "group": w.group})[1]


def by_rest_list(house: House, w: Wanted) -> str:
    return house.rest("get", f"/memories?group={w.group}&q={w.words}")[1]


def by_rest_context(house: House, w: Wanted) -> str:
    return house.rest("get", f"/context?group={w.group}&query={w.question}")[1]


def by_command(house: House, w: Wanted) -> str:
    return command("recall", w.question, "--group", w.group, "--json")


# What begins a session, answers a question or is handed to an agent.
HANDED_OUT: dict[str, Reader] = {
    "recall": by_question,
    "recall by id": by_id,
    "context pack": by_pack,
    "list": by_list,
    "tool recall_memory": by_tool,
    "tool recall_memory by id": by_tool_with_id,
    "tool get_context": by_context_tool,
    "resource of the memory": by_memory_resource,
    "resource of the group": by_pack_resource,
    "prompt start_session": by_prompt,
    "REST recall": by_rest,
    "REST list and search": by_rest_list,
    "REST context": by_rest_context,
}
# The command acts as whoever sits at the machine, so it is no reader of another person's.
ON_THE_MACHINE: dict[str, Reader] = {"command recall": by_command}


def at_inspection(house: House, w: Wanted) -> str:
    return "\n".join(version.content for version in inspect_memory(house.person, w.id).versions)


def at_inspection_of_then(house: House, w: Wanted) -> str:
    return inspect_memory(house.person, w.id, query=w.question).memory.content


def at_tool(house: House, w: Wanted) -> str:
    return house.tool_text("memory_inspect", id=w.id)


def at_rest_memory(house: House, w: Wanted) -> str:
    return house.rest("get", f"/memories/{w.id}?versions=true")[1]


def at_rest_inspection(house: House, w: Wanted) -> str:
    return house.rest("get", f"/memories/{w.id}/inspect")[1]


def at_every_state(house: House, w: Wanted) -> str:
    return house.rest("get", f"/memories?group={w.group}&state=all&q={w.words}")[1]


def at_admin_list(house: House, w: Wanted) -> str:
    return house.page(f"/admin/memories/memory/?q={w.words}")


def at_admin_page(house: House, w: Wanted) -> str:
    return house.page(f"/admin/memories/memory/{w.id}/change/")


def at_export(house: House, w: Wanted) -> str:
    out = io.StringIO()
    export(house.person, out, groups=[w.group])
    return out.getvalue()


LOOKED_AT: dict[str, Reader] = {
    "inspect": at_inspection,
    "inspect with a question": at_inspection_of_then,
    "tool memory_inspect": at_tool,
    "REST memory": at_rest_memory,
    "REST inspect": at_rest_inspection,
    "REST list of every state": at_every_state,
    "admin list and search": at_admin_list,
    "admin page": at_admin_page,
    "export": at_export,
}


def at_log(house: House, w: Wanted) -> str:
    return house.rest("get", f"/log?group={w.group}&limit=100")[1]


def at_whole_export(house: House, w: Wanted) -> str:
    out = io.StringIO()
    export(operator(), out)
    return out.getvalue()


def at_command(house: House, w: Wanted) -> str:
    return command("memory", "inspect", w.id, "--json")


# The log tells what was stored, so these are read by who looks after the whole store.
OF_THE_STORE: dict[str, Reader] = {
    "REST log": at_log,
    "export of everything": at_whole_export,
    "command inspect": at_command,
}
EVERYWHERE: dict[str, Reader] = {**HANDED_OUT, **ON_THE_MACHINE, **LOOKED_AT, **OF_THE_STORE}
