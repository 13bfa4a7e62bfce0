"""Sections of a context pack: each has a share of the budget, and what does not fit is cut at a sentence and named."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from access.additions import additions
from access.models import Group
from memories.embedding import Encoder
from memories.language.cleaning import format_memory_count
from memories.models import Memory
from memories.models.short_id import short_id
from memories.queries.conflicts import OpenConflict
from memories.recall.budget import Show, count_tokens, cut_text, pack
from memories.recall.weights import MIN_BEST_TOKENS

# Share of the budget that each part is sure of. What one does not use goes to the others, in this order.
SHARES: Final = {
    "moment": 0.05,
    "repository": 0.03,
    "checkpoint": 0.3,
    "instructions": 0.2,
    "pinned": 0.15,
    "relations": 0.05,
    "relevant": 0.2,
    "files": 0.15,
    "threads": 0.05,
    "recent": 0.05,
}
_OUTSIDE_SHARE: Final = 0.2  # of the budget, for each part from outside this package
REST_SHARE = 0.06  # of the budget, for the line that names what did not fit
MAX_NAMED = 8  # ids of memories that did not fit


@dataclass(frozen=True)
class PackItem:
    """A memory of the pack: its text as shown, why it is there, and its score if a question found it."""

    memory: Memory
    text: str
    label: str
    why: str
    score: float | None = None
    is_cut: bool = False
    conflicts: tuple[OpenConflict, ...] = ()


@dataclass(frozen=True)
class Section:
    """A part of the pack: title, text and memories; the tokens that all of it would take, and those it takes."""

    kind: str
    title: str
    text: str
    asked: int
    used: int
    items: tuple[PackItem, ...] = ()
    left_out: tuple[Memory, ...] = ()
    is_cut: bool = False
    confidence: str = ""  # of the answer to the query: high or low
    note: str = ""  # why it has no memories

    @property
    def ids(self) -> tuple[str, ...]:
        """The full ids of its memories."""
        return tuple(str(item.memory.id) for item in self.items)


@dataclass(frozen=True)
class TextPart:
    """A text that is cut to fit. `render` puts a text between what stands around it; `name` is its shortest form.

    `is_note`: it says why the section has no memories.
    """

    kind: str
    title: str
    text: str
    name: str = ""
    render: Callable[[str], str] = str
    is_note: bool = False

    def asked(self, encoder: Encoder | None) -> int:
        """The tokens of the whole section."""
        return self._cost(self.render(self.text), encoder)

    def floor(self, encoder: Encoder | None) -> int:
        """The tokens that it needs to be named at all."""
        return min(self.asked(encoder), self._cost(self._named(100_000), encoder)) if self.name else 0

    def fit(self, tokens: int, encoder: Encoder | None, *, whole_at: int) -> Section | None:
        """The section if the whole text fits."""
        asked = self.asked(encoder)
        if asked <= tokens:
            note = self.text if self.is_note else ""
            return Section(self.kind, self.title, self.render(self.text), asked, asked, note=note)
        remark = f"\n(Cut: get_context with token_budget={whole_at} has all of it.)"
        room = tokens - self._cost(f"{self.render('')}{remark}", encoder)
        text = f"{self.render(cut)}{remark}" if (cut := cut_text(self.text, room, encoder)) else ""
        text = text or (self._named(whole_at) if self.name else "")
        used = self._cost(text, encoder)
        if not text or used > tokens:
            return None
        return Section(self.kind, self.title, text, asked, used, is_cut=True)

    def _named(self, whole_at: int) -> str:
        return f"{self.name}: token_budget={whole_at} has it."

    def _cost(self, text: str, encoder: Encoder | None) -> int:
        return count_tokens(f"\n\n## {self.title}\n{text}", encoder)


@dataclass(frozen=True)
class _WholePart(TextPart):
    """A text between marks that is shown completely or not at all."""

    def fit(self, tokens: int, encoder: Encoder | None, *, whole_at: int) -> Section | None:
        """The section if all of it fits."""
        asked = self.asked(encoder)
        return Section(self.kind, self.title, self.text, asked, asked) if asked <= tokens else None


@dataclass(frozen=True)
class OutsidePart:
    """A part that a package above this one adds, such as files: its kind, which has a share in SHARES, its title, and its
    text for a group, a query and a number of tokens.
    """

    kind: str
    title: str
    find: Callable[[Group, str, int], str]


def find_outside_parts(group: Group, query: str, budget: int) -> list[_WholePart]:
    """The registered parts with text for the query; none without a query."""
    if not query.strip():
        return []
    room = int(budget * _OUTSIDE_SHARE)
    parts = additions("parts of a context pack")
    found = [_WholePart(part.kind, part.title, part.find(group, query, room)) for part in parts]
    return [part for part in found if part.text]


@dataclass(frozen=True)
class MemoriesPart:
    """Memories that fit whole or cut, in order; `show` puts one between its marks.

    `is_ranked`: the best come first, so none may take the place of one before it.
    """

    kind: str
    title: str
    items: Sequence[PackItem]
    show: Show
    is_ranked: bool = False

    def asked(self, encoder: Encoder | None) -> int:
        """The tokens of the whole section."""
        texts = (self.show(item.memory, item.memory.content) for item in self.items)
        return self._title(encoder) + sum(count_tokens(f"{text}\n", encoder) for text in texts)

    def floor(self, encoder: Encoder | None) -> int:
        """The tokens that it is sure of: of ranked memories, those of the best one's beginning."""
        if not self.is_ranked:
            return 0
        around = count_tokens(f"{self.show(self.items[0].memory, '')}\n", encoder)
        return min(self.asked(encoder), self._title(encoder) + around + MIN_BEST_TOKENS)

    def fit(self, tokens: int, encoder: Encoder | None, *, whole_at: int) -> Section | None:
        """The section within so many tokens; memories that do not fit are named in it."""
        room = tokens - self._title(encoder)
        memories = [item.memory for item in self.items]
        portions, left_out = pack(
            memories, token_budget=room, encoder=encoder, show=self.show, is_ranked=self.is_ranked
        )
        known = {item.memory.key: item for item in self.items}
        shown = tuple(
            replace(known[each.memory.key], text=each.text, is_cut=each.is_cut) for each in portions
        )
        text = "\n".join(self.show(item.memory, item.text) for item in shown)
        used = self._title(encoder) + sum(portion.tokens for portion in portions) if portions else 0
        is_cut = bool(left_out) or any(item.is_cut for item in shown)
        return Section(self.kind, self.title, text, self.asked(encoder), used, shown, tuple(left_out), is_cut)

    def _title(self, encoder: Encoder | None) -> int:
        return count_tokens(f"\n\n## {self.title}\n", encoder)


Part = TextPart | MemoriesPart


@dataclass
class _Filling:
    """The sections that fit, and what did not fit at all."""

    sections: list[Section] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    @property
    def left_out(self) -> list[Memory]:
        """The memories that did not fit, in the order of the sections."""
        return [memory for section in self.sections for memory in section.left_out]


def fill(parts: Sequence[Part], budget: int, encoder: Encoder | None, *, around: int) -> _Filling:
    """The parts as sections within `budget`; `around` is what the pack needs besides them."""
    asked = {part.kind: part.asked(encoder) for part in parts}
    floors = {part.kind: part.floor(encoder) for part in parts}
    given = allot(asked, floors, budget)
    filling, carried = _Filling(), 0
    shares = sum(SHARES[kind] for kind in asked)
    for part in parts:
        allowed = given[part.kind] + carried
        by_share = sum(floors.values()) + int(asked[part.kind] * shares / SHARES[part.kind])
        whole_at = around + min(sum(asked.values()), int((by_share + around) / (1 - REST_SHARE)))
        section = part.fit(allowed, encoder, whole_at=(whole_at // 100 + 1) * 100)
        if section is None:
            filling.absent.append(part.title)
        else:
            filling.sections.append(section)
        carried = allowed - (section.used if section else 0)
    return filling


def allot(asked: Mapping[str, int], floors: Mapping[str, int], budget: int) -> dict[str, int]:
    """Tokens for each part: what it needs to be named, its share of the rest, then what others do not use."""
    given = dict.fromkeys(asked, 0)
    left = max(0, budget)
    order = [kind for kind in SHARES if kind in asked]
    for kind in order:
        if floors[kind] <= left:
            given[kind] = floors[kind]
            left -= floors[kind]
    shares, rest = sum(SHARES[kind] for kind in order), left
    for kind in order:
        more = min(asked[kind] - given[kind], int(rest * SHARES[kind] / shares))
        given[kind] += more
        left -= more
    for kind in order:
        more = min(asked[kind] - given[kind], left)
        given[kind] += more
        left -= more
    return given


def describe_rest(
    memories: Sequence[Memory], absent: Sequence[str], tokens: int, encoder: Encoder | None
) -> str:
    """A line that names what did not fit and how to read it, as long as the tokens allow; empty if nothing is missing."""
    if not memories and not absent:
        return ""
    what = [format_memory_count(len(memories))] * bool(memories) + [f"'{title}'" for title in absent]
    plain = f"({' and '.join(what)} did not fit: raise token_budget.)"
    for number in range(min(MAX_NAMED, len(memories)), 0, -1):
        named = ", ".join(short_id(memory.id) for memory in memories[:number])
        more = ", …" if number < len(memories) else ""
        line = f"{plain[:-2]}, or recall_memory by ids: {named}{more}.)"
        if count_tokens(f"\n\n{line}", encoder) <= tokens:
            return line
    return plain if count_tokens(f"\n\n{plain}", encoder) <= tokens else ""
