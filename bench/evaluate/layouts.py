"""Public benchmarks in their own layouts: each sample becomes lines of the folder that question_files reads."""

import json
import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import file_digest, sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, NamedTuple

from access.errors import InvalidInput
from bench.evaluate.question_files import QUERIES, QuerySet, read_queries
from sources.importing.importer import CORPUS
from sources.importing.reading.json_stream import JsonFault, read_items

TURN, SESSION = UNITS = ("turn", "session")
_BEAM_QUESTIONS: Final = Path("probing_questions", "probing_questions.json")
_BEAM_MARK: Final = re.compile(r"\s*->->[\s\d,]*$")  # the generator's numbers at the end of a message
_LOCOMO_ID: Final = re.compile(r"D:?(\d+):(\d+)")  # also within "D8:6; D9:17" and "D30:05"
_LOCOMO_CATEGORIES: Final = {
    1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"
}  # fmt: skip
_MALFORMED: Final = (AttributeError, KeyError, OSError, SyntaxError, TypeError, ValueError)

Fields = dict[str, Any]


class _Turn(NamedTuple):
    session: str
    id: str
    speaker: Any
    text: Any
    date: Any


class _Question(NamedTuple):
    """`evidence` has ids of turns or sessions; None: the question has no answer."""

    id: str
    text: Any
    category: str
    evidence: list[str] | None
    date: Any = None


@dataclass(frozen=True)
class _Layout:
    """How a benchmark's samples are read. `unit` is what becomes one memory unless the caller chooses."""

    name: str
    keys: frozenset[str]  # of a sample
    unit: str
    date_form: str
    group: Callable[[Fields], str]
    turns: Callable[[Fields], Iterator[_Turn]]
    questions: Callable[[Fields], Iterator[_Question]]


def open_set(
    path: Path, work: Path, *, unit: str = "", split: str = "", limit: int | None = None
) -> tuple[Path, QuerySet]:
    """A set's folder and questions; what has the layout of a public benchmark is written as a folder below `work`.

    Raises:
        InvalidInput: a file of another layout, or no question has an answer.
    """
    if not (files := _files_of(path)):
        return path, read_queries(path, split=split, limit=limit)
    layout = _layout_of(files)
    unit = unit or layout.unit
    folder = Path(mkdtemp(dir=work)) / f"{path.absolute().stem}_{unit}"
    folder.mkdir()
    faults = _unpack(layout, files, folder, unit=unit, limit=limit)
    digest = sha256()
    for file in filter(Path.is_file, files):
        with file.open("rb") as read:
            file_digest(read, lambda: digest)
    origin = {"layout": layout.name, "unit": unit, "file": path.name, "sha256": digest.hexdigest()}
    try:
        queries = read_queries(folder, split=split, limit=limit)
    except InvalidInput as error:
        why = f"No question of {path} can be used."
        raise InvalidInput(why, hint=" ".join(faults[:1]), field="dir") from error
    return folder, replace(queries, faults=(*faults, *queries.faults), origin=origin)


def _files_of(path: Path) -> list[Path]:
    """A JSON file, or the files of BEAM's conversations of one size; empty for another folder."""
    if path.is_file():
        return [path]
    asked = sorted(path.glob(f"*/{_BEAM_QUESTIONS}"), key=lambda file: (len(str(file)), file))
    return [file for questions in asked for file in (questions.parents[1] / "chat.json", questions)]


def _layout_of(files: list[Path]) -> _Layout:
    try:
        first = next(_samples(files), None)
    except JsonFault:
        first = None
    for layout in _LAYOUTS:
        if isinstance(first, dict) and layout.keys <= first.keys():
            return layout
    names = ", ".join(layout.name for layout in _LAYOUTS)
    raise InvalidInput(f"{files[0].name} has none of these layouts: {names}.", field="dir")


def _samples(files: list[Path]) -> Iterator[Any]:
    if len(files) > 1:
        for chat, questions in zip(files[::2], files[1::2], strict=True):
            yield {"conversation_id": chat.parent.name, "chat": chat, "probing_questions": questions}
        return
    with files[0].open("rb") as file:
        for item in read_items(file):
            yield item.value


def _unpack(layout: _Layout, files: list[Path], folder: Path, *, unit: str, limit: int | None) -> list[str]:
    """Write the samples' lines until `limit` questions have an answer; return what cannot be used."""
    faults, asked, number = list[str](), 0, 0
    with (folder / CORPUS).open("w", encoding="utf-8") as corpus, (folder / QUERIES).open("w") as queries:
        try:
            for number, sample in enumerate(_samples(files), start=1):
                if limit is not None and asked >= limit:
                    break
                try:
                    texts, questions = _lines_of(layout, sample, unit, faults)
                except _MALFORMED as error:
                    faults.append(f"sample {number}: it is malformed: {error!r}")
                    continue
                corpus.writelines(json.dumps(line) + "\n" for line in texts)
                queries.writelines(json.dumps(line) + "\n" for line in questions)
                asked += sum(bool(line["relevant"]) for line in questions)
        except JsonFault as fault:
            faults.append(f"after sample {number}: {fault}")
    return faults


def _lines_of(
    layout: _Layout, sample: Fields, unit: str, faults: list[str]
) -> tuple[Iterable[Fields], list[Fields]]:
    """The lines of a sample's texts and questions."""
    group = re.sub(r"[^a-z0-9._-]+", "-", layout.group(sample).lower())
    texts: dict[str, Fields] = {}
    sessions: dict[str, str] = {}  # of each turn
    for turn in layout.turns(sample):
        name = f"{group}/{turn.id}"
        if not isinstance(turn.text, str) or not turn.text.strip():
            faults.append(f"{name}: the text is empty")
            continue
        if turn.id in sessions:
            faults.append(f"{name}: another turn has this id")
            continue
        sessions[turn.id] = turn.session
        speaker = str(turn.speaker or "")
        text = f"{speaker[:1].upper()}{speaker[1:]}: {turn.text}" if speaker else turn.text
        id_ = turn.id if unit == TURN else turn.session
        if id_ in texts:
            texts[id_]["text"] += f"\n{text}"
            continue
        session = f"{group}/{turn.session}"
        texts[id_] = {"id": f"{group}/{id_}", "text": text, "group": group, "session": session}
        if unit == TURN:
            texts[id_]["speaker"] = speaker
        texts[id_]["timestamp"] = _moment(turn.date, layout, name, faults)
    questions = []
    for question in layout.questions(sample):
        evidence = question.evidence or ()
        if unit == TURN:
            relevant = [id_ for id_ in evidence if id_ not in sessions.values()]
        else:
            relevant = [sessions.get(id_, id_) for id_ in evidence]
        if not isinstance(question.text, str) or not question.text.strip():
            faults.append(f"{question.id}: the question is empty")
        elif question.evidence is not None and not relevant:
            faults.append(f"{question.id}: it names no {unit} as evidence")
        else:
            asked = _moment(question.date, layout, question.id, faults) if question.date else None
            ids = [f"{group}/{id_}" for id_ in dict.fromkeys(relevant)]
            questions.append({
                "id": question.id, "text": question.text, "group": group,
                "category": question.category, "relevant": ids, "asked": asked and asked[:10],
            })  # fmt: skip
    return texts.values(), questions


def _moment(text: Any, layout: _Layout, name: str, faults: list[str]) -> str | None:
    try:
        return datetime.strptime(text, layout.date_form).isoformat()  # noqa: DTZ007
    except (TypeError, ValueError):
        faults.append(f"{name}: {text!r} is not a date and was left out")
        return None


def _objects(values: Any) -> list[Fields]:
    """The list's values, {} for each that is not an object."""
    return [value if isinstance(value, dict) else {} for value in values or ()]


def _longmemeval_turns(sample: Fields) -> Iterator[_Turn]:
    names = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
    for session, date, turns in zip(*(sample[name] for name in names), strict=True):
        for number, turn in enumerate(_objects(turns), start=1):
            yield _Turn(session, f"{session}/{number}", turn.get("role"), turn.get("content"), date)


def _longmemeval_questions(sample: Fields) -> Iterator[_Question]:
    id_, text, date = str(sample["question_id"]), sample.get("question"), sample.get("question_date")
    if id_.endswith("_abs"):
        yield _Question(id_, text, "abstention", None, date)
        return
    marked = [
        f"{session}/{number}"
        for session, turns in zip(sample["haystack_session_ids"], sample["haystack_sessions"], strict=True)
        for number, turn in enumerate(_objects(turns), start=1)
        if turn.get("has_answer")
    ]
    evidence = [*marked, *map(str, sample.get("answer_session_ids") or ())]
    yield _Question(id_, text, str(sample.get("question_type")), evidence, date)


def _locomo_turns(sample: Fields) -> Iterator[_Turn]:
    talk = sample["conversation"]
    for number in sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name)):
        date = talk.get(f"session_{number}_date_time")
        for turn in _objects(talk[f"session_{number}"]):
            text, photo = turn.get("text"), turn.get("blip_caption")
            if photo:
                text = f"{text or ''} [shares a photo: {photo}]"
            yield _Turn(f"S{number}", str(turn.get("dia_id")), turn.get("speaker"), text, date)


def _locomo_questions(sample: Fields) -> Iterator[_Question]:
    for number, asked in enumerate(_objects(sample["qa"])):
        category = asked.get("category")
        found = _LOCOMO_ID.findall(str(asked.get("evidence")))
        evidence = [f"D{int(session)}:{int(turn)}" for session, turn in found]
        yield _Question(
            f"{sample['sample_id']}/q{number}",
            asked.get("question"),
            _LOCOMO_CATEGORIES.get(category, str(category)),
            None if category == 5 else evidence,  # adversarial: the evidence misleads
        )


def _beam_value(value: Any) -> Any:
    """A file's value; the hub's rows have the questions as a Python literal."""
    if isinstance(value, Path):
        return json.loads(value.read_text(encoding="utf-8"))
    return literal_eval(value) if isinstance(value, str) else value


def _beam_messages(node: Any) -> Iterator[Fields]:
    """The messages in batches, turns and plans, nested differently by size."""
    if isinstance(node, dict) and "content" in node:
        yield node
    elif isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _beam_messages(child)


def _beam_turns(sample: Fields) -> Iterator[_Turn]:
    session, date = 0, None
    for message in _beam_messages(_beam_value(sample["chat"])):
        if (anchor := message.get("time_anchor")) and anchor != date:  # only a batch's first message has one
            session, date = session + 1, anchor
        text = message["content"]
        if isinstance(text, str):
            text = _BEAM_MARK.sub("", text)
        yield _Turn(f"B{session}", str(message.get("id")), message.get("role"), text, date)


def _beam_questions(sample: Fields) -> Iterator[_Question]:
    for category, several in _beam_value(sample["probing_questions"]).items():
        for number, asked in enumerate(_objects(several)):
            evidence = None if category == "abstention" else [*_leaves(asked.get("source_chat_ids"))]
            id_ = f"beam{sample['conversation_id']}/{category}{number}"
            yield _Question(id_, asked.get("question"), category, evidence)


def _leaves(node: Any) -> Iterator[str]:
    if isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _leaves(child)
    elif node is not None:
        yield str(node)


_LAYOUTS: Final = (
    _Layout(
        "LongMemEval",
        frozenset({"question_id", "haystack_sessions"}),
        SESSION,
        "%Y/%m/%d (%a) %H:%M",
        lambda sample: str(sample["question_id"]),
        _longmemeval_turns,
        _longmemeval_questions,
    ),
    _Layout(
        "LoCoMo",
        frozenset({"conversation", "qa"}),
        TURN,
        "%I:%M %p on %d %B, %Y",
        lambda sample: str(sample["sample_id"]),
        _locomo_turns,
        _locomo_questions,
    ),
    _Layout(
        "BEAM",
        frozenset({"chat", "probing_questions"}),
        TURN,
        "%B-%d-%Y",
        lambda sample: f"beam{sample['conversation_id']}",
        _beam_turns,
        _beam_questions,
    ),
)
