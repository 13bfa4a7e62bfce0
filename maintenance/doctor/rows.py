"""Checks of the rows: against one another, and against the data derived from them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from django.conf import settings
from django.db import IntegrityError, connection
from django.db.models import Count, F, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from access.audit import chain_labels
from access.audit.verify import verify_log
from access.models import AuditEntry
from maintenance.doctor.report import REPAIR, Finding, first_of, notice, ok, stale_or_ok, wrong
from maintenance.embeddings.backfill import owed_pieces
from memories.draft import describe_kept_rule, instance_rule
from memories.embedding import configured_model, configured_model_id
from memories.language.languages import language_name, language_of
from memories.models import Link, Memory, Piece
from memories.queries.versions import IN_TWO_GROUPS
from memories.search.base import search_index
from memories.store.pieces import indexed_model, read_index_state
from memories.store.threads import context_of, stale_rows
from memories.store.withdrawn.tombstones import missing_keys
from memories.types import WITHDRAWN_TRUSTS, State, Trust
from relations.models import EntityAlias, Relation, RelationEvidence
from storage.dialect import dialect

_CLOCK_SKEW_S = 300  # tolerated between two machines, or after the clock was set
CHUNK_ROWS = 1000
_READ_TEXTS = 500  # for their language, the newest
_NAMED_SHARE = 0.05  # fewer are quotations, and mistakes about short texts


def check_integrity() -> Finding:
    """All foreign keys point to existing rows, and the database finds no fault in its indexes."""
    try:
        connection.check_constraints()
    except IntegrityError as broken:
        return wrong(
            "integrity",
            gettext("a row refers to a missing row: {error}").format(error=broken),
            gettext("restore a backup: 'loci restore'"),
        )
    if broken_indexes := dialect().index_faults():
        return wrong("integrity", first_of(broken_indexes), gettext("run REINDEX on them in the database"))
    return ok("integrity", gettext("all foreign keys are valid"))


def check_index_objects() -> Finding:
    """The search's virtual tables, views and triggers exist."""
    missing = search_index().missing_objects()
    if missing:
        return wrong("indexes", gettext("{names} missing").format(names=first_of(missing)), gettext(REPAIR))
    return ok("indexes", gettext("all tables and triggers exist"))


def check_indexes() -> Finding:
    """The search indexes agree with the memories."""
    faults = search_index().find_errors()
    if faults:
        return wrong("indexes", gettext("; ").join(faults), gettext(REPAIR))
    return ok("indexes", gettext("keywords and vectors agree with the memories"))


def check_index_model() -> Finding:
    """The indexed vectors come from the model that embeds queries."""
    indexed, installed = indexed_model(), configured_model_id()
    if indexed in ("", installed):
        return ok("index model", indexed or gettext("no vectors yet"))
    return wrong(
        "index model",
        gettext(
            "the index holds vectors of {indexed}, but queries are embedded by {installed}: recall uses keywords only"
        ).format(indexed=indexed, installed=installed),
        gettext("run 'loci model reembed'"),
    )


def check_languages() -> Finding:
    """The model reads the languages of the newest memories."""
    texts = list(Memory.objects.order_by("-key").values_list("content", flat=True)[:_READ_TEXTS])
    if (model := configured_model()) is None or not texts:
        return ok("languages", gettext("nothing to compare"))
    found = Counter(map(language_of, texts))
    unread = {
        language: count
        for language, count in found.most_common()
        if not model.reads(language) and count >= _NAMED_SHARE * len(texts)
    }
    if not unread:
        return ok("languages", gettext("the model reads those of the newest memories"))
    shares = [
        f"{100 * count / len(texts):.0f} % {language_name(language)}" for language, count in unread.items()
    ]
    return notice(
        "languages",
        gettext(
            "the newest memories are {shares}, which {model} does not read well: many questions in it find no answer"
        ).format(shares=gettext(", ").join(shares), model=model.name),
        gettext("run 'loci model add e5-small', then 'loci model use e5-small'"),
    )


def check_default_scope() -> Finding:
    """The rule for memories whose author names no scope, and where it comes from."""
    stored = read_index_state()
    if kept := describe_kept_rule(stored):
        return notice("default scope", kept)
    source = "access.default_scope" if settings.LOCI.access.default_scope else gettext("the default")
    return ok("default scope", f"{instance_rule(stored)}{gettext(' ({text})').format(text=source)}")


def check_chains() -> Finding:
    """Every version leads to one head and one root."""
    faults = list(faulty_chains())
    if faults:
        return wrong(
            "chains",
            gettext("{count} versions do not fit their chain: {faults}").format(
                count=len(faults), faults=first_of(faults)
            ),
            gettext(
                "inspect each with 'loci memory inspect' and 'loci audit show --memory'; if in doubt, restore a backup"
            ),
        )
    return ok("chains", gettext("every version leads to one head and one root"))


def faulty_chains() -> Iterator[str]:
    """Versions that supersede themselves in a circle, whose root is not the first of the chain, or whose root or successor
    is in another group; each with the reason.
    """
    rows = Memory.objects.order_by("key").only("id")
    successors = dict(rows.filter(superseded_by__isnull=False).values_list("key", "superseded_by"))
    for why, faulty in (
        (gettext("leads back to itself"), rows.filter(key__in=keys_in_cycles(successors))),
        (gettext("names itself as its root"), rows.filter(root=F("key"))),
        (
            gettext("has a root that has a root itself"),
            rows.filter(root__root__isnull=False).exclude(root=F("key")),
        ),
        (gettext("is in another group than its chain"), rows.filter(IN_TWO_GROUPS)),
    ):
        yield from (f"{memory.id} {why}" for memory in faulty)


def keys_in_cycles(successors: Mapping[int, int | None]) -> list[int]:
    """Sorted keys that lie on a cycle of successors."""
    found: list[int] = []
    done: set[int] = set()
    for start in successors:
        path: list[int] = []
        on_path: set[int] = set()
        key: int | None = start
        while key is not None and key not in done and key not in on_path:
            path.append(key)
            on_path.add(key)
            key = successors.get(key)
        if key in on_path:
            found += path[path.index(key) :]
        done |= on_path
    return sorted(found)


def check_orphans() -> Finding:
    """Links, relations and names point to chain roots; compacted events have a summary, merged memories a successor."""
    attached = {
        gettext("{count} links point to a version that is not a root"): Link.objects.filter(
            Q(source__root__isnull=False) | Q(target__root__isnull=False)
        ),
        gettext("{count} relations point to a version that is not a root"): Relation.objects.filter(
            Q(subject__root__isnull=False) | Q(object__root__isnull=False), retired_at=None
        ),
        gettext(
            "{count} pieces of evidence point to a version that is not a root"
        ): RelationEvidence.objects.filter(memory__root__isnull=False),
        gettext("{count} names point to a version that is not a root"): EntityAlias.objects.filter(
            memory__root__isnull=False
        ),
    }
    counts = {text: rows.count() for text, rows in attached.items()}
    behind = Memory.objects.filter(summary__isnull=False)
    counts[gettext("{count} compacted events have a summary that does not stand")] = behind.exclude(
        summary__state=State.LIVE
    ).count()
    counts[gettext("{count} merged memories have no successor")] = Memory.objects.filter(
        state=State.MERGED, superseded_by=None
    ).count()
    found = [text.format(count=count) for text, count in counts.items() if count]
    if found:
        advice = gettext("see 'loci audit show'; 'loci runs undo' or restoring the memories repairs it")
        return wrong("orphans", gettext("; ").join(found), advice)
    return ok("orphans", gettext("no orphans"))


def check_contexts() -> Finding:
    """The context of each live memory is up to date."""
    problem, fine = gettext("{count} contexts are out of date"), gettext("all contexts are up to date")
    return stale_or_ok("contexts", stale_contexts(), problem=problem, fine=fine)


def stale_contexts() -> Iterator[Memory]:
    """Live memories with an outdated context. Two passes, one of them thread by thread; no query per memory.

    What is quarantined gets its context when it is released.
    """
    rows = Memory.objects.defer("filter").order_by("key")
    alone = rows.filter(Q(thread=None) | Q(position=None), state=State.LIVE)
    for memory in alone.iterator(chunk_size=CHUNK_ROWS):
        if context_of(memory, []) != memory.context:
            yield memory
    placed = rows.filter(thread__isnull=False, position__isnull=False).order_by("thread", "position", "key")
    for _, line in groupby(placed.iterator(chunk_size=CHUNK_ROWS), key=lambda memory: memory.thread_id):
        stale = (memory for memory in stale_rows(list(line)) if memory.state == State.LIVE)
        yield from (memory for memory in stale if memory.trust != Trust.QUARANTINED)


def check_pieces() -> Finding:
    """Every memory has its pieces, and every piece its vector."""
    lacking = without_pieces().count()
    if lacking:
        return wrong(
            "vectors", gettext("{count} memories have no piece").format(count=lacking), gettext(REPAIR)
        )
    broken = Piece.objects.filter(Q(end__lte=F("start")) | Q(embedding__isnull=False, model="")).count()
    if broken:
        detail = gettext("{count} pieces have an empty range or no model").format(count=broken)
        return wrong("vectors", detail, gettext("run 'loci model reembed'"))
    owed = owed_pieces().values("memory_id").distinct().count()
    if owed:
        detail = gettext("{count} memories have no vector yet").format(count=owed)
        return notice("vectors", detail, gettext("the worker adds them: 'loci up'"))
    return ok("vectors", gettext("none is missing"))


def without_pieces() -> QuerySet[Memory]:
    """Memories without a piece."""
    return Memory.objects.filter(pieces=None)


def check_tombstones() -> Finding:
    """The key of each tombstone is available."""
    if missing := missing_keys():
        return wrong(
            "tombstones",
            gettext("key missing: {count} tombstones recognise nothing without the key {keys}").format(
                count=sum(missing.values()), keys=gettext(", ").join(missing)
            ),
            gettext("copy the files in keys/ of the LOCI_HOME they come from into keys/ here"),
        )
    return ok("tombstones", gettext("all keys are available"))


def check_audit() -> Finding:
    """Every chain of the audit log is unbroken."""
    reports, labels = verify_log(), chain_labels()
    broken = [
        gettext("chain {chain} at row {row}: {why}").format(
            chain=r.origin or labels.get(r.chain, r.chain), row=r.broken_at, why=r.why
        )
        for r in reports
        if not r.is_whole
    ]
    if broken:
        return wrong(
            "audit",
            first_of(broken),
            gettext(
                "rows were changed outside Loci: keep the database and compare it with a backup;"
                " 'loci audit verify' repeats this check"
            ),
        )
    rows = sum(report.rows for report in reports)
    return ok("audit", gettext("{count} rows, every chain is unbroken").format(count=rows))


def check_clock() -> Finding:
    """No row is dated in the future."""
    now = timezone.now()
    newest = {
        gettext("a log row is dated {time} UTC"): AuditEntry.objects.aggregate(at=Max("at"))["at"],
        gettext("a memory is dated {time} UTC"): Memory.objects.aggregate(at=Max("created_at"))["at"],
    }
    ahead = [
        text.format(time=f"{at:%Y-%m-%d %H:%M}")
        for text, at in newest.items()
        if at is not None and (at - now).total_seconds() > _CLOCK_SKEW_S
    ]
    if ahead:
        return wrong(
            "clock",
            gettext("this machine's time is {time} UTC, but {ahead}").format(
                time=f"{now:%Y-%m-%d %H:%M}", ahead=gettext(", ").join(ahead)
            ),
            gettext(
                "set this machine's clock; if it was ahead earlier, decay and expiry wait until that date"
            ),
        )
    return ok("clock", gettext("no row is dated in the future"))


def check_heads() -> Finding:
    """No chain has more than one live version, but for a plan that a person rejected: what it was to replace counts."""
    live = Memory.objects.filter(state=State.LIVE).exclude(trust__in=WITHDRAWN_TRUSTS)
    later = live.filter(root__isnull=False)
    many = later.values("root").annotate(count=Count("pk")).filter(count__gt=1)
    doubled = {
        int(root or 0)
        for rows in (many, later.filter(root__in=live))
        for root in rows.values_list("root", flat=True)
    }
    if doubled:
        named = [str(id_) for id_ in Memory.objects.filter(key__in=doubled).values_list("id", flat=True)]
        return wrong(
            "heads",
            gettext("{count} chains have several live versions: {ids}").format(
                count=len(named), ids=first_of(named)
            ),
            gettext("forget or retract all but one of each: 'loci memory inspect ID' lists the versions"),
        )
    return ok("heads", gettext("every chain has one live version at most"))
