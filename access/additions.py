"""What apps add to packages below them: dotted names, imported when first asked for, so that no command loads what it does not use.

An app lists them by kind in its AppConfig: `adds = {"cleanups": ("sources.uploads.delete_old_uploads",)}`.
"""

from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Any

from django.apps import apps
from django.utils.module_loading import import_string

_LOADING = RLock()


def _load(path: str) -> Any:
    """What a dotted name names. One thread at a time: jobs that import at once would meet half-loaded packages."""
    with _LOADING:
        return import_string(path)


@cache
def additions(kind: str) -> tuple[Any, ...]:
    """What the apps add of a kind, in the order of INSTALLED_APPS; of a tuple, its members."""
    added = [
        _load(path) for config in apps.get_app_configs() for path in getattr(config, "adds", {}).get(kind, ())
    ]
    return tuple(part for one in added for part in (one if isinstance(one, tuple) else (one,)))


def late(path: str, **keywords: Any) -> Callable[..., Any]:
    """A function that is imported when it is called, with these keywords besides the caller's arguments."""
    return lambda *arguments: _load(path)(*arguments, **keywords)
