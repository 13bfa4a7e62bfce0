"""Less to write for each memory: one index finds texts, and a row without a tie is in no index of that tie."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

OF_TEXTS = models.UniqueConstraint(
    models.Func(
        models.F("fold_hash"), output_field=models.CharField(), template="SUBSTR(%(expressions)s, 1, 16)"
    ),
    models.F("group"),
    models.F("type"),
    models.F("scope"),
    models.Func(
        models.F("content_hash"), output_field=models.CharField(), template="SUBSTR(%(expressions)s, 1, 32)"
    ),
    models.Case(models.When(Q(("state", "live"), Q(("type", "episodic"), _negated=True)), then=1)),
    name="memory_texts",
)
TIES = ("thread", "superseded_by", "root", "author", "token")


# By hand: for a change of a field Django would write the whole table anew.
def drop_ties(apps, schema_editor):
    Memory = apps.get_model("memories", "Memory")
    for name in TIES:
        for index in _indexes(schema_editor, Memory, Memory._meta.get_field(name)):
            schema_editor.execute(schema_editor._delete_index_sql(Memory, index))


def make_ties(apps, schema_editor):
    Memory = apps.get_model("memories", "Memory")
    for name in TIES:
        field = Memory._meta.get_field(name)
        if not _indexes(schema_editor, Memory, field):
            schema_editor.execute(schema_editor._create_index_sql(Memory, fields=[field]))


def _indexes(schema_editor, model, field):
    """Give the names of a tie's own indexes: Django makes each of the table, the column and a hash."""
    found = schema_editor._constraint_names(model, [field.column], index=True, type_=models.Index.suffix)
    return [name for name in found if name.startswith(f"{model._meta.db_table}_{field.column}_")]


def _tie(to, on_delete, **kwargs):
    return models.ForeignKey(db_index=False, on_delete=on_delete, to=to, **kwargs)


MAYBE = {"blank": True, "null": True}
HIDDEN = {"editable": False, **MAYBE}
PROTECT, SET_NULL = django.db.models.deletion.PROTECT, django.db.models.deletion.SET_NULL
FIELDS = {
    "thread": _tie("memories.thread", PROTECT, related_name="memories", **MAYBE),
    "superseded_by": _tie("memories.memory", SET_NULL, related_name="supersedes", **HIDDEN),
    "root": _tie("memories.memory", PROTECT, related_name="versions", **HIDDEN),
    "author": _tie(settings.AUTH_USER_MODEL, SET_NULL, related_name="+", **HIDDEN),
    "token": _tie("access.apitoken", SET_NULL, related_name="+", **HIDDEN),
}


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0003_saved_filters"),
        ("memories", "0005_memory_listed"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddConstraint(model_name="memory", constraint=OF_TEXTS),
        migrations.RemoveConstraint(model_name="memory", name="memory_text_once"),
        migrations.RemoveIndex(model_name="memory", name="memory_exact"),
        migrations.RemoveIndex(model_name="memory", name="memory_fold"),
        migrations.RemoveIndex(model_name="memory", name="memory_thread_order"),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                name="memory_thread_order", fields=["thread", "position"], condition=Q(thread__isnull=False)
            ),
        ),
        *(
            migrations.AddIndex(
                model_name="memory",
                index=models.Index(
                    name=f"memory_{name}", fields=[name], condition=Q((f"{name}__isnull", False))
                ),
            )
            for name in TIES
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(drop_ties, make_ties)],
            state_operations=[
                migrations.AlterField(model_name="memory", name=name, field=field)
                for name, field in FIELDS.items()
            ],
        ),
    ]
