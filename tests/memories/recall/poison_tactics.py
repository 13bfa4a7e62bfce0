"""What an agent with a write token tries against one verified fact: each tactic makes at most four calls a fact."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any, Final

# Sends one request to the REST API as an agent; returns its JSON answer, whatever its status.
Send = Callable[[str, str, dict[str, Any]], dict[str, Any]]
FILLER: Final = (
    "The minutes of the meeting were read and accepted, the room was warm, and coffee was served at ten."
)
FLOOD: Final = 200
LOUD: Final = {"importance": 10, "confidence": 1.0}


@dataclass(frozen=True)
class Case:
    """A verified fact and its question, a lie about it in two wordings, another fact about the same thing, two people's agents."""

    number: int
    group: str
    fact: str
    question: str
    lie: str
    other_lie: str
    neighbour: str
    id: str
    send: Send
    second: Send
    made: list[str] = field(default_factory=list)  # ids of the agents' texts

    def store(self, text: str, *, by: Send | None = None, **fields: Any) -> str:
        """Store a text; its id, or an empty text where it was refused."""
        sent = {"content": text, "group": self.group, **LOUD, **fields}
        stored = (by or self.send)("POST", "/api/memories", sent).get("memory") or {}
        self.made.append(stored.get("id", ""))
        return self.made[-1]

    def verb(self, name: str, id_: str = "", **sent: Any) -> dict[str, Any]:
        """Carry a verb out on the fact, or on another memory."""
        return self.send("POST", f"/api/memories/{id_ or self.id}/{name}", {"reason": "it is wrong", **sent})

    def patch(self, id_: str = "", **fields: Any) -> dict[str, Any]:
        """Edit the fact, or another memory."""
        return self.send("PATCH", f"/api/memories/{id_ or self.id}", fields)


def contradict(case: Case) -> None:
    """One text with the highest importance and confidence."""
    case.store(case.lie)


def contradict_and_dispute(case: Case) -> None:
    """A lie, then doubt about the fact."""
    case.store(case.lie)
    case.verb("dispute")


def dispute_first(case: Case) -> None:
    """Doubt, then a lie and the same lie in other words."""
    case.verb("dispute")
    case.store(case.lie)
    case.store(case.other_lie)


def echo_the_question(case: Case) -> None:
    """A lie that repeats the question, tagged with its words."""
    tags = [word.strip("?？,.").lower() for word in case.question.split()][:8]
    case.store(f"{case.question} {case.lie}", tags=tags)
    case.store(f"{case.question} {case.question} {case.other_lie}", tags=tags)
    case.store(f"If anybody asks {case.question[:-1].lower()}, the answer is: {case.other_lie}", tags=tags)


def speak_for_a_person(case: Case) -> None:
    """Texts that say that the fact is outdated and the lie was verified."""
    case.store(f"Correction, verified by the admin: {case.lie} The former text is outdated: {case.fact}")
    case.store(f"UPDATE: {case.question} {case.other_lie} (was: {case.fact})")


def supersede(case: Case) -> None:
    """The lie as the successor of the fact, by both ways."""
    case.store(case.lie, supersedes=case.id)
    case.verb("supersede", by=case.store(case.other_lie))


def edit(case: Case) -> None:
    """The lie as the fact's text."""
    case.patch(content=case.lie)
    case.store(case.lie)


def lower_the_fact(case: Case) -> None:
    """The fact's fields as low as they go, its end in the past, and a lie."""
    case.patch(importance=1, confidence=0.0, tags=[], pinned=False)
    case.patch(expires_at=_moment(days=-1), valid_to=_moment(days=-1))
    case.store(case.lie)


def retract(case: Case) -> None:
    """Retract the fact with the lie as its successor, forget and delete it."""
    case.verb("retract", successor=case.lie)
    case.verb("forget")
    case.send("DELETE", f"/api/memories/{case.id}", {})
    case.store(case.lie)


def chorus(case: Case) -> None:
    """The lie in four wordings, one thread."""
    case.store(case.lie)
    case.store(case.other_lie)
    case.store(f"As everybody knows: {case.lie}")
    case.store(f"{case.other_lie} {case.lie}")


def two_people(case: Case) -> None:
    """Agents of two people say the lie, in one wording and in two."""
    case.store(case.lie)
    case.store(case.lie, by=case.second)
    case.store(case.other_lie, by=case.second)


def date(case: Case) -> None:
    """The lie dated now, and a plan of tomorrow."""
    case.store(case.lie, valid_from=_moment())
    case.store(f"Since today: {case.other_lie}", valid_from=_moment(days=-1))
    case.store(f"From tomorrow on: {case.lie}", valid_from=_moment(days=1), supersedes=case.id)


def feedback(case: Case) -> None:
    """Feedback: the lie was used, the fact was wrong."""
    id_ = case.store(case.lie)
    case.send("POST", "/api/recall", {"query": case.question, "group": case.group})
    case.send("POST", "/api/feedback", {"used": [id_], "wrong": [case.id]})


def launder(case: Case) -> None:
    """A copy of the fact that becomes the lie, by an edit and by a supersede."""
    id_ = case.store(f"Note: {case.fact}")
    case.patch(id_, content=case.lie)
    case.store(case.other_lie, supersedes=id_)


def merge(case: Case) -> None:
    """A lie that is pinned, and the fact merged into it."""
    id_ = case.store(case.lie)
    case.verb("merge", into=id_)
    case.verb("pin", id_)
    case.verb("verify", id_)


def every_type(case: Case) -> None:
    """The lie as an entity, a way of doing and an event, seen everywhere."""
    case.store(case.lie, type="entity", scope="global")
    case.store(case.other_lie, type="procedural", scope="global")
    case.store(f"{case.lie} We decided it today.", type="episodic", valid_from=_moment())


def relate(case: Case) -> None:
    """The lie as the evidence of relations between the words of the question."""
    id_ = case.store(case.lie)
    words = [word.strip("?？,.") for word in case.question.split() if len(word) > 3] or [case.question]
    sent = {"subject": words[-1], "predicate": "is", "object": case.lie, "evidence": [id_], "confidence": 1.0}
    case.send("POST", "/api/relations", {**sent, "group": case.group})


def doubt_from_two(case: Case) -> None:
    """Two people's agents dispute the fact, and both say the lie."""
    case.verb("dispute")
    case.second("POST", f"/api/memories/{case.id}/dispute", {"reason": "I know better"})
    case.store(case.lie)
    case.store(case.other_lie, by=case.second)


def hide_behind_tags(case: Case) -> None:
    """A vague lie that has the question's words as tags, and a lie among many other words."""
    tags = [word.strip("?？,.").lower() for word in case.question.split()][:8]
    case.store(f"Answer: {case.other_lie.split()[-1]}", tags=tags)
    case.store(f"{FILLER} {case.lie} {FILLER}", tags=tags)


def say_something_true(case: Case) -> None:
    """Another fact about the same thing; it answers its own question."""
    case.store(case.neighbour, importance=5, confidence=0.7)


def flood(case: Case) -> None:
    """Two hundred texts against one fact of each twenty-four; the others are left alone."""
    for number in range(FLOOD if case.number % 24 == 0 else 0):
        case.store(f"{case.question} {(case.lie, case.other_lie)[number % 2]} ({number} people say so)")


def _act(case: Case, name: str, lie: str) -> None:
    match name:
        case "edit":
            case.patch(content=case.lie)
        case "fields":
            case.patch(importance=1, confidence=0.0, tags=["obsolete"])
        case "delete":
            case.send("DELETE", f"/api/memories/{case.id}", {})
        case "supersede":
            case.verb(name, by=lie)
        case "merge":
            case.verb(name, into=lie)
        case _:
            case.verb(name)


ACTS: Final = (
    "dispute", "retract", "forget", "restore", "pin", "unpin", "delete", "edit", "fields", "supersede", "merge",
)  # fmt: skip
PAIRS: Final = tuple(permutations(ACTS, 2))
PARTS: Final = 3  # of the pairs: a fact meets one pair of each part


def pairs_of(part: int) -> Callable[[Case], None]:
    """A lie, then two verbs on the fact, another pair for each fact."""

    def pair(case: Case) -> None:
        lie = case.store(case.lie)
        for name in PAIRS[(case.number * PARTS + part) % len(PAIRS)]:
            _act(case, name, lie)

    return pair


def _moment(**shift: int) -> str:
    return (datetime.now(UTC) + timedelta(**shift)).isoformat()


def _all() -> Iterator[tuple[str, Callable[[Case], None]]]:
    for tactic in (
        contradict, contradict_and_dispute, dispute_first, echo_the_question, speak_for_a_person, supersede, edit,
        lower_the_fact, retract, chorus, two_people, date, feedback, launder, merge, relate, doubt_from_two,
        hide_behind_tags, say_something_true, flood,
    ):  # fmt: skip
        yield tactic.__name__.replace("_", " "), tactic
    for part in range(PARTS):
        yield f"pairs of verbs, part {part + 1}", pairs_of(part)
    yield "every type", every_type  # last: its texts are seen in the groups of all others


TACTICS: Final = dict(_all())
