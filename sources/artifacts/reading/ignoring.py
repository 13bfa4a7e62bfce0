"""Files that are never read: a built-in list, then each folder's .gitignore and .lociignore, with git's rules."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

_IGNORE_FILES: Final = (".gitignore", ".lociignore")  # the second can take back what the first ignores
_BUILT_IN: Final = Path(__file__).parent / "data" / "ignored.txt"
_MAX_RULES_BYTES: Final = 256 * 1024


@dataclass(frozen=True)
class IgnoreRules:
    """The rules for a folder: those of its parents first, each with its depth in path components."""

    layers: tuple[tuple[int, GitIgnoreSpec], ...] = ()

    def within(self, folder: Path, depth: int) -> "IgnoreRules":
        """The rules of a folder `depth` components below the root, with its own ignore files."""
        lines = [line for name in _IGNORE_FILES for line in _read_rules(folder / name)]
        return IgnoreRules((*self.layers, (depth, GitIgnoreSpec.from_lines(lines)))) if lines else self

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """True if the path is ignored. The innermost matching rule decides, except for secrets."""
        name = f"{path}/" if is_folder else path
        if built_in().match_file(name):
            return True
        parts = name.split("/")
        for depth, spec in reversed(self.layers):
            found = spec.check_file("/".join(parts[depth:]))
            if found.include is not None:
                return found.include
        return False


@cache
def built_in() -> GitIgnoreSpec:
    """The built-in list."""
    return GitIgnoreSpec.from_lines(_BUILT_IN.read_text(encoding="utf-8").splitlines())


def _read_rules(path: Path) -> Iterator[str]:
    if path.is_symlink() or not path.is_file():
        return
    with path.open("rb") as stream:
        yield from stream.read(_MAX_RULES_BYTES).decode("utf-8", "replace").splitlines()
