"""What an agent reads in the text of an answer: a recall's parts, an inspection's, a thread's, as fields."""

import json
import re
from typing import Any

from mcp_types import CallToolResult, TextContent

from memories.models import Memory
from memories.models.short_id import SHORT_ID_CHARS, id_ends_with

_BLOCK = re.compile(r"<(memory|checkpoint|evidence)\b([^>]*)>\n(.*?)\n</\1>", re.S)
_OPENING = re.compile(rf" id=([0-9a-f]{{{SHORT_ID_CHARS}}})(?: (\w+) (\S+))?")
_ATTRIBUTE = re.compile(r'(\w+)=("[^"]*"|\S+)')
_SHORT_ID = re.compile(rf"\b[0-9a-f]{{{SHORT_ID_CHARS}}}\b")
_RELATIONS = re.compile(r"<relations>\n(.*?)\n</relations>", re.S)
_RELATION = re.compile(r"(.+) \((\d{4}-\d\d-\d\d), by (.*?)(?:, group (\S+))?, confidence [\d.]+, (.*)\)")
_DETAIL = re.compile(
    r"^(memory|why|recall|head|curve|relations|versions|links|log|log_rows|feedback|pieces|pieces_owed|steps): (.*)$"
)
_FIELDS = re.compile(r"<memory fields>\n(.*?)\n</memory>", re.S)
_LISTS = ("relations", "versions", "links", "log", "steps")


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def fields_of(result: CallToolResult) -> dict[str, Any]:
    """The structured part of an answer, or what its text says."""
    return (
        result.structured_content if result.structured_content is not None else read_answer(text_of(result))
    )


def read_answer(text: str) -> dict[str, Any]:
    """The parts of a text that a tool answers with; those that it lacks are absent. Ids are whole where a row has them."""
    if "Checkpoints, newest first:" in text or re.match(r"(Thread .*|Work in no thread) in '", text):
        return _read_thread(text)
    if text.startswith(("Recalls of this question", "You may read no recall", "(Cut: no recall")):
        return _read_recalls(text)
    if text.startswith(("<memory id=", "<relations>")):
        return _read_inspection(text)
    if text.startswith(("Your team's shared memory of '", "Nothing is stored in '")):
        return {"text": text}
    return _read_recall(text)


def whole_id(short: str) -> str:
    """The id that ends so; the short one where no row or several have it."""
    found = Memory.objects.filter(id_ends_with(short)).values_list("id", flat=True)
    return str(found[0]) if len(found) == 1 else short


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return whole_id(value) if isinstance(value, str) and _SHORT_ID.fullmatch(value) else value


def _ids(text: str) -> list[str]:
    return [whole_id(short) for short in _SHORT_ID.findall(text)]


def _read_recall(text: str) -> dict[str, Any]:
    head = text.split("\n", 1)[0]
    answer: dict[str, Any] = {"text": text, "note": head, "results": []}
    body, _, explanation = text.partition('\n\n{"scores":')
    explained = json.loads('{"scores":' + explanation) if explanation else {"scores": {}}
    answer |= {"explain": explained["steps"]} if explanation else {}
    blocks = [*_BLOCK.finditer(body)]
    items: list[dict[str, Any]] = []
    for block in blocks:
        if block[1] == "evidence":
            answer.setdefault("evidence", []).append(_attributes(block) | {"text": block[0]})
            continue
        before = body[: block.start()].rstrip("\n").rsplit("\n", 1)[-1]
        item = _memory(block)
        item |= explained["scores"].get(item["id"][-SHORT_ID_CHARS:], {})
        if before.startswith("from ") and before.endswith(":"):
            items[-1]["coming"] = item | {"content": block[0]}
            continue
        items.append(item)
        notes = body[block.end() :].split("<memory ", 1)[0].split("\n")
        for note in notes:
            if note.startswith("Also said in "):
                item["also_in"] = [{"id": id_} for id_ in _ids(note)]
            elif note.startswith("Summary of "):
                item["events"] = _ids(note)
    if found := _RELATIONS.search(body):
        answer["relations"] = [_relation(line) for line in found[1].split("\n")]
    is_abstained = head.startswith("Nothing ")
    answer |= {"abstained": True} if is_abstained else {}
    answer["nearest" if is_abstained else "results"] = items
    answer["count"] = len(answer["results"])
    if doubt := re.search(r"(By words alone, l|L)ow confidence[^.]*", head):
        answer["doubt"] = doubt[0]
    answer["confidence"] = "low" if doubt or is_abstained else "high"
    if missing := re.search(r"^Not found among what you may see: (.*)\.$", body, re.M):
        answer["missing"] = [part for part in missing[1].split(", ") if not part.endswith((" more", " ids"))]
    if left_out := re.search(r"^(\d+) more did not fit", body, re.M):
        answer["left_out"] = int(left_out[1])
    return answer


def _memory(block: re.Match[str]) -> dict[str, Any]:
    opening = _OPENING.match(block[2])
    assert opening is not None, block[0]
    own = _attributes(block)
    label = own.get("trust", "")
    turns = [line for line in block[3].split("\n") if line.startswith("<turn ")]
    item = {
        "id": whole_id(opening[1]),
        "type": opening[2],
        "date": opening[3],
        "text": block[0],
        "label": label,
    }
    item |= {name: own[name] for name in ("group", "source") if name in own}
    item["is_cut"] = "…" in block[3]
    if conflicts := re.findall(r"(?:in conflict with|verified \()\s*([0-9a-f]{8})", label):
        item["conflicts"] = [{"id": whole_id(short)} for short in conflicts]
    if turns:
        item["around"] = [whole_id(line.split()[1].rstrip(">")) for line in turns]
    return item


def _attributes(block: re.Match[str]) -> dict[str, str]:
    return {name: value.strip('"') for name, value in _ATTRIBUTE.findall(block[2])}


def _relation(line: str) -> dict[str, Any]:
    found = _RELATION.fullmatch(line)
    assert found is not None, line
    return {"line": found[1], "date": found[2], "evidence": _ids(found[5])}


def _read_inspection(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    if text.startswith("<relations>"):
        fenced, _, edge = text.partition("</relations>\n")
        return {"relations": [_whole(json.loads(edge)) if edge else {}], "text": fenced}
    first = _BLOCK.match(text)
    assert first is not None, text
    memory = _memory(first) | {"content": first[0]}
    if fields := _FIELDS.search(text):
        memory |= json.loads(fields[1])
    for line in text[first.end() :].split("\n"):
        if detail := _DETAIL.match(line):
            name, value = detail[1], _value(detail[2])
            if name == "memory":
                memory |= value
            elif name in _LISTS:
                answer.setdefault(name, []).append(value)
            else:
                answer[name] = value
        elif cut := re.match(r"\(Cut(?:: (.*))?\. token_budget=", line):
            answer["cut"] = cut[1].split(", ") if cut[1] else ["content"]
    return answer | {"memory": memory}


def _value(text: str) -> Any:
    try:
        return _whole(json.loads(text) if not _SHORT_ID.fullmatch(text) else text)
    except ValueError:
        return text


def _read_recalls(text: str) -> dict[str, Any]:
    rows = [_whole(json.loads(line)) for line in text.split("\n") if line.startswith("{")]
    cursor = re.search(r"\(More: cursor=(\S+)\)", text)
    return {"recalls": rows, "next": cursor[1] if cursor else "", "cut": ["recalls"] * ("(Cut" in text)}


def _read_thread(text: str) -> dict[str, Any]:
    head = re.match(
        r"(?:Thread '?(?P<thread>.*?)'?(?: \(.*\))?|Work in no thread) in '(?P<group>.*?)'\.", text
    )
    assert head is not None, text
    blocks = [*_BLOCK.finditer(text)]
    answer: dict[str, Any] = {"thread": head["thread"] or "", "group": head["group"]}
    for name, kind in (("turns", "memory"), ("checkpoints", "checkpoint")):
        found = [{"text": block[0], "is_cut": "…" in block[3]} for block in blocks if block[1] == kind]
        answer |= {name: found} if found else {}
    for name, words in (("next", "More turns"), ("older", "Older checkpoints")):
        if cursor := re.search(rf"\({words}: cursor=(\S+)\)", text):
            answer[name] = cursor[1]
    if others := re.search(r"Threads with checkpoints: (.*)\.", text):
        answer["threads"] = {name: int(count) for name, count in re.findall(r"'(.*?)' \((\d+)\)", others[1])}
    return answer
