"""The list of watched folders: added, paused and removed by commands on this machine and by config.toml.

Only `add_folder` and `add_from_config` take a path, and only the command and the watching process call them. Browsers name a
folder by its id.
"""

import os
from pathlib import Path
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from access import audit
from access.actor import ADMIN, READ, WRITE, Actor, Via
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, LociError, NotFound, NotPermitted
from access.groups import find_group
from access.models import Role
from sources.models import WatchedFile, WatchedFolder, WatchedSection, WatchState
from sources.sections import slug_of
from sources.watching.disk import MARKER, read_marker
from storage.home import WATCHING
from storage.ids import new_id

SOURCE: Final = "file:"  # every source of a watched folder begins so; the daily log leaves these memories out
NAME_CHARS: Final = 60
ENCRYPTED: Final = "The store is encrypted, and files next to it would not be."
ALLOW: Final = "To keep plain files next to an encrypted store, set files.beside_encryption = true."
ONLY_READ: Final = "is only read now: changed memories are not written into its files"


def add_folder(
    actor: Actor,
    path: Path,
    *,
    group: str | None,
    poll: bool = False,
    as_own: bool = False,
    from_config: bool = False,
) -> WatchedFolder:
    """Watch a folder: its notes become memories of the group. A folder already watched gets the new options.

    Raises:
        NotFound, InvalidInput: the path is not a folder, or one that is not watched.
        Conflict: it lies in a watched folder, or has one in it; or the store is encrypted.
        GroupRequired, GroupNotFound, NotPermitted: the group cannot be used, or is private.
    """
    _check_machine(actor)
    if not may_be_plain():
        raise Conflict(ENCRYPTED, hint=ALLOW, field="path")
    root = _check_path(path)
    found = find_group(actor, group, right=WRITE)
    if found.private:
        raise NotPermitted(
            f"The group '{found.slug}' is private, and no folder is watched for a private group.",
            hint="Choose another group.",
            field="group",
        )
    watched = WatchedFolder.objects.filter(path=str(root)).first()
    if watched is None:
        _refuse_overlap(root)
    elif watched.group_id != found.key:
        raise Conflict(
            f"{root} is watched for the group '{watched.group.slug}' already.",
            hint="Remove it first: its memories stay in that group.",
            field="group",
        )
    wanted = {"poll": poll, "as_own": as_own, "from_config": from_config}
    if watched is not None and all(getattr(watched, name) == value for name, value in wanted.items()):
        return watched
    with transaction.atomic():
        if watched is None:
            watched = WatchedFolder(
                name=_free_name(root), path=str(root), group=found, added_by=actor.name, marker=new_id().hex
            )
        for name, value in wanted.items():
            setattr(watched, name, value)
        if not watched.note:
            watched.note = _leave_marker(watched)
        watched.save()
        _log_change(actor, watched, "watch", **wanted)
    show_wanted()
    return watched


def _check_machine(actor: Actor) -> None:
    """Raise NotPermitted unless the caller is a command or job of this machine: clients must not name paths."""
    if actor.via not in (Via.COMMAND, Via.JOB) or not actor.all_groups:
        raise NotPermitted(
            "A folder is watched by a command on the machine.", hint="loci watch DIR", field="path"
        )


def _check_path(path: Path) -> Path:
    try:
        root = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NotFound(f"{path} cannot be watched: {reason}.", field="path") from None
    if not root.is_dir():
        raise InvalidInput(f"{root} is a file.", hint="Name its folder, or import it.", field="path")
    home = Path(settings.LOCI.home).resolve()
    rooms = rooms_folder()
    is_room = root.is_relative_to(rooms) and root != rooms
    if (root.is_relative_to(home) and not is_room) or home.is_relative_to(root) or root == Path(root.anchor):
        raise InvalidInput(
            f"{root} holds Loci's own files, or all of the machine's.",
            hint="Name a folder of notes.",
            field="path",
        )
    return root


def rooms_folder() -> Path:
    """The folder that contains the rooms."""
    return (Path(settings.LOCI.home) / settings.LOCI.files.rooms_folder).resolve()


def may_be_plain() -> bool:
    """True if texts may be in plain files: the store is not encrypted, or the settings say that they may all the same."""
    return settings.LOCI.storage.encryption == "none" or settings.LOCI.files.beside_encryption


def _refuse_overlap(root: Path) -> None:
    for other in WatchedFolder.objects.all():
        if root.is_relative_to(other.path) or Path(other.path).is_relative_to(root):
            raise Conflict(
                f"{root} overlaps with {other.path}, which is watched already.",
                hint="A file belongs to one folder.",
                field="path",
            )


def _free_name(root: Path) -> str:
    first = slug_of(root.name)[:NAME_CHARS].strip("-") or "folder"
    taken = set(WatchedFolder.objects.values_list("name", flat=True))
    number, name = 1, first
    while name in taken:
        number += 1
        name = f"{first}-{number}"
    return name


def _leave_marker(folder: WatchedFolder) -> str:
    """Write the folder's marker unless it exists; returns the warning if it cannot be written, else ""."""
    root = Path(folder.path)
    if there := read_marker(root):
        folder.marker = there
        return ""
    try:
        with os.fdopen(os.open(root / MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as out:
            out.write(folder.marker + "\n")
    except OSError:
        folder.marker = ""
        return f"{MARKER} cannot be written there, so nothing counts as gone"
    return ""


def add_from_config(actor: Actor) -> list[str]:
    """Watch the folders in files.watch and pause those no longer named there; returns what is wrong with the setting."""
    wrong, named = [], set[str]()
    for entry in settings.LOCI.files.watch:
        path, _, rest = entry.rpartition("=")
        slug = rest.removesuffix(":read").removesuffix(":sync")
        if rest.endswith(":sync"):
            wrong.append(f"files.watch: '{entry}': the folder {ONLY_READ}. Leave out ':sync'.")
        try:
            folder = add_folder(actor, Path(path), group=slug, from_config=True)
        except LociError as error:
            wrong.append(f"files.watch: '{entry}': {error}")
        else:
            named.add(folder.path)
    left = WatchedFolder.objects.filter(from_config=True, state=WatchState.ACTIVE).exclude(path__in=named)
    left.update(state=WatchState.PAUSED, note="config.toml no longer names it")
    return wrong


def list_folders(actor: Actor) -> list[WatchedFolder]:
    """The watched folders of the groups that the actor may read."""
    rows = WatchedFolder.objects.select_related("group")
    return [row for row in rows if actor.may(READ, row.group_id) and actor.may_enter(row.group_id)]


def find_folder(actor: Actor, id_: str | UUID) -> WatchedFolder:
    """The watched folder of this id; the actor needs the right to administer its group.

    Raises:
        NotFound: there is none that the actor may change.
    """
    found = next((row for row in list_folders(actor) if str(row.id) == str(id_)), None)
    if found is None or not actor.may(ADMIN, found.group_id):
        raise NotFound("No watched folder of that id, or you don't have access.", field="folder")
    return found


def find_by_path(actor: Actor, path: Path) -> WatchedFolder:
    """The watched folder with this path or name, for commands.

    Raises:
        NotFound: it is not watched.
    """
    _check_machine(actor)
    where = str(path.expanduser().absolute())
    for row in list_folders(actor):
        if row.path in (where, str(Path(where).resolve())) or row.name == str(path):
            return row
    raise NotFound(f"{path} is not watched.", hint="'loci watch' lists the folders.", field="path")


def pause_folder(actor: Actor, folder: WatchedFolder) -> None:
    """Stop reading a folder until it is resumed; its memories stay."""
    _set_state(actor, folder, WatchState.PAUSED, "pause", note=f"paused by {actor.name}")


def resume_folder(actor: Actor, folder: WatchedFolder) -> None:
    """Read a folder again after a pause, a question or a lost marker, which is written again."""
    if folder.marker and Path(folder.path).is_dir() and not read_marker(Path(folder.path)):
        _leave_marker(folder)
    _set_state(actor, folder, WatchState.ACTIVE, "resume")


def accept_gone(actor: Actor, folder: WatchedFolder) -> None:
    """Confirm that sections were deleted on purpose: their memories become unconfirmed.

    Raises:
        Conflict: the folder does not ask.
    """
    if folder.state != WatchState.ASKING:
        raise Conflict(f"'{folder.name}' does not ask about anything.", hint="Nothing was changed.")
    folder.gone_meant = True
    _set_state(actor, folder, WatchState.ACTIVE, "accept-gone")


def _set_state(
    actor: Actor, folder: WatchedFolder, state: WatchState, action: str, *, note: str = ""
) -> None:
    with transaction.atomic():
        folder.state, folder.note = state, note
        folder.save(update_fields=["state", "note", "gone_meant", "marker"])
        _log_change(actor, folder, action)
    show_wanted()


def remove_folder(actor: Actor, folder: WatchedFolder) -> None:
    """Stop watching a folder. Its memories and files stay, except the marker."""
    with transaction.atomic():
        WatchedSection.objects.filter(file__folder=folder).delete()
        WatchedFile.objects.filter(folder=folder).delete()
        _log_change(actor, folder, "unwatch")
        marker, path = folder.marker, Path(folder.path)
        folder.delete()
    if read_marker(path) == marker:
        (path / MARKER).unlink(missing_ok=True)
    show_wanted()


def _log_change(actor: Actor, folder: WatchedFolder, action: str, **details: object) -> None:
    payload = {"action": action, "path": folder.path, **details}
    subject = f"folder:{folder.name}"
    audit.append(actor, Operation.IMPORT, group=folder.group.id, subject=subject, payload=payload)


def folder_actor(folder: WatchedFolder, run: UUID | None = None) -> Actor:
    """The actor that writes a folder's texts: a contributor of its group, not a person, so that policies apply."""
    return Actor(
        name=f"{SOURCE}{folder.name}",
        via=Via.JOB,
        scopes=frozenset({READ, WRITE}),
        roles={folder.group_id: Role.CONTRIBUTOR},
        run=run,
    )


def is_something_wanted() -> bool:
    """True if a folder must be watched or a group has a room."""
    files = settings.LOCI.files
    return may_be_plain() and (
        bool(files.watch or files.rooms or files.daily_log)
        or WatchedFolder.objects.exclude(state=WatchState.PAUSED).exists()
    )


def show_wanted() -> None:
    """Create or delete the file in LOCI_HOME that tells the server to run the watching process."""
    mark = wanted_mark()
    if is_something_wanted():
        mark.touch(mode=0o600)
    else:
        mark.unlink(missing_ok=True)


def wanted_mark() -> Path:
    """The file whose presence tells the server to run the watching process."""
    return Path(settings.LOCI.home) / WATCHING


def note_scanned(folder: WatchedFolder, state: WatchState, note: str) -> None:
    """Save a folder's state after a scan, unless it was paused meanwhile."""
    folder.state, folder.note, folder.scanned_at = state, note, timezone.now()
    rows = WatchedFolder.objects.filter(pk=folder.pk).exclude(state=WatchState.PAUSED)
    rows.update(state=state, note=note, gone_meant=folder.gone_meant, scanned_at=folder.scanned_at)
