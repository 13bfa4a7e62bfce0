"""Erasing a person: what is theirs alone is purged, what others built on stays under a pseudonym, the log keeps what its chain needs.

In short transactions, each of which leaves a whole store; the login goes last, so an erasure that was killed goes on when it is
run again.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.apps import apps
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import CASCADE, CharField, ForeignObjectRel, Model, Q, QuerySet, TextField
from django.db.models.functions import Cast

from access import audit
from access.actor import Actor
from access.answers import Answer
from access.audit.operations import Operation
from access.audit.verify import CLEARED
from access.errors import Conflict
from access.models import ApiToken, AuditEntry, AuditPayload, Group, RowChange, StoredAnswer
from access.sign_in.invitations import what_ends
from access.sign_in.sessions import delete_sessions
from access.sign_in.users import PersonChange, change_person, check_may_manage, log_about
from memories.entities.find_person import find_person
from memories.language.cleaning import first_words
from memories.language.dress.quotes import strings_in
from memories.lifecycle.purge import end_parts, purge_rows
from memories.lifecycle.purge.targets import SHOWN_WORDS, PurgeTargets, find_purge_targets
from memories.models import Checkpoint, Feedback, Link, LinkKind, Memory, RecallLog, Thread
from memories.queries.snapshot import RELATED_ROWS
from memories.recall_log import COUNTER
from memories.search.schema import begin_purge
from memories.store.places import MAX_NAMED, encodings_of
from relations.models import Relation
from sources.models import Inbox, Upload
from sources.personal.own_rows import NAMING, authored, is_author, named, names_of, own_threads
from sources.uploads.files import remove_file
from storage.bulk import batches
from storage.changes import keeping_nothing

_PURGED_AT_ONCE: Final = 50  # memories in one transaction
_ROWS_AT_ONCE: Final = 500
_REASON: Final = "erasure of a person"
_ERASE: Final = "erase"  # the action that the log has for an account's end
_JOBS: Final = "job/"  # how the names of Loci's jobs begin
# Tables whose rows about the person are deleted, not renamed: what they asked, and what they said of the answers.
_DELETED: Final[tuple[type[Model], ...]] = (RecallLog, Feedback)
# Other keys under which the log names people: members, owners of tokens, successors, and whose date a merge took.
_LOGGED: Final = frozenset({"user", "to", "valid_from_by"})
Done = Callable[[int], object]  # called with the number of memories that were looked at since the last call


@dataclass(frozen=True)
class _Destroyed(Answer):
    """What of a person's is destroyed, in rows."""

    memories: int = 0
    checkpoints: int = 0
    recalls: int = 0
    feedback: int = 0
    uploads: int = 0
    tokens: int = 0
    log_payloads: int = 0


@dataclass(frozen=True)
class Erasure(Answer):
    """What an erasure destroys, renames and leaves. `mentions`: memories whose text names the person, which are not changed.

    `samples` are first words of what is destroyed; `stays` the ids of memories that others built on; `renamed` counts rows
    by column; `log_rows` keep the login, as part of what their hashes cover; `remains` names the places that still have a
    text after the erasure.
    """

    user: str
    pseudonym: str
    destroyed: _Destroyed
    samples: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    renamed: dict[str, int] = field(default_factory=dict)
    log_rows: int = 0
    mentions: tuple[str, ...] = ()
    without_admin: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()


def pseudonym_of(user: User) -> str:
    """The login that the person gets, and the name in rows that stay."""
    return f"former-person-{user.pk}"


def _inbox_name(user: User) -> str:
    """The name that the group of the person's conversations gets."""
    return f"{pseudonym_of(user)}-conversations"


def preview_erasure(actor: Actor, user: User, *, on_done: Done) -> Erasure:
    """What erase_person() would do; writes nothing.

    Raises:
        NotPermitted: the actor may not manage users.
        Conflict: the person is erased already.
    """
    _check_may_erase(actor, user)
    going, staying, samples = set[int](), list[str](), list[str]()
    for rows, is_free in _sorted_memories(user, on_done):
        if is_free:
            going |= {row.key for row in rows}
            samples += [first_words(row.content, SHOWN_WORDS) for row in rows[: MAX_NAMED - len(samples)]]
        else:
            staying += [str(row.id) for row in rows]
    destroyed = _Destroyed(
        len(going),
        Checkpoint.objects.filter(authored(user)).count(),
        RecallLog.objects.filter(named(user, "actor")).count(),
        Feedback.objects.filter(named(user, "actor")).count(),
        Upload.objects.filter(user=user).count(),
        ApiToken.objects.filter(user=user).count(),
        len(_telling_payloads(user)),
    )
    renamed = {f"{rows.model._meta.model_name}.{column}": rows.count() for column, rows in _naming_rows(user)}
    rows_of_memories = Memory.objects.filter(named(user, "author_name")).values_list("root", "key")
    renamed["memory.author_name"] = sum((root or key) not in going for root, key in rows_of_memories)
    names = {user.get_username(), user.get_full_name(), user.email} - {""}
    found = [each for name in sorted(names) for each in find_person(actor, name).memories]
    mentions = [str(m.memory.id) for m in found if m.memory.root_key not in going and m.where != ("author",)]
    return Erasure(
        user.get_username(), pseudonym_of(user), destroyed, tuple(samples), tuple(staying),
        {name: count for name, count in renamed.items() if count}, _log_rows(user).count(),
        tuple(dict.fromkeys(mentions)),
        tuple(group.slug for group in what_ends(user).sole_admin_of),
    )  # fmt: skip


def erase_person(actor: Actor, user: User, *, on_done: Done) -> tuple[str, ...]:
    """Erase a person for good, in short transactions; the places that still have a text. Irreversible.

    1. The account is deactivated: tokens and sessions end, so nothing more is written. Recalls and feedback go.
    2. Memories and conversations that no one else built on are purged, with tombstones and rows in the log.
    3. Every other row that names them gets the pseudonym; payloads of the log that name them are destroyed.
    4. Checkpoints, uploads, tokens, settings, names and address go.

    Raises:
        NotPermitted: the actor may not manage users.
        Conflict: the person is erased already or the last active superuser, or a memory was built on just now. What is done
            stays done.
    """
    _check_may_erase(actor, user)
    if user.is_active:
        change_person(actor, user, PersonChange(is_active=False))
    begin_purge(connection)
    with suppress(DatabaseError):
        COUNTER.flush()
    with keeping_nothing():
        _delete_recalls(user)
    parts = []
    try:
        for rows, is_free in _sorted_memories(user, on_done):
            if is_free:
                threads = {row.thread_id for row in rows if row.thread_id is not None}
                check, follow = partial(_refuse_used, user), partial(_drop_threads, user, threads)
                parts.append(
                    purge_rows(actor, rows, reason=_REASON, check=check, follow=follow, is_part=True)
                )
        with keeping_nothing():
            saved = Checkpoint.objects.filter(authored(user), thread__isnull=False)
            threads = {
                *own_threads(user).values_list("pk", flat=True),
                *saved.values_list("thread", flat=True),
            }
            _drop_threads(user, threads)
            _forget_former_values(user)
            _clear_payloads(actor, user)
            for column, named_rows in _naming_rows(user):
                for some in batches(named_rows.values_list("pk", flat=True), _ROWS_AT_ONCE):
                    named_rows.filter(pk__in=some).update(**{column: pseudonym_of(user)})
            _delete_account(actor, user)
    finally:  # what was purged before it stopped leaves the backups and files too
        remains = end_parts(actor, parts)
    return remains


def _check_may_erase(actor: Actor, user: User) -> None:
    check_may_manage(actor)
    if user.get_username() == pseudonym_of(user):
        raise Conflict(f"'{user}' is erased already.")
    taken = (
        User.objects.filter(username__iexact=pseudonym_of(user)),
        Group.objects.filter(slug=_inbox_name(user)),
    )
    if any(rows.exists() for rows in taken):
        raise Conflict(
            f"The name '{pseudonym_of(user)}' is in use, which '{user}' would get: rename that one first."
        )


def _sorted_memories(user: User, on_done: Done) -> Iterator[tuple[list[Memory], bool]]:
    """The person's memories, in lists that are purged together or stay: True for those on which nothing of others rests."""
    own = Memory.objects.filter(authored(user), root=None)
    for group in own.order_by("group").values_list("group", flat=True).distinct():
        keys = own.filter(group=group).order_by("key").values_list("key", flat=True)
        for some in batches(keys, _PURGED_AT_ONCE):
            # Most that stay were corrected by others: one query finds these, a purge's targets take many.
            corrected = Memory.objects.filter(root__in=some).exclude(authored(user)).values("root")
            staying = list(Memory.objects.filter(key__in=corrected))
            yield staying, False
            yield from _split(user, sorted({*some} - {row.key for row in staying}))
            on_done(len(some))


def _split(user: User, keys: list[int]) -> Iterator[tuple[list[Memory], bool]]:
    """The memories together if nothing of others rests on any of them, else halved until it is known on which."""
    rows = list(Memory.objects.filter(key__in=keys).select_related(*RELATED_ROWS).order_by("key"))
    if not rows:  # they went with others
        return
    is_free = not _is_used(user, find_purge_targets(rows))
    if is_free or len(rows) == 1:
        yield rows, is_free
        return
    yield from _split(user, keys[: len(keys) // 2])
    yield from _split(user, keys[len(keys) // 2 :])


def _is_used(user: User, doomed: PurgeTargets) -> bool:
    """True if a purge would destroy, hide or weaken what another person wrote: a version, the same text, a relation, a proof."""
    if any(not is_author(user, row) for row in (*doomed.own, *doomed.hidden)):
        return True
    made = (*doomed.reach.doomed(), *(fact.head for fact in doomed.reach.facts)) if doomed.reach else ()
    roots = {row.root_key for row in doomed.rows}
    # The operator and an agent without a token have a name and no account; so have Loci's jobs, which repeat what is there.
    by_others = ~authored(user) & ~Q(author=None, author_name__startswith=_JOBS)
    ends = Q(subject__in=roots) | Q(object__in=roots) | Q(evidence__memory__in=roots)
    rests = Link.objects.filter(kind__in=(LinkKind.DERIVED, LinkKind.EVIDENCE), target__in=roots).values(
        "source"
    )
    built = Q(pk__in=rests) | Q(pk__in=[row.pk for row in made])
    return (
        Relation.objects.filter(ends, by_others).exists() or Memory.objects.filter(built, by_others).exists()
    )


def _refuse_used(user: User, doomed: PurgeTargets) -> None:
    """Raise Conflict if another person built on it since it was looked at."""
    if _is_used(user, doomed):
        raise Conflict(
            "Another person built on one of the memories just now.",
            hint="Run the command again: it goes on where it stopped.",
        )


def _drop_threads(user: User, keys: Any) -> None:
    """Delete the person's checkpoints in these threads, and those of the threads that are empty then."""
    for some in batches(keys, _ROWS_AT_ONCE):
        with transaction.atomic():
            Checkpoint.objects.filter(authored(user), thread__in=some).delete()
            rows = Thread.objects.filter(pk__in=some, memories=None, checkpoints=None)
            gone = list(rows.values_list("pk", flat=True))
            RowChange.objects.filter(kept=Thread._meta.db_table, row__in=gone).delete()
            Thread.objects.filter(pk__in=gone).delete()


def _forget_former_values(user: User) -> None:
    """Delete the former values of their checkpoints and the stored answers that name them; rename them in all others."""
    Checkpoint.objects.filter(authored(user)).delete()
    names, new = names_of(user), pseudonym_of(user)
    for some in batches(_rows_saying(user, StoredAnswer, "answer"), _ROWS_AT_ONCE):
        StoredAnswer.objects.filter(pk__in=some).delete()
    for some in batches(_rows_saying(user, RowChange, "vals", NAMING), _ROWS_AT_ONCE):
        with transaction.atomic():
            rows = RowChange.objects.filter(pk__in=some)
            rows.filter(kept=Checkpoint._meta.db_table).delete()
            for row in rows:
                vals = {
                    name: _renamed(names, new, pair) if name in NAMING else pair
                    for name, pair in (row.vals or {}).items()
                }
                rows.filter(pk=row.pk).update(vals=vals)


def _renamed(names: frozenset[str], new: str, value: Any) -> Any:
    """A name, or the names in a list, with the new one in place of the person's."""
    if isinstance(value, list):
        return [_renamed(names, new, part) for part in value]
    return new if value in names else value


def _rows_saying(
    user: User, model: type[Model], column: str, keys: frozenset[str] = frozenset()
) -> Iterator[int]:
    """The primary keys of the rows whose JSON names the person: a string that is a name and no more, under one of the keys.

    Without keys it may be anywhere, as may the whole name, the address and the name of the inbox.
    """
    inbox = Inbox.objects.filter(user=user).values_list("group__slug", flat=True).first() or ""
    names, texts = names_of(user), {user.get_full_name(), user.email, inbox} - {""}
    words = {form for text in {user.get_username(), *texts} for form in encodings_of(text)}
    holds = Q(*(("text__contains", word) for word in words), _connector=Q.OR)
    rows = (
        model._base_manager.annotate(text=Cast(column, TextField())).filter(holds).values_list("pk", column)
    )
    for pk, value in rows.iterator(chunk_size=_ROWS_AT_ONCE):
        found = ((path.rpartition(".")[2].partition("[")[0], said) for path, said in strings_in(value))
        if any(said in texts or (said in names and (not keys or key in keys)) for key, said in found):
            yield pk


def _telling_payloads(user: User) -> set[int]:
    """The keys of the payloads of the log that name the person, or tell of them, their tokens, threads and checkpoints.

    Not those of an erasure itself: a verification and a restore need them.
    """
    tokens = (f"token:{id_}" for id_ in ApiToken.objects.filter(user=user).values_list("id", flat=True))
    about = Q(entry__subject__in=[f"user:{user.get_username()}", *tokens])
    named_threads = Q(entry__operation__in=(Operation.THREAD, Operation.CHECKPOINT)) & named(
        user, "entry__actor"
    )
    found = AuditPayload.objects.filter(about | named_threads).values_list("pk", flat=True)
    needed = AuditPayload.objects.filter(
        entry__operation=Operation.PERSON, payload__action__in=(CLEARED, _ERASE)
    )
    saying = _rows_saying(user, AuditPayload, "payload", NAMING | _LOGGED)
    return {*found, *saying} - {*needed.values_list("pk", flat=True)}


def _clear_payloads(actor: Actor, user: User) -> None:
    """Destroy these payloads, and log which: else a verification would miss them."""
    for some in batches(_telling_payloads(user), _ROWS_AT_ONCE):
        with transaction.atomic():
            chains = dict[str, list[int]]()
            rows = AuditEntry.objects.filter(pk__in=some, origin=audit.OWN).order_by("seq")
            for chain, seq in rows.values_list("chain", "seq"):
                chains.setdefault(chain, []).append(seq)
            AuditPayload.objects.filter(pk__in=some).delete()
            payload = {"action": CLEARED, "chains": chains}
            audit.append(actor, Operation.PERSON, subject=f"user:{pseudonym_of(user)}", payload=payload)


def _log_rows(user: User) -> QuerySet[AuditEntry]:
    """The rows of the log that keep the login: what they did, and what was done to their account."""
    return AuditEntry.objects.filter(named(user, "actor") | Q(subject=f"user:{user.get_username()}"))


def _naming_rows(user: User) -> Iterator[tuple[str, QuerySet[Any]]]:
    """The columns of every table that name people, with the rows that name this one; the log's hashes cover its names."""
    for model in apps.get_models():
        for column in model._meta.local_concrete_fields:
            if (
                column.name in NAMING
                and isinstance(column, CharField)
                and model not in (AuditEntry, *_DELETED)
            ):
                yield column.name, model._base_manager.filter(named(user, column.name))


def _delete_recalls(user: User) -> None:
    """Delete their recalls and feedback, before the purges: each of these reads all recalls."""
    for model in _DELETED:
        keys = model._base_manager.filter(named(user, "actor")).values_list("pk", flat=True)
        for some in batches(keys, _ROWS_AT_ONCE):
            model._base_manager.filter(pk__in=some).delete()


def _delete_account(actor: Actor, user: User) -> None:
    """Delete the uploads, then all that belongs to the account. Its row stays, without name and access.

    A backup restored later knows by it that the account is closed.
    """
    for upload in Upload.objects.filter(user=user):
        remove_file(upload)
    name = pseudonym_of(user)
    with transaction.atomic():
        inbox = Group.objects.filter(pk__in=Inbox.objects.filter(user=user).values("group"))
        inbox.update(slug=_inbox_name(user), archived=True)
        delete_sessions(user)
        apps.get_model("oauth2_provider", "Application").objects.filter(user=user).update(user=None)
        for relation in User._meta.get_fields(include_hidden=True):
            if isinstance(relation, ForeignObjectRel) and relation.on_delete is CASCADE:
                relation.field.model._base_manager.filter(**{relation.field.name: user}).delete()
        user.username, user.first_name, user.last_name, user.email, user.last_login = name, "", "", "", None
        user.is_active = user.is_superuser = False
        user.set_unusable_password()
        user.save()
        # The change is how a restore sees that the account was closed since.
        log_about(actor, user, {"action": _ERASE, "changes": {"is_active": [True, False]}})
