"""Which scenarios a revision of the protocol requires, read from the suite's own frozen lists."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RequirementSet:
    """The server's scenarios of one revision, in the order in which the suite runs them."""

    required: tuple[str, ...]
    not_scored: dict[str, str] = field(default_factory=dict)
    """Scenario → why it does not count: "extension", "pending" or "added-after-release"."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        return (*self.required, *self.not_scored)


def parse_requirements(lines: Iterable[str]) -> RequirementSet:
    """Read the lines of a `requirements/<revision>.yaml`: lists of names and of flat entries, no more YAML."""
    section = ""
    required: list[str] = []
    entries: list[dict[str, str]] = []
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not line.startswith(" "):
            section = text.rstrip(":")
        elif section == "server":
            required.append(text.removeprefix("- "))
        elif section == "not_scored":
            if text.startswith("- "):
                entries.append({})
            name, _, value = text.removeprefix("- ").partition(":")
            entries[-1][name] = value.strip()
    not_scored = {entry["scenario"]: entry["reason"] for entry in entries if entry.get("leg") == "server"}
    return RequirementSet(tuple(required), not_scored)
