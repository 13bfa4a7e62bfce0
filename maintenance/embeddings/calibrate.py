"""Calibrate a model with the store's own texts, which need no labels."""

from access.actor import Actor, require_admin_of_all
from access.errors import Conflict
from memories.embedding.install import CalibrationReport, recalibrate
from memories.embedding.loader import ModelFolder
from memories.models import Memory
from memories.types import State

_LEAST_TEXTS, _MOST_TEXTS = 200, 400  # as many come with Loci


def calibrate_model(actor: Actor, folder: ModelFolder, *, dry_run: bool) -> CalibrationReport:
    """Make a model from the installed one by calibrating it with live memories, the same ones each time.

    Raises:
        NotPermitted: the actor does not administer all groups.
        Conflict: the store has too few texts.
        ModelInstallFailed: the model no longer tells a question's answer from other texts.
    """
    require_admin_of_all(actor, "calibrate the model")
    # By hash: texts of all times and groups.
    rows = Memory.objects.filter(state=State.LIVE).order_by("content_hash").values_list("content", flat=True)
    texts = [*dict.fromkeys(rows[:_MOST_TEXTS])]
    if len(texts) < _LEAST_TEXTS:
        raise Conflict(
            f"A calibration needs {_LEAST_TEXTS} different texts of live memories; this store has {len(texts)}.",
            hint="Until then, the texts that come with Loci are the better sample.",
        )
    return recalibrate(folder, texts, dry_run=dry_run)
