"""The guard's step for the lines of an export: its file may have been written or changed by anybody.

Secrets of a certain format and hidden characters never come in. What a person or the sender's word let in (an instruction that
was approved, a guessed password that is none) stays if this store's seal is on the line, or the import is `--as-own`; else
the policy of the group decides as for any other text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from access.errors import InvalidInput, SensitiveText
from access.groups.guarding import (
    OnHold,
    TextFinding,
    admit,
    check_rules,
    policy_of,
    quarantine_reason,
    split_rules,
)
from access.models import Group
from guard import Door, Family, GuardTreatment, Policy, find_secrets, kind_of
from guard.policy import DEFAULTS, STRICTNESS, read_pairs
from memories.language.dress.quotes import strings_in
from memories.types import VISIBLE_TRUSTS, State, Trust
from sources.exporting.lines import SEAL, has_seal
from sources.format import GROUP, MEMORY, RecordKind

_FORMER_DOUBT: Final = "disputed"  # a trust up to 0.3.0
_FORMER_COMPACTED: Final = (
    "compacted"  # a state up to 0.3.0; the next cycle puts the event behind its summary
)


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
        if kind is MEMORY and record.get("trust") == _FORMER_DOUBT:
            record["trust"] = Trust.ACTIVE.value
            self.doubted.add(str(record.get("id")))
        if kind is MEMORY and record.get("state") == _FORMER_COMPACTED:
            record |= {"state": State.LIVE.value, "retired_at": None}
        slug = record.get("slug") if kind is GROUP else record.get("group")
        policy = policy_of(groups.get(slug) if isinstance(slug, str) else None)
        door = Door.AGENT if is_trusted else Door.OUTSIDE  # whatever an unsealed line says of itself
        if kind is GROUP and not is_trusted:
            record["guard"] = _stricter_rules(record.get("guard"))
        for name in kind.texts:
            if record.get(name):
                record[name] = admit(
                    record[name], door, policy, on_hold=OnHold.MASK, may_instruct=kind is GROUP and is_trusted
                ).value
        return self._check_content(record, whole, policy, door) if kind is MEMORY else ""

    def _check_content(
        self, record: dict[str, Any], whole: dict[str, Any], policy: Policy, door: Door
    ) -> str:
        content, id_ = record.get("content"), str(record.get("id"))
        if not isinstance(content, str):
            return ""
        if door is not Door.OUTSIDE:
            policy = Policy(own=_TRUSTED, floor=policy.floor, words=policy.words)
            self.vouched.add(id_)
        try:
            admitted = admit(content, door, policy, field="content", on_hold=OnHold.WAIT)
        except SensitiveText as refusal:
            return f"{refusal} If the file is your own, import it with --as-own."
        if admitted.value != content:
            record["content"] = admitted.value.strip() or "[hidden text]"
            whole.pop("pieces", None)  # the vectors of another text
        if admitted.findings:
            self.findings[id_] = admitted.findings
        if quarantine_reason(admitted.findings) and record.get("trust") in (*VISIBLE_TRUSTS, Trust.CANDIDATE):
            record["trust"] = Trust.QUARANTINED.value
        return ""

    def may_keep_payload(self, payload: Any, memory_id: str) -> bool:
        """True if the payload of a log row holds no secret; without it the chain stays whole, as after a purge."""
        spares_guesses = self.is_own or memory_id in self.vouched
        return not any(
            kind_of(each.kind).family is Family.SECRET or not spares_guesses
            for _, text in strings_in(payload)
            for each in find_secrets(text)
        )


# For what was checked before: only what no person can let in is still changed.
_TRUSTED: Final = {
    Family.GUESSED.value: GuardTreatment.LABEL,
    Family.INJECTION.value: GuardTreatment.LABEL,
    "hidden-message": GuardTreatment.MASK,
}


def _stricter_rules(rules: Any) -> str:
    """Those of a foreign group's rules that are at least as strict as the defaults; none if they cannot be read."""
    if not isinstance(rules, str):
        return ""
    try:
        pairs, words = read_pairs(split_rules(check_rules(rules)))
    except InvalidInput:
        return ""
    kept = {
        name: treatment
        for name, treatment in pairs.items()
        if STRICTNESS[treatment] >= STRICTNESS[DEFAULTS.get(name) or DEFAULTS[kind_of(name).family]]
    }
    return ", ".join(
        [*(f"{name}={treatment}" for name, treatment in kept.items()), *(f"word={word}" for word in words)]
    )
