"""Memories that a watched folder keeps in step stay in its group: the folder writes there alone."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext

from access.models import Group
from memories.lifecycle.regroup.plan import MovingFamily
from sources.models import WatchedSection
from storage.bulk import batches


def why_watched_stay(families: Sequence[MovingFamily], target: Group) -> Mapping[int, str]:
    """Why the families with a section of a watched file stay, by the key of their current memory."""
    owner = {row.pk: family.head.pk for family in families for row in family.rows}
    why: dict[int, str] = {}
    for some in batches(owner):
        for section in WatchedSection.objects.filter(memory__in=some).select_related("file"):
            path = section.file.path
            why[owner[section.memory_id or 0]] = gettext(
                "it is kept in step with the file {path}: move its text there"
            ).format(path=path)
    return why
