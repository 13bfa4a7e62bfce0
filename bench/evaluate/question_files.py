"""Questions with known answers, read from a folder; lines that cannot be used are counted and named."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from access.errors import InvalidInput, NotFound
from sources.importing.formats.texts import read_texts
from sources.importing.importer import CORPUS, LineRules, settle

QUERIES = "queries.jsonl"
SPLIT = "split.json"
SOURCE = "evaluation"
NEEDED = ("id", "text", "group", "relevant")
CORPUS_RULES = LineRules(SOURCE, as_own=True)  # what agents and people store themselves
NO_CATEGORY = "-"


@dataclass(frozen=True)
class Query:
    """A question within a group, with the ids of the corpus lines that answer it; `asked` is the day, None for today."""

    id: str
    text: str
    group: str
    relevant: tuple[str, ...]
    category: str = NO_CATEGORY
    asked: date | None = None


@dataclass(frozen=True)
class QuerySet:
    """Questions of a folder, with and without an answer, and what of the folder cannot be used.

    `unknown_ids` counts relevant ids that no usable line of the corpus has; they are never found, so they lower every
    measure, as do the `held` texts, which the guard quarantined. `faults` names each unusable line with the reason.
    `origin` has a public benchmark's layout, unit, file and SHA-256.
    """

    answerable: tuple[Query, ...]
    unanswered: tuple[Query, ...] = ()
    unknown_ids: int = 0
    held: int = 0
    faults: tuple[str, ...] = ()
    origin: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON values, with the faults."""
        return {
            **self.origin,
            "asked": len(self.answerable),
            "without_answer": len(self.unanswered),
            "unknown_ids": self.unknown_ids,
            "held": self.held,
            "faults": list(self.faults),
        }


def read_queries(folder: Path, *, split: str = "", limit: int | None = None) -> QuerySet:
    """Questions of a folder. `split` keeps those listed by that name in split.json, `limit` the first ones with an answer.

    Every line of the corpus is checked here, before the first is embedded.

    Raises:
        NotFound: the corpus or the questions are missing.
        InvalidInput: no question has an answer, or the split does not exist.
    """
    if not (folder / CORPUS).is_file():
        raise NotFound(f"There is no {CORPUS} in {folder}.", hint=f"The folder needs {CORPUS} and {QUERIES}.")
    chosen = split_ids(folder, split) if split else None
    read, faults = read_query_file(folder / QUERIES)
    queries = [query for query in read if chosen is None or query.id in chosen]
    answerable = tuple(query for query in queries if query.relevant)[:limit]
    if not answerable:
        raise InvalidInput(
            f"No question of {folder / QUERIES} has an answer.", hint=" ".join(faults[:1]), field="dir"
        )
    known, corpus_faults = check_corpus(folder / CORPUS)
    unknown = {id_ for query in answerable for id_ in query.relevant} - known
    unanswered = tuple(query for query in queries if not query.relevant)
    return QuerySet(answerable, unanswered, len(unknown), faults=(*faults, *corpus_faults))


def check_corpus(path: Path) -> tuple[set[str], list[str]]:
    """The ids of the lines that can be stored, and the others' faults."""
    ids, faults = set[str](), list[str]()
    for line in settle(read_texts(path, CORPUS_RULES), CORPUS_RULES):
        if line.draft is None:
            faults.append(f"{CORPUS}, line {line.number}: {line.why}")
        else:
            ids.add(line.draft.source_ref)
    return ids, faults


def read_query_file(path: Path) -> tuple[list[Query], list[str]]:
    """Questions of a file, with or without an answer, and the faults of the lines that are none."""
    queries, faults = list[Query](), list[str]()
    for number, line in numbered_lines(path):
        try:
            queries.append(parse_query(line))
        except ValueError as error:
            faults.append(f"{path.name}, line {number}: {error}.")
    return queries, faults


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(
            f"There is no {path.name} in {path.parent}.", hint=f"The folder needs {CORPUS} and {QUERIES}."
        ) from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def parse_query(line: str) -> Query:
    """The question of a line; raises ValueError with the reason."""
    try:
        fields = json.loads(line)
    except ValueError:
        raise ValueError("not a JSON object") from None
    missing = [name for name in NEEDED if not isinstance(fields, dict) or name not in fields]
    if missing or not isinstance(fields["relevant"], list):
        wanted = ", ".join(f"'{name}'" for name in missing) or "a list 'relevant'"
        raise ValueError(f"a question needs {wanted}")
    return Query(
        str(fields["id"]),
        str(fields["text"]),
        str(fields["group"]),
        tuple(str(id_) for id_ in fields["relevant"]),
        str(fields.get("category") or NO_CATEGORY),
        date.fromisoformat(str(asked)) if (asked := fields.get("asked")) else None,
    )


def split_ids(folder: Path, name: str) -> frozenset[str]:
    """Ids of the questions in a split of split.json; raises InvalidInput if there is none of this name."""
    try:
        splits = json.loads((folder / SPLIT).read_text(encoding="utf-8"))
        return frozenset(splits[name])
    except FileNotFoundError:
        raise InvalidInput(f"There is no {SPLIT} in {folder}.", field="split") from None
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"{folder / SPLIT} has no split '{name}'.", field="split") from None
