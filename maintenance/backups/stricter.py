"""Rights and settings that became stricter since a backup, applied to it before it takes the store's place.

The log says what changed since: its rows that the backup's log does not have. Values are compared in one direction only, so
nothing becomes wider than it was in the backup. TABLES lists the models; a new restriction needs a line there.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.audit.verify import chain_names, dropped_through
from access.groups.guarding import split_rules
from access.models import AuditEntry, AuditHead, CandidatePolicy, CaptureRule, CleanupRule, Role, ScopeRule
from guard import Family, GuardTreatment
from guard.policy import DEFAULTS, STRICTNESS, WORD, kind_of, read_pairs
from memories.lifecycle.regroup.narrow import narrow_group

Key = tuple[Any, ...]
_Strictest = Callable[[Any, Any], Any]  # the present value and the backup's → the value to restore
Change = tuple[str, str]  # the subject of a row of the log, and a field or an action that it names
PERSON: Final = ("pk", "date_joined")  # the same account, also under another name
WHY: Final = "stricter since the backup was made"


def both(now: Any, then: Any) -> Any:
    """A right that remains if both stores have it."""
    return now and then


def either(now: Any, then: Any) -> Any:
    """A restriction that holds if either store has it; of two dates the backup's."""
    return then or now


def present(now: Any, _then: Any) -> Any:
    """The present value, whatever the backup's is."""
    return now


def _last_of(order: Sequence[str]) -> _Strictest:
    """The later of the two in an order whose last is the strictest."""
    return lambda now, then: max(now, then, key=order.index)


def _least_limit(now: int, then: int) -> int:
    """The smaller limit; 0 means none."""
    return min(now, then) or max(now, then)


def _narrowest_scope(now: str, then: str) -> str:
    """The rule that keeps memories in the group; what another one means depends on the instance's."""
    return now if now == ScopeRule.GROUP else then


def strictest_guard(now: str, then: str) -> str:
    """The backup's guard rules, made as strict as the present ones for every kind of finding, with the words of both."""
    ours, our_words = read_pairs(split_rules(now))
    theirs, their_words = read_pairs(split_rules(then))
    rules = dict(theirs)
    families = {name for name in (*ours, *theirs) if name in set(Family)}
    kinds = {name for name in (*ours, *theirs, *DEFAULTS) if name not in set(Family)}
    for name in (*sorted(families), *sorted(kinds)):
        wanted = max(_treatment(ours, name), _treatment(theirs, name), key=STRICTNESS.__getitem__)
        # A group's own rule for guessed secrets also ends that a sender may vouch for one.
        is_firmer = _family(name) == Family.GUESSED and ours.get(name) == wanted and name not in rules
        if _treatment(rules, name) != wanted or is_firmer:
            rules[name] = wanted
    words = tuple(dict.fromkeys((*their_words, *our_words)))
    if rules == theirs and words == their_words:
        return then
    named = (f"{name}={treatment}" for name, treatment in rules.items())
    return ", ".join((*named, *(f"{WORD}={word}" for word in words)))


def _family(name: str) -> str:
    return name if name in set(Family) else kind_of(name).family


def _treatment(rules: Mapping[str, GuardTreatment], name: str) -> GuardTreatment:
    family = _family(name)
    return rules.get(name) or rules.get(family) or DEFAULTS.get(name) or DEFAULTS[family]


class _StrictField(NamedTuple):
    """A field, its stricter direction, the words for one and for many, and what else the log calls a change of it."""

    name: str
    strictest: _Strictest
    one: str
    many: str
    logged: tuple[str, ...] = ()
    is_undoable: bool = True  # if not, no row of the log is needed: nothing makes it wider again


@dataclass(frozen=True)
class _StrictTable:
    """A model with rows that may become stricter.

    `key` names the same row in both stores, `subject` the row in a Change, `label` the row in the log. A row that the present
    store no longer has is deleted if the log has one of the changes `gone`, or always if that is None.
    """

    model: str
    key: tuple[str, ...]
    subject: str = ""
    operation: str = ""
    label: str = ""
    fields: tuple[_StrictField, ...] = ()
    gone: tuple[str, ...] | None = ()
    gone_words: tuple[str, str] = ("", "")
    owner: str = ""  # its person: rows of people whom the present store does not know stay as they are

    def rows(self) -> QuerySet[Any]:
        """All rows of the opened store, with what their keys and labels name."""
        related = {
            name.partition("__")[0] for name in (*self.key, self.owner) if "__" in name or name == self.owner
        }
        rows: QuerySet[Any] = apps.get_model(self.model)._default_manager.select_related(*related - {""})
        return rows

    def key_of(self, row: Model) -> Key:
        return tuple(_follow(row, name) for name in self.key)


def _follow(row: Any, lookup: str) -> Any:
    for name in lookup.split("__"):
        row = getattr(row, name)
    return row


# fmt: off
TABLES: Final = (
    _StrictTable("auth.User", PERSON, "user:{0.pk}", Operation.PERSON, "user:{0.username}", (
        _StrictField("is_active", both, "person stays deactivated", "people stay deactivated"),
        _StrictField("is_superuser", both, "person stays without the superuser right", "people stay without the superuser right"),
        _StrictField("password", present, "password stays the newer one", "passwords stay the newer ones", ("password", "link")),
    )),
    _StrictTable("access.Group", ("id",), "group:{0.id}", Operation.GROUP, "group:{0.slug}", (
        _StrictField("private", either, "group stays private", "groups stay private"),
        _StrictField("archived", either, "group stays archived", "groups stay archived"),
        _StrictField("policy", _last_of(CandidatePolicy.values), "group keeps its policy", "groups keep their policies"),
        _StrictField("policy_confidence", max, "group keeps its limit of confidence", "groups keep their limits of confidence"),
        _StrictField("max_memories", _least_limit, "group keeps its limit of memories", "groups keep their limits of memories"),
        _StrictField("max_bytes", _least_limit, "group keeps its limit of bytes", "groups keep their limits of bytes"),
        _StrictField("guard", strictest_guard, "group keeps its guard rules", "groups keep their guard rules"),
        _StrictField("default_scope", _narrowest_scope, "group keeps its default scope", "groups keep their default scopes"),
        _StrictField("cleanup", _last_of([CleanupRule.DELETE, CleanupRule.SLEEP]), "group keeps its rule for clean-up", "groups keep their rules for clean-up"),
        _StrictField("captures", _last_of([CaptureRule.LIVE, CaptureRule.REVIEW]), "group keeps its rule for captures", "groups keep their rules for captures"),
    )),
    _StrictTable(
        "access.Membership", ("group__id", "user__pk", "user__date_joined"), "member:{0.group.id}:{0.user.pk}",
        Operation.MEMBER, "group:{0.group.slug}",
        (_StrictField("role", _last_of(Role.values[::-1]), "member keeps the lower role", "members keep the lower role", ("set",)),),
        gone=("remove",), gone_words=("membership stays ended", "memberships stay ended"), owner="user",
    ),
    _StrictTable("access.ApiToken", ("id",), "token:{0.id}", Operation.TOKEN, "token:{0.id}", (
        _StrictField("revoked_at", either, "token stays revoked", "tokens stay revoked", is_undoable=False),
        _StrictField("suspended_at", either, "token stays suspended", "tokens stay suspended", ("suspend",)),
    )),
    _StrictTable(
        "notifications.Webhook", ("id",), "webhook:{0.name}", Operation.NOTIFY, "webhook:{0.name}",
        (_StrictField("is_on", both, "webhook stays off", "webhooks stay off", ("off",)),),
        gone=("delete",), gone_words=("webhook stays deleted", "webhooks stay deleted"),
    ),
    # What was used, ended or exchanged for another one has no row in the log.
    _StrictTable("sessions.Session", ("session_key",), gone=None, gone_words=("session stays ended", "sessions stay ended")),
    _StrictTable("access.Pairing", ("id",), gone=None, gone_words=("pairing code stays ended", "pairing codes stay ended"), owner="user"),
    _StrictTable("oauth2_provider.Grant", ("pk", "code"), gone=None, gone_words=("OAuth code stays used", "OAuth codes stay used"), owner="user"),
    _StrictTable("oauth2_provider.AccessToken", ("pk", "token_checksum"), gone=None, gone_words=("OAuth access token stays ended", "OAuth access tokens stay ended"), owner="user"),
    _StrictTable(
        "oauth2_provider.RefreshToken", ("pk", "token_checksum"),
        fields=(_StrictField("revoked", either, "OAuth refresh token stays revoked", "OAuth refresh tokens stay revoked", is_undoable=False),),
        gone=None, gone_words=("OAuth refresh token stays ended", "OAuth refresh tokens stay ended"), owner="user",
    ),
)
# fmt: on
OPERATIONS: Final = frozenset(table.operation for table in TABLES if table.operation)
WORDS: Final = {  # by the name of what was kept
    **{f"{table.model}.{each.name}": (each.one, each.many) for table in TABLES for each in table.fields},
    **{f"{table.model}.gone": table.gone_words for table in TABLES if table.gone != ()},
}


@dataclass(frozen=True)
class PresentRights:
    """Values of the present store by model and row, and its log about them: what each row names, by the row's hash."""

    rows: Mapping[str, Mapping[Key, Mapping[str, Any]]]
    log: Mapping[str, frozenset[Change]]
    dropped: Mapping[str, int]  # the last row of each chain that retention dropped


class _Since(NamedTuple):
    """The changes that only the present store's log has; of a log that was cut off, anything may have changed."""

    changes: frozenset[Change]
    is_cut: bool

    def has(self, subject: str, *names: str) -> bool:
        return self.is_cut or any((subject, name) in self.changes for name in names)


def read_rights() -> PresentRights:
    """Read the rights and settings of the opened store, and its log about them."""
    rows = {
        table.model: {
            table.key_of(row): {each.name: getattr(row, each.name) for each in table.fields}
            for row in table.rows()
        }
        for table in TABLES
    }
    dropped = {chain: dropped_through(chain) for origin, chain in chain_names() if origin == audit.OWN}
    return PresentRights(rows, dict(_read_log()), dropped)


def _read_log() -> Iterator[tuple[str, frozenset[Change]]]:
    """What each row of the log about rights names, by its hash. People are named by their key, whatever their name was."""
    keys = dict(User.objects.values_list("username", "pk"))
    entries = AuditEntry.objects.filter(origin=audit.OWN, operation__in=OPERATIONS)
    for entry in entries.select_related("payload_row").order_by("-key").iterator():
        payload = entry.payload
        changes = payload.get("changes", {})
        if "username" in changes:  # the rows before this one have the former name
            before, after = changes["username"]
            keys.setdefault(before, keys.get(after, 0))
        subject = {
            Operation.PERSON: f"user:{keys.get(entry.subject.removeprefix('user:'))}",
            Operation.GROUP: f"group:{entry.group}",
            Operation.MEMBER: f"member:{entry.group}:{keys.get(payload.get('user', ''))}",
        }.get(Operation(entry.operation), entry.subject)
        yield entry.hash, frozenset((subject, name) for name in (*changes, payload.get("action", "")))


def keep_stricter(actor: Actor, now: PresentRights) -> tuple[dict[str, int], list[str]]:
    """Make the opened backup as strict as the present store became since, inside the caller's transaction.

    Returns the number of rows for each name of WORDS, and warnings.
    """
    since = _changes_since(now)
    kept, warnings = Counter[str](), list[str]()
    for table in TABLES:
        for row in list(table.rows()):
            values, subject = now.rows[table.model].get(table.key_of(row)), table.subject.format(row)
            if values is None:
                if is_gone(table, row, now, since):
                    kept[f"{table.model}.gone"] += 1
                    _log_kept(actor, table, row, {"action": (table.gone or ("end",))[0]})
                    row.delete()
                continue
            changes = {
                each.name: [getattr(row, each.name), strictest]
                for each in table.fields
                if (strictest := each.strictest(values[each.name], getattr(row, each.name)))
                != getattr(row, each.name)
                and (not each.is_undoable or since.has(subject, each.name, *each.logged))
            }
            if "private" in changes:
                warnings += _narrow_copy(actor, row.slug)
            if changes:
                kept.update(f"{table.model}.{name}" for name in changes)
                table.rows().filter(pk=row.pk).update(**{name: value for name, (_, value) in changes.items()})
                _log_kept(actor, table, row, {"action": "update", "changes": changes})
    if kept and not User.objects.filter(is_superuser=True, is_active=True).exists():
        warnings.append("no active superuser is left: 'loci person change NAME --superuser yes' makes one")
    return dict(kept), warnings


def _changes_since(now: PresentRights) -> _Since:
    """What the present store's log names and the opened backup's does not."""
    known = set(AuditEntry.objects.filter(operation__in=OPERATIONS).values_list("hash", flat=True))
    changes = [change for hash_, found in now.log.items() if hash_ not in known for change in found]
    ends = dict(AuditHead.objects.filter(origin=audit.OWN).values_list("chain", "seq"))
    return _Since(frozenset(changes), any(seq > ends.get(chain, 0) for chain, seq in now.dropped.items()))


def is_gone(table: _StrictTable, row: Model, now: PresentRights, since: _Since) -> bool:
    """True if the present store no longer has a row of the backup because it ended since."""
    if table.owner:
        person = _follow(row, table.owner)
        if person is None or (person.pk, person.date_joined) not in now.rows["auth.User"]:
            return False
    return table.gone is None or since.has(table.subject.format(row), *table.gone)


def _narrow_copy(actor: Actor, slug: str) -> list[str]:
    """Make the global memories of a group of the backup its own, as a private group's are; what stays global, and why."""
    staying = narrow_group(actor, slug).staying
    return [f"{each.id} of the private group '{slug}' stays global: {each.why}" for each in staying]


def _log_kept(actor: Actor, table: _StrictTable, row: Model, payload: dict[str, Any]) -> None:
    """Log what was kept of a row, so that a later restore knows of it too; never a password's hash."""
    if not table.operation:
        return
    if "changes" in payload:
        payload["changes"] = {
            name: ["…", "…"] if name == "password" else [_plain(then), _plain(value)]
            for name, (then, value) in payload["changes"].items()
        }
    if table.owner:
        payload["user"] = _follow(row, table.owner).get_username()
    group = {"access.Group": "id", "access.Membership": "group__id"}.get(table.model)
    audit.append(
        actor,
        table.operation,
        group=_follow(row, group) if group else None,
        subject=table.label.format(row),
        payload=payload | {"why": WHY},
    )


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else str(value)


def in_words(kept: Mapping[str, int]) -> list[str]:
    """What was kept, such as "2 people stay deactivated"."""
    return [f"{count} {WORDS[name][count > 1]}" for name, count in kept.items()]
