"""The operations of the audit log, all in one place."""

from typing import Final

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy


class Operation(TextChoices):
    """The operation of a row of the audit log."""

    STORE = "store", gettext_lazy("store: a new memory was written")
    REINFORCE = "reinforce", gettext_lazy("reinforce: a restatement confirmed a memory")
    REFUSE = "refuse", gettext_lazy("refuse: a write was refused")
    SUPERSEDE = "supersede", gettext_lazy("supersede: a newer memory replaced it")
    EDIT = "edit", gettext_lazy("edit: a new version was written")
    RETRACT = "retract", gettext_lazy("retract: withdrawn as wrong")
    FORGET = "forget", gettext_lazy("forget: hidden")
    RESTORE = "restore", gettext_lazy("restore: brought back")
    DISPUTE = "dispute", gettext_lazy("dispute: marked as disputed")
    VERIFY = "verify", gettext_lazy("verify: confirmed by a person")
    TRUST = "trust", gettext_lazy("trust: the trust was changed")
    PIN = "pin", gettext_lazy("pin: protected from decay and cleanup")
    UNPIN = "unpin", gettext_lazy("unpin: the pin was removed")
    MERGE = "merge", gettext_lazy("merge: two became one")
    LINK = "link", gettext_lazy("link: two memories were linked")
    NARROW = "narrow", gettext_lazy("narrow: a global memory became its group's own, or global again")
    MOVE = "move", gettext_lazy("move: moved to another group, alone or with its conversation")
    THREAD = "thread", gettext_lazy("thread: a conversation was moved, tagged, deleted or brought back")
    PURGE = "purge", gettext_lazy("purge: destroyed")
    CLEAR = "clear", gettext_lazy("clear: what a moved memory left in its former group was destroyed")
    LIFT = "lift", gettext_lazy("lift: a tombstone was lifted")
    PROPOSE = "propose", gettext_lazy("propose: a change was proposed, or a proposal was decided")
    RELATE = "relate", gettext_lazy("relate: a relation was stored")
    CHECKPOINT = "checkpoint", gettext_lazy("checkpoint: a thread's state was saved")
    GUARD = "guard", gettext_lazy("guard: sensitive text was looked for, or kept")
    IMPORT = "import", gettext_lazy("import: memories were imported from a file")
    INGEST = "ingest", gettext_lazy("ingest: files were read as evidence, or taken away")
    EXPORT = "export", gettext_lazy("export: memories were exported to a file")
    GROUP = "group", gettext_lazy("group: a group was created or changed")
    MEMBER = "member", gettext_lazy("member: a membership changed")
    TOKEN = "token", gettext_lazy("token: a token was created or revoked")
    PERSON = "person", gettext_lazy("person: a user was made or changed")
    LOGIN = "login", gettext_lazy("login: a person logged in or was locked out, or a lock-out was lifted")
    FILTER = "filter", gettext_lazy("filter: a person saved or deleted a filter of a list")
    NOTIFY = "notify", gettext_lazy("notify: notifications were chosen, or a webhook was set or tested")
    RUN = "run", gettext_lazy("run: maintenance ran or was undone")
    DECAY = "decay", gettext_lazy("decay: memories of a group lost confidence")
    COMPACT = "compact", gettext_lazy("compact: events went behind summaries")
    PROMOTE = "promote", gettext_lazy("promote: repeated events became facts")
    EXPIRE = "expire", gettext_lazy("expire: memories reached their end date")
    CLEANUP = "cleanup", gettext_lazy("cleanup: unused memories went to sleep, or used ones woke")
    FINDINGS = "findings", gettext_lazy("findings: possible duplicates and conflicts were linked")
    SUMMARISE = "summarise", gettext_lazy("summarise: conversations got summaries")
    SCHEDULE = "schedule", gettext_lazy("schedule: a job was paused, resumed or requested")
    BACKUP = "backup", gettext_lazy("backup: a backup was made, or the store was restored from one")
    ANCHOR = "anchor", gettext_lazy("anchor: older log rows were dropped by retention")
    HEADS = "heads", gettext_lazy("heads: the ends of the chains of the log were linked")


# The steps of a run: one row for all that a step did in a group. New steps come last: the place numbers their changes.
BATCHES: Final = {
    "decay": Operation.DECAY,
    "compact": Operation.COMPACT,
    "promote": Operation.PROMOTE,
    "expire": Operation.EXPIRE,
    "cleanup": Operation.CLEANUP,
    "findings": Operation.FINDINGS,
    "conversations": Operation.SUMMARISE,
}
