"""Memories that a caller may see: access decides the rows, the state × trust table decides what counts, and when.

A query for live memories is as of now. A fact whose valid time begins later does not count yet, and the memory that it
supersedes counts until then. An event dated ahead is a plan and counts at once.

The predicates stand once, in `rules_of()`: column, comparison, value. `_to_q()` compiles them for Django, `_to_test()` for a row that
was read, `to_sql()` for the statements of both databases, and `may_hold()` for an index that has some of the columns: it lets
through all rows and perhaps more. "Not" is a comparison of its own (`!=`, `not in`), so a column that an index lacks can only let
more rows through.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sized
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from django.db.models import F, Q, QuerySet

from access.actor import Actor
from access.models import Group
from access.visibility import Narrowing, Visibility, visible_to
from memories.language.cleaning import check_moments
from memories.models import Memory
from memories.queries.expressions import HasTag
from memories.queries.known_then import states_known_at
from memories.types import HISTORY_STATES, NOT_WITHDRAWN, RELATION_SOURCE, VISIBLE_TRUSTS, State, Trust, Type
from storage.dialect import dialect


class _Test(NamedTuple):
    """One comparison. `is_fixed`: the value is the program's, and stands in SQL as it is, so that partial indexes serve.

    Columns that tables have under other names: `is_global`, `thread` (a name) and `moment` (valid from, or else stored).
    """

    column: str
    sign: str
    value: Any = None
    is_fixed: bool = False


class _AllOf(NamedTuple):
    """All of the rules; an index may have the answer to those with a name in a column of its own."""

    rules: "tuple[Rule, ...]"
    name: str = ""


class AnyOf(NamedTuple):
    """Any of the rules."""

    rules: "tuple[Rule, ...]"


Rule = _Test | _AllOf | AnyOf
_RowTest = Callable[[Memory], bool]

OUTLASTS: Final = "outlasts"
_EVENT: Final = _Test("type", "=", Type.EPISODIC.value, True)
_LIVE: Final = _Test("state", "=", State.LIVE.value, True)
_NOT_RETIRED: Final = _Test("retired_at", "absent")
_GLOBAL: Final = _Test("is_global", "=", True, True)


@lru_cache(maxsize=64)
def rules_of(v: Visibility) -> _AllOf:
    """What a memory must be to be inside the Visibility."""
    return _AllOf((*_where_rule(v).rules, *_what(v), *_when(v)))


def _where_rule(v: Visibility) -> _AllOf:
    """The predicates on group and scope."""
    return _AllOf((place_rule(v), *([_Test("scope", "=", v.scope)] if v.scope else [])))


def place_rule(v: Visibility) -> Rule:
    """The groups, and the global rows of all: predicates for every table whose rows have a group."""
    if v.groups is None:
        return _AllOf(())
    own = _Test("group_id", "in", v.groups)
    return AnyOf((own, _GLOBAL)) if v.include_global else own


def chunk_rule(v: Visibility) -> _AllOf:
    """The predicates that chunks of files have columns for: they belong to their group alone, and count while live."""
    return _AllOf((_Test("group_id", "in", v.groups or ()), _LIVE))


def _what(v: Visibility) -> Iterator[Rule]:
    states = _Test("state", "in", _states_of(v))
    yield AnyOf((states, _Test("key", "in", v.shown_then))) if v.shown_then else states
    yield _Test("trust", "in", v.trusts)
    if v.types:
        yield _Test("type", "in", v.types)
    for column, sign, value in (
        ("confidence", ">=", v.min_confidence),
        ("importance", ">=", v.min_importance),
        ("source", "=", v.source),
        ("source", "not in", v.without_sources),
        ("thread", "=", v.thread),
        ("tags", "has", v.tags),
        ("key", "not in", v.orphans),
        ("key", "not in", v.hidden_then),
        ("moment", ">=", v.after),
        ("moment", "<=", v.before),
    ):
        if value:
            yield _Test(column, sign, value)


def _when(v: Visibility) -> Iterator[Rule]:
    if v.is_history:
        yield from _history(v)
    elif is_as_of_now(v):
        yield _counting_at(v.now, v.states, tells_ahead=v.tells_ahead)


def _counting_at(moment: datetime, states: frozenset[str], *, tells_ahead: bool) -> _AllOf:
    """Whether a memory counts at that moment: it is in one of these states, or its successor begins later.

    With `tells_ahead`, a memory that begins to count later matches too.
    """
    since = _since("valid_from", moment)
    standing = _LIVE if states == {State.LIVE} else _Test("state", "in", states)
    return _AllOf(
        (
            _until("expires_at", moment),
            AnyOf(
                (
                    _EVENT,
                    _AllOf((_until("valid_to", moment), AnyOf((since, _LIVE)) if tells_ahead else since)),
                )
            ),
            AnyOf((standing, outlasting(moment))),
        )
    )


def _begun_by(moment: datetime) -> AnyOf:
    """A fact's valid time has begun; an event dated ahead is a plan, which counts at once."""
    return AnyOf((_EVENT, _since("valid_from", moment)))


def outlasting(moment: datetime) -> _AllOf:
    """A superseded fact counts until the day of its successor, which was dated ahead when it replaced the fact."""
    return _AllOf(
        (
            _Test("state", "=", State.SUPERSEDED.value, True),
            _Test("type", "!=", Type.EPISODIC.value, True),
            _NOT_RETIRED,
            _Test("valid_to", ">", moment),
            _Test("valid_to", "> column", "valid_to_known_at"),
            _Test("trust", "in", VISIBLE_TRUSTS, True),
        ),
        OUTLASTS,
    )


def _history(v: Visibility) -> Iterator[Rule]:
    """True at `as_of`, as Loci knew it at `known_at` (default: now).

    A time to live limits how long a memory is reliable, so it is compared with the requested moment.
    """
    at = v.as_of or v.known_at or v.now
    true_then: tuple[Rule, ...] = (_EVENT, _until("valid_to", at))
    believed: tuple[Rule, ...] = (_NOT_RETIRED, _Test("state", "in", NOT_WITHDRAWN))
    if v.known_at:
        true_then += (_Test("valid_to_known_at", ">", v.known_at),)  # an end not known yet did not count
        believed += (_Test("retired_at", ">", v.known_at),)
        yield _Test("created_at", "<=", v.known_at)
    yield _since("valid_from", at)
    yield AnyOf(true_then)
    yield _until("expires_at", at)
    yield AnyOf(believed)


def _until(column: str, moment: datetime) -> AnyOf:
    return AnyOf((_Test(column, "absent"), _Test(column, ">", moment)))


def _since(column: str, moment: datetime) -> AnyOf:
    return AnyOf((_Test(column, "absent"), _Test(column, "<=", moment)))


def is_as_of_now(v: Visibility) -> bool:
    """True for a query for live or dormant memories, which asks what counts at `now`."""
    return v.states <= _COUNTING and not v.is_history


def _states_of(v: Visibility) -> frozenset[str]:
    """The states that may be visible; a query as of now includes superseded memories that still count."""
    return v.states | {State.SUPERSEDED} if is_as_of_now(v) else v.states


def columns_of(rule: Rule) -> Iterator[str]:
    """The columns that a rule compares."""
    if isinstance(rule, _Test):
        yield rule.column
    else:
        for each in rule.rules:
            yield from columns_of(each)


def may_hold(rule: Rule, known: Mapping[str, Any]) -> bool:
    """False only if no row with these columns (and answers to rules with a name) fulfils the rule."""
    if isinstance(rule, _Test):
        return rule.column not in known or _COMPARED[rule.sign](known[rule.column], rule.value)
    if isinstance(rule, AnyOf):
        return any(may_hold(each, known) for each in rule.rules)
    return bool(known.get(rule.name, True)) and all(may_hold(each, known) for each in rule.rules)


_COMPARED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": lambda found, value: found == value,
    "!=": lambda found, value: found != value,
    "in": lambda found, value: found in value,
    "not in": lambda found, value: found not in value,
    "has": lambda found, value: value.issubset(found),
    "absent": lambda found, _: found is None,
    ">": lambda found, value: found is not None and found > value,
    ">=": lambda found, value: found is not None and found >= value,
    "<=": lambda found, value: found is not None and found <= value,
}
_READ: Final[dict[str, Callable[[Memory], Any]]] = {
    "is_global": lambda row: row.scope == "global",
    "thread": lambda row: row.thread.name if row.thread is not None else None,
}


def _to_test(rule: Rule) -> _RowTest:
    """The rule as a function of a row that was read; it makes no query if the thread was read too."""
    if isinstance(rule, _Test):
        return _test_of(rule)
    tests = tuple(map(_to_test, rule.rules))
    wanted = isinstance(rule, _AllOf)

    def holds(row: Memory) -> bool:
        for test in tests:
            if test(row) is not wanted:
                return not wanted
        return wanted

    return holds


def _test_of(test: _Test) -> _RowTest:
    read = _READ.get(test.column) or attrgetter(test.column)
    value, compare = test.value, _COMPARED.get(test.sign)
    if compare is None:  # with another column
        other, compare = attrgetter(value), _COMPARED[">"]
        return lambda row: (end := other(row)) is not None and compare(read(row), end)
    return lambda row: compare(read(row), value)


_LOOKUPS: Final = {"=": "", "in": "__in", ">": "__gt", ">=": "__gte", "<=": "__lte"}


def _to_q(rule: Rule) -> Q:
    """The rule as a condition on Memory."""
    if isinstance(rule, _Test):
        return _q_of(rule)
    condition = Q()
    for each in rule.rules:
        condition = condition & _to_q(each) if isinstance(rule, _AllOf) else condition | _to_q(each)
    return condition


def _q_of(test: _Test) -> Q:
    column, sign, value, _ = test
    if column == "moment":
        lookup = _LOOKUPS[sign]
        return Q(**{f"valid_from{lookup}": value}) | Q(valid_from=None, **{f"created_at{lookup}": value})
    if column == "is_global":
        return Q(scope="global")
    if sign == "absent":
        return Q(**{column: None})
    if sign == "has":
        return Q(HasTag(F(column), *sorted(value)))
    if sign == "> column":
        return Q(**{f"{column}__gt": F(value)})
    if sign in ("!=", "not in"):
        return ~_q_of(_Test(column, sign.removeprefix("not ").replace("!", ""), value))
    return Q(**{f"{'thread__name' if column == 'thread' else column}{_LOOKUPS[sign]}": value})


def to_sql(rule: Rule, table: str = "m") -> tuple[str, list[Any]]:
    """The rule as SQL over a table, `m` for memories_memory, with its parameters; empty if it allows everything."""
    if isinstance(rule, _Test):
        return _sql_of(rule, table)
    parts = [part for each in rule.rules if (part := to_sql(each, table))[0]]
    sql = (" AND " if isinstance(rule, _AllOf) else " OR ").join(part for part, _ in parts)
    return f"({sql})" if len(parts) > 1 else sql, [value for _, values in parts for value in values]


def _sql_of(test: _Test, table: str) -> tuple[str, list[Any]]:
    column, sign, value, is_fixed = test
    name = f"{table}.{column}"
    if column == "is_global":
        return (f"{table}.scope = 'global'" if table == "m" else name), []
    if column == "moment":
        name = f"COALESCE({table}.valid_from, {table}.created_at)"
    if column == "thread":
        return f"{table}.thread_id IN (SELECT key FROM memories_thread WHERE name = %s)", [value]  # noqa: S608 - constants alone
    if column == "key":
        negation = "NOT " if sign == "not in" else ""
        return f"{negation}{name} {dialect().in_list}", [dialect().list_param(sorted(value))]
    if sign == "has":
        has = dialect().has_tag.format(column=name)
        return " AND ".join([has] * len(value)), sorted(value)
    if sign == "absent":
        return f"{name} IS NULL", []
    if sign == "> column":
        return f"{name} > {table}.{value}", []
    if sign in ("in", "not in"):
        values, among = sorted(value), sign.upper()
        if is_fixed:
            return f"{name} {among} ({', '.join(repr(str(each)) for each in values)})", []
        return f"{name} {among} ({placeholders(values)})", values
    if is_fixed:
        return f"{name} {sign} '{value}'", []
    return f"{name} {sign} %s", [dialect().moment_param(value) if isinstance(value, datetime) else value]


def placeholders(values: Sized) -> str:
    """One `%s` per value; a list that has nothing is NULL, since PostgreSQL refuses an empty one."""
    return ", ".join(["%s"] * len(values)) or "NULL"


@lru_cache(maxsize=256)
def _compiled(rule: Callable[[Any], Rule], of: Hashable) -> _RowTest:
    """The test of a rule of this Visibility or moment, made once for all rows of an answer: 3 % of a recall."""
    return _to_test(rule(of))


def sees(v: Visibility) -> _RowTest:
    """Whether a row, as it was read, is inside the Visibility; no query."""
    return _compiled(rules_of, v)


def is_visible(memory: Memory, v: Visibility) -> bool:
    """True if the row, as it was read, is inside the Visibility; no query."""
    return sees(v)(memory)


def matches_scope(m: Memory, v: Visibility) -> bool:
    """True if scope and group match."""
    return _compiled(_where_rule, v)(m)


def is_outlasting(m: Memory, moment: datetime) -> bool:
    """True if the memory is superseded by one dated ahead, and counts until that day."""
    return _compiled(outlasting, moment)(m)


def has_begun(m: Memory, moment: datetime) -> bool:
    """True unless the memory is a fact whose valid time begins later; an event dated ahead is a plan."""
    return _compiled(_begun_by, moment)(m)


_COUNTING: Final = frozenset({State.LIVE, State.DORMANT})
RECALLED = frozenset(VISIBLE_TRUSTS)
EVERY_TRUST = frozenset(Trust.values)
EVERY_STATE = frozenset(State.values)


def recallable_by(actor: Actor, group: Group | None, *, narrowing: Narrowing | None = None) -> Visibility:
    """What recall may return to `actor`: live memories, and history as well for a query about the past.

    Raises:
        NotPermitted: the actor may not read in the group.
        InvalidInput: a timestamp has no time zone, or `known_at` is in the future.
    """
    narrow = _checked_narrowing(narrowing)
    is_history = narrow.as_of is not None or narrow.known_at is not None
    states = frozenset({State.LIVE}) | (HISTORY_STATES if is_history else frozenset())
    visibility = visible_to(actor, group, states=states, trusts=RECALLED, narrowing=narrow)
    return _without_orphans(actor, _as_known_then(visibility))


def _without_orphans(actor: Actor, visibility: Visibility) -> Visibility:
    """The Visibility without memories of commits missing from the actor's checkout, unless it includes them."""
    missing = actor.checkout.unreachable if actor.checkout is not None else ()
    if not missing or visibility.include_orphans:
        return visibility
    rows = Memory.objects.filter(anchor_commit__in=missing).exclude(anchor_commit="")
    return replace(visibility, orphans=frozenset(rows.values_list("key", flat=True)))


def listed_by(
    actor: Actor,
    group: Group | None,
    *,
    narrowing: Narrowing | None = None,
    states: frozenset[str] = EVERY_STATE,
    trusts: frozenset[str] = EVERY_TRUST,
) -> Visibility:
    """What inspect, lists and exports may show to `actor`: every state and trust, unless narrowed.

    Raises the same errors as recallable_by().
    """
    narrow = _checked_narrowing(narrowing)
    return _as_known_then(visible_to(actor, group, states=states, trusts=trusts, narrowing=narrow))


def _as_known_then(visibility: Visibility) -> Visibility:
    """The Visibility with the rows that were hidden, merged or restored since `known_at`, from the log."""
    if visibility.known_at is None:
        return visibility
    then = states_known_at(visibility.known_at)
    return replace(visibility, shown_then=then.shown, hidden_then=then.hidden)


def _checked_narrowing(narrowing: Narrowing | None) -> Narrowing:
    """The narrowing, with valid timestamps; every interface's time bounds pass here."""
    narrow = narrowing or Narrowing()
    check_moments(as_of=narrow.as_of, known_at=narrow.known_at, after=narrow.after, before=narrow.before)
    return narrow


def as_q(visibility: Visibility) -> Q:
    """The Visibility as a condition on Memory."""
    return _to_q(rules_of(visibility))


def outlasting_q(moment: datetime) -> Q:
    """Condition for superseded memories whose successor is dated ahead."""
    return _to_q(outlasting(moment))


def without_names(rows: QuerySet[Memory]) -> QuerySet[Memory]:
    """The rows without entities that only a relation names (Memory.is_name_alone)."""
    return rows.exclude(type=Type.ENTITY, source=RELATION_SOURCE)
