"""Doubt beside trust: rows that said `disputed` get their trust back, and an open doubt with what the log knows of it."""

import django.db.models.deletion
import django.utils.timezone
from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import storage.ids

TRUSTS = [
    ("candidate", "candidate: waits for review"),
    ("active", "active: in use"),
    ("verified", "verified: a person confirmed it"),
    ("rejected", "rejected: declined in review"),
    ("quarantined", "quarantined: held back as unsafe"),
]


def raise_doubts(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Turn each `disputed` row into one of its former trust, active if the log does not tell; a live one is doubted."""
    memory, doubt = apps.get_model("memories", "Memory"), apps.get_model("memories", "Doubt")
    entries, tokens = apps.get_model("access", "AuditEntry"), apps.get_model("access", "ApiToken")
    for row in memory.objects.filter(trust="disputed").order_by("key").only("key", "id", "root", "state"):
        log = entries.objects.filter(origin="", memory_id=row.id, operation__in=["dispute", "trust"])
        said, before = None, ""
        for entry in log.select_related("payload_row").order_by("-key"):
            payload = entry.payload_row.payload if hasattr(entry, "payload_row") else {}
            old, new = payload.get("changes", {}).get("trust", ["", ""])
            if new == "disputed":
                said, before = (entry, payload), old
                break
        memory.objects.filter(pk=row.pk).update(trust="verified" if before == "verified" else "active")
        if row.state != "live":
            continue
        known = {"author_name": "unknown"}
        if said is not None:
            entry, payload = said
            token = tokens.objects.filter(id=entry.token).first() if entry.token else None
            known = {
                "author_name": entry.actor, "token": entry.token, "reason": str(payload.get("reason", "")), "at": entry.at,
                "author_id": token.user_id if token is not None else None,
            }  # fmt: skip
        doubt.objects.create(memory_id=row.root_id or row.key, **known)
    # PostgreSQL alters no table with foreign keys that are still to be checked.
    schema_editor.connection.check_constraints()


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("access", "0001_release_0_3_0"),
        ("memories", "0001_release_0_3_0"),
    ]

    operations = [
        migrations.CreateModel(
            name="Doubt",
            fields=[
                ("key", models.BigAutoField(primary_key=True, serialize=False)),
                ("id", models.UUIDField(default=storage.ids.new_id, editable=False, unique=True)),
                ("author_name", models.CharField(default="", max_length=300)),
                ("token", models.UUIDField(null=True)),
                ("reason", models.TextField(blank=True, default="")),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "open: a curator has to decide"),
                            ("settled", "settled: decided, or taken back"),
                        ],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("settled_by", models.CharField(blank=True, default="", max_length=300)),
                ("settled_at", models.DateTimeField(null=True)),
                ("how", models.CharField(blank=True, default="", max_length=20)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="doubts",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("status", "open")), fields=["memory"], name="doubt_open")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["open", "settled"])), name="doubt_status_known"
                    )
                ],
            },
        ),
        migrations.RunPython(raise_doubts, migrations.RunPython.noop),
        migrations.RemoveConstraint("memory", "memory_trust_known"),
        migrations.AlterField(
            "memory", "trust", models.CharField(choices=TRUSTS, default="active", max_length=11)
        ),
        migrations.AddConstraint(
            "memory",
            models.CheckConstraint(
                condition=models.Q(("trust__in", [name for name, _ in TRUSTS])), name="memory_trust_known"
            ),
        ),
    ]
