"""The guard's step for the lines of an export: its file may have been written or changed by anybody.

Secrets of a certain format and hidden characters never come in. What a person or the sender's word let in (an instruction that
was approved, a guessed password that is none) stays if this store's seal is on the line, or the import is `--as-own`; else
the policy of the group decides as for any other text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import Model

from access.errors import InvalidInput, SensitiveText
from access.groups.guarding import (
    TextFinding,
    check_rules,
    guard_json,
    mask_all,
    policy_of,
    quarantine_reason,
    refusal,
    split_rules,
)
from access.models import Group
from guard import Family, GuardTreatment, Policy, find_secrets, has_instruction, kind_of
from guard.policy import DEFAULTS, STRICTNESS, read_pairs
from memories.draft.guarding import Pieces, read_text
from memories.models import Memory
from memories.store.pieces import EmbeddedText
from memories.types import VISIBLE_TRUSTS, Trust
from sources.exporting.seal import SEAL, has_seal
from sources.format import (
    ALIAS,
    CHECKPOINT,
    DOUBT,
    GROUP,
    LINK,
    MEMORY,
    RELATION,
    THREAD,
    TOMBSTONE,
    RecordKind,
)

# The texts of each kind. A thread is named by what is in it, so its name is masked there in the same way.
TEXTS: Final[dict[str, tuple[str, ...]]] = {
    GROUP.name: ("title", "instructions", "created_by"),
    THREAD.name: ("name", "title", "url", "platform", "tags"),
    MEMORY.name: (
        "tags",
        "metadata",
        "source",
        "source_ref",
        "thread",
        "client",
        "author_name",
        "anchor_commit",
    ),
    LINK.name: ("reason", "evidence", "author_name", "settled_by"),
    DOUBT.name: ("reason", "author_name", "settled_by"),
    RELATION.name: ("predicate", "metadata", "author_name"),
    ALIAS.name: ("name", "fold"),
    CHECKPOINT.name: ("state", "thread", "author_name"),
    TOMBSTONE.name: ("reason", "author_name", "lifted_by"),
}


FORMER_DOUBT: Final = "disputed"  # a trust up to 0.3.0


@dataclass
class ExportGuard:
    """The guard of one import of an export. `vouched` are the ids of memories whose guessed secrets may stay.

    `doubted` are those that an older export says to be disputed, which was a trust then; its log may say which trust they had.
    """

    is_own: bool = False
    vouched: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)
    findings: dict[str, tuple[TextFinding, ...]] = field(default_factory=dict)

    def check(self, kind: RecordKind, whole: dict[str, Any], groups: Mapping[str, Group]) -> str:
        """Make a line's texts what the policy stores, in place; returns why the line is rejected, or ""."""
        record = whole["row"]
        is_trusted = self.is_own or has_seal(kind.name, record, whole.get(SEAL))
        if kind is MEMORY and record.get("trust") == FORMER_DOUBT:
            record["trust"] = Trust.ACTIVE.value
            self.doubted.add(str(record.get("id")))
        slug = record.get("slug") if kind is GROUP else record.get("group")
        policy = policy_of(groups.get(slug) if isinstance(slug, str) else None)
        if kind is GROUP and not is_trusted:
            record["guard"] = stricter_rules(record.get("guard"))
        for name in TEXTS.get(kind.name, ()):
            if record.get(name):
                record[name] = mask_all(
                    record[name], policy, spares_instructions=kind is GROUP and is_trusted
                )
        return self._check_content(record, whole, policy, is_trusted) if kind is MEMORY else ""

    def _check_content(
        self, record: dict[str, Any], whole: dict[str, Any], policy: Policy, is_trusted: bool
    ) -> str:
        content, id_ = record.get("content"), str(record.get("id"))
        if not isinstance(content, str):
            return ""
        if is_trusted:
            policy = Policy(own=TRUSTED, floor=policy.floor)
            self.vouched.add(id_)
        try:
            safe, found = guard_json(content, policy, field="content")
        except SensitiveText as refusal:
            return f"{refusal} If the file is your own, import it with --as-own."
        if safe != content:
            record["content"] = safe.strip() or "[hidden text]"
            whole.pop("pieces", None)  # the vectors of another text
        if found:
            self.findings[id_] = tuple(found)
        if quarantine_reason(found) and record.get("trust") in (*VISIBLE_TRUSTS, Trust.CANDIDATE):
            record["trust"] = Trust.QUARANTINED.value
        return ""

    def read_all(self, rows: Iterable[tuple[Model, EmbeddedText]]) -> dict[int, str]:
        """Read unsaved memories with their pieces; those that are rejected by their place, and why."""
        whys = [self.read(row, made.pieces) if isinstance(row, Memory) else "" for row, made in rows]
        return {at: why for at, why in enumerate(whys) if why}

    def read(self, memory: Memory, pieces: Pieces) -> str:
        """Hold an unsaved memory of an unsealed line that reads like an instruction to an AI; why it is rejected, or "".

        Such a line is from outside, whatever it says itself.
        """
        id_ = str(memory.id)
        found = self.findings.get(id_, ())
        if id_ in self.vouched or has_instruction(each.kind for each in found):
            return ""
        policy = policy_of(memory.group)
        told = read_text(memory.content, pieces, policy, outside=True)
        if told is None:
            return ""
        if told.treatment is GuardTreatment.REFUSE:
            return f"{refusal([told], policy)} If the file is your own, import it with --as-own."
        self.findings[id_] = (*found, told)
        if quarantine_reason([told]) and memory.trust in (*VISIBLE_TRUSTS, Trust.CANDIDATE):
            memory.trust = Trust.QUARANTINED
        return ""

    def may_keep_payload(self, payload: Any, memory_id: str) -> bool:
        """True if the payload of a log row holds no secret; without it the chain stays whole, as after a purge."""
        spares_guesses = self.is_own or memory_id in self.vouched
        return not any(
            kind_of(each.kind).family is Family.SECRET or not spares_guesses
            for text in strings_in(payload)
            for each in find_secrets(text)
        )


def strings_in(value: Any) -> Iterator[str]:
    """Every string of a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from strings_in(each)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from strings_in(each)


# For what was checked before: only what nobody can let in is still changed.
TRUSTED: Final = {
    Family.GUESSED.value: GuardTreatment.LABEL,
    Family.INJECTION.value: GuardTreatment.LABEL,
    "hidden-message": GuardTreatment.MASK,
}


def stricter_rules(rules: Any) -> str:
    """Those of a foreign group's rules that are at least as strict as the defaults; none if they cannot be read."""
    if not isinstance(rules, str):
        return ""
    try:
        pairs = read_pairs(split_rules(check_rules(rules)))
    except InvalidInput:
        return ""
    kept = {
        name: treatment
        for name, treatment in pairs.items()
        if STRICTNESS[treatment] >= STRICTNESS[default_treatment(name)]
    }
    return ", ".join(f"{name}={treatment}" for name, treatment in kept.items())


def default_treatment(name: str) -> GuardTreatment:
    """The default for a family or kind."""
    return DEFAULTS[name] if name in DEFAULTS else DEFAULTS[kind_of(name).family]
