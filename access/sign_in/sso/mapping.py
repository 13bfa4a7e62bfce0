"""Maps a provider's groups to roles. Pure: the settings are checked with it before any model is loaded."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

ROLES = ("viewer", "contributor", "curator", "admin")  # from the least to the most


class WrongRule(ValueError):
    """The text is not VALUE=GROUP:ROLE; the message quotes it."""


@dataclass(frozen=True)
class _GroupRule:
    """People in the provider's group `value` have `role` in the group `slug`."""

    value: str
    slug: str
    role: str


def read_rules(texts: Iterable[str]) -> tuple[_GroupRule, ...]:
    """The rules of the setting `sign_in.groups`. Raises WrongRule."""
    rules = []
    for text in texts:
        value, has_group, rest = text.rpartition("=")
        slug, has_role, role = rest.partition(":")
        if not (has_group and has_role and value.strip() and slug.strip() and role.strip() in ROLES):
            raise WrongRule(repr(text))
        rules.append(_GroupRule(value.strip(), slug.strip(), role.strip()))
    return tuple(rules)


def wanted_roles(rules: Iterable[_GroupRule], values: Collection[str]) -> dict[str, str]:
    """The role in every group that the rules name: the highest of the matching rules, or empty."""
    wanted: dict[str, str] = {}
    for rule in rules:
        best = wanted.setdefault(rule.slug, "")
        if rule.value in values and (not best or ROLES.index(rule.role) > ROLES.index(best)):
            wanted[rule.slug] = rule.role
    return wanted
