"""Relations as lines: "Ledger —owned_by_team→ Payments", with the memories that prove them, their date and confidence."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from access.actor import Actor
from access.models import Group
from memories.language.cleaning import first_words, fold
from memories.language.word_forms import root
from memories.models import Memory
from memories.models.short_id import short_id
from memories.queries.quoting import Marked, wrap
from memories.search.query_terms import STOP_WORDS, words
from memories.store.withdrawn.marks import refuse_withdrawn_texts
from relations.models import Relation

_MAX_END_WORDS: Final = 12  # of an end that is a whole text and no name
_MAX_EVIDENCE_NAMED: Final = 3


class RelationEnds(NamedTuple):
    """The visible memories of a relation: both ends, and those that prove it."""

    subject: Memory
    object: Memory
    proofs: tuple[Memory, ...] = ()
    predicate: str = ""
    roots: tuple[int, ...] = ()  # of the ends' chains

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Both ends and the proofs."""
        return (self.subject, self.object, *self.proofs)

    def without(self, hidden: Collection[int]) -> "RelationEnds | None":
        """The ends without hidden proofs; None if an end is hidden. `hidden` holds keys."""
        if self.subject.key in hidden or self.object.key in hidden:
            return None
        return self._replace(proofs=tuple(proof for proof in self.proofs if proof.key not in hidden))


class Said(NamedTuple):
    """What a relation states, as withdrawn texts are compared with it."""

    key: int
    content: str
    group_id: int
    created_at: datetime


@dataclass(frozen=True)
class RelationLine:
    """A relation as a line to read; `evidence` are the ids of memories that prove it and are visible."""

    id: UUID
    text: str
    group: str
    confidence: float
    since: datetime  # when it began to be true, else when it was stored
    author: str
    said: Said
    evidence: tuple[UUID, ...] = ()

    @property
    def trust(self) -> str:
        """How far to trust it, in words."""
        proofs = len(self.evidence)
        shown = (
            "no evidence"
            if not proofs
            else "1 memory proves it"
            if proofs == 1
            else f"{proofs} memories prove it"
        )
        return f"confidence {self.confidence:.2f}, {shown}"

    def show(self, group: str) -> str:
        """The line with its date and trust for an answer about this group."""
        proofs = ", ".join(short_id(id_) for id_ in self.evidence[:_MAX_EVIDENCE_NAMED])
        details = [
            f"{self.since:%Y-%m-%d}",
            f"by {self.author}",
            "" if self.group == group else f"group {self.group}",
            f"{self.trust}: {proofs}" if proofs else self.trust,
        ]
        return f"{self.text} ({', '.join(filter(None, details))})"


def fence_relations(lines: Sequence[str]) -> Marked:
    """The lines of relations, as RelationLine.show() has them, between marks."""
    return wrap("relations", {}, "\n".join(lines))


def read_lines(ends: Mapping[int, RelationEnds]) -> tuple[RelationLine, ...]:
    """The lines of relations by their keys, most certain first; one query."""
    if not ends:
        return ()
    rows = Relation.objects.select_related("group").filter(key__in=ends).order_by("-confidence", "key")
    return tuple(to_line(row, ends[row.key]) for row in rows)


def to_line(relation: Relation, ends: RelationEnds) -> RelationLine:
    """One relation as a line."""
    subject, object_ = (shorten(end.content) for end in (ends.subject, ends.object))
    return RelationLine(
        relation.id,
        f"{subject} —{relation.predicate}→ {object_}",
        relation.group.slug,
        relation.confidence,
        relation.valid_from or relation.created_at,
        relation.author_name,
        Said(
            relation.key,
            statement_of(ends.subject, relation.predicate, ends.object),
            relation.group_id,
            relation.created_at,
        ),
        tuple(dict.fromkeys(proof.id for proof in ends.proofs)),
    )


def statement_of(subject: Memory, predicate: str, object_: Memory) -> str:
    """A relation as a sentence: "Ledger owned by team Payments". What two parts both have where they meet is said once."""
    verb = predicate.replace("_", " ").split()
    before = [fold(word) for word in subject.content.rsplit(None, len(verb))[-len(verb) :]]
    verb = verb[next((n for n in range(len(verb), 0, -1) if before[-n:] == verb[:n]), 0) :]
    after = [fold(word) for word in object_.content.split(None, len(verb))[: len(verb)]]
    verb = verb[: len(verb) - next((n for n in range(len(verb), 0, -1) if after[:n] == verb[-n:]), 0)]
    return " ".join((subject.content, *verb, object_.content))


def refuse_stated(actor: Actor, group: Group, subject: Memory, predicate: str, object_: Memory) -> None:
    """Raise Conflict if a relation between two memories says a withdrawn text, as the relation is shown."""
    refuse_withdrawn_texts(actor, group, statement_of(subject, predicate, object_), field="predicate")


def shorten(text: str) -> str:
    """The first words of a text on one line."""
    words = text.split()
    return " ".join(words) if len(words) <= _MAX_END_WORDS else f"{first_words(text, _MAX_END_WORDS)} …"


def collect_ends(rows: Sequence[tuple[int, str, Memory]]) -> dict[int, RelationEnds]:
    """The ends and proofs of relations from rows of relation key, role (subject, object or proof) and memory."""
    ends: defaultdict[int, dict[str, list[Memory]]] = defaultdict(lambda: defaultdict(list))
    for key, role, memory in rows:
        ends[key][role].append(memory)
    return {
        key: RelationEnds(subject, object_, tuple(found["proof"]), *_way_of(subject, object_))
        for key, found in ends.items()
        if found["subject"] and found["object"]
        for subject, object_ in [(found["subject"][0], found["object"][0])]
    }


def _way_of(subject: Any, object_: Any) -> tuple[str, tuple[int, ...]]:
    """The predicate and the roots of both ends, where the rows were read with them."""
    return getattr(subject, "predicate", ""), tuple(
        getattr(end, "of_root", end.key) for end in (subject, object_)
    )


_ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("er", ""), ("s", ""), ("e", ""))
MIN_STEM_CHARS = 3


def predicate_forms(text: str) -> frozenset[str]:
    """What the words of a question may have in common with predicates."""
    return frozenset(_forms_of_words(words(text)))


def matches_predicate(predicate: str, forms: Collection[str]) -> bool:
    """Whether predicate_forms() of a question contain a content word of the predicate ("works_at": work)."""
    content = [word for word in predicate.split("_") if word and word not in STOP_WORDS]
    return not _forms_of_words(content).isdisjoint(forms)


def _forms_of_words(each: Iterable[str]) -> set[str]:
    return {form for word in each for form in (root(word), verb_stem(word))}


def verb_stem(word: str) -> str:
    """A word without a verb's ending, so that owns, owned and owner are one, and carries and carried."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM_CHARS:
            return word.removesuffix(ending) + instead
    return word
