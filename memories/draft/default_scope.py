"""The scope of a memory whose author named none: the group's rule, else the instance's.

The instance's rule is the setting access.default_scope; where that is not set, the value that an upgrade left in the
database, else `group`.
"""

from collections.abc import Mapping
from typing import Final

from django.conf import settings

from access.models import Group, ScopeRule
from memories.types import Scope, Type

# The row of index_state that keeps the rule of a store that is older than the setting; migration 0005 of access writes it.
STORED_RULE: Final = "default_scope"
DEFAULT_RULE: Final = ScopeRule.GROUP
# What each rule means for each type.
SCOPES: Final[dict[str, dict[str, Scope]]] = {
    ScopeRule.GROUP: dict.fromkeys(Type.values, Scope.GROUP),
    ScopeRule.BY_TYPE: dict.fromkeys(Type.values, Scope.GLOBAL) | {Type.EPISODIC: Scope.GROUP},
    ScopeRule.GLOBAL: dict.fromkeys(Type.values, Scope.GLOBAL),
}


def instance_rule(stored: Mapping[str, str]) -> str:
    """The instance's rule; `stored` are the values of index_state by name."""
    return settings.LOCI.access.default_scope or stored.get(STORED_RULE, "") or DEFAULT_RULE.value


def describe_kept_rule(stored: Mapping[str, str]) -> str:
    """A sentence on the rule that an upgrade kept, and on how to leave it; empty if the setting decides."""
    if settings.LOCI.access.default_scope or STORED_RULE not in stored:
        return ""
    return (
        f"A memory without a scope is stored {stored[STORED_RULE]}, as before the upgrade: all but events are global."
        " To keep new ones in their group, set access.default_scope = \"group\"; 'loci group narrow GROUP' does so for old"
        " ones."
    )


def rule_of(group: Group, stored: Mapping[str, str]) -> str:
    """The rule of a group: its own, else the instance's."""
    return group.default_scope or instance_rule(stored)


def default_scope(type_: str, group: Group, *, rule: str, replaced: str | None = None) -> Scope:
    """The scope of a memory whose author named none. `replaced` is the scope of the memory that it replaces, if any.

    A private group has no global memories. A successor stays as narrow as what it replaces, and is as wide unless the
    rule goes by type.
    """
    if group.private or replaced == Scope.GROUP:
        return Scope.GROUP
    if replaced == Scope.GLOBAL and rule != ScopeRule.BY_TYPE:
        return Scope.GLOBAL
    return SCOPES[rule][type_]
