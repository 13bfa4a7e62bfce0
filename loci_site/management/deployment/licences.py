"""The packages that this Loci runs with, their versions and licences, as a table or as a CycloneDX bill of materials."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any, Final

from django.conf import settings

from loci_site import __version__
from storage.version import DISTRIBUTION

MODEL: Final = ("all-MiniLM-L6-v2", "Apache-2.0")
NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*")
LONGEST_LICENCE: Final = 60  # characters; some packages give the whole text


@dataclass(frozen=True, order=True)
class Component:
    """An installed package with its licence as its metadata names it, and the packages that it needs."""

    name: str
    version: str
    licence: str
    needs: tuple[str, ...] = ()


def installed_components() -> list[Component]:
    """Every installed package that Loci needs, directly or not, by name."""
    waiting, found = root_names(), dict[str, Component]()
    while waiting:
        name = normal(waiting.pop())
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:  # for another platform or version of Python
            continue
        needs = [need for need in map(normal, needed_names(package)) if is_installed(need)]
        found[name] = Component(name, package.version, licence_of(package), tuple(sorted(set(needs))))
        waiting += needs
    return sorted(found.values())


def root_names() -> list[str]:
    """What Loci needs itself: by the installed package's metadata, or by the lock file of a checkout."""
    try:
        return [*needed_names(distribution(DISTRIBUTION))]
    except PackageNotFoundError:
        lock = (settings.ROOT / "requirements.lock").read_text(encoding="utf-8")
        return re.findall(r"^([A-Za-z0-9][\w.-]*)(?:\[\w+\])?==", lock, re.M)


def needed_names(package: Distribution) -> Iterator[str]:
    """The names of a package's dependencies, without those of extras."""
    for need in package.requires or []:
        if "extra ==" not in need and (found := NAME.match(need)):
            yield found[0]


def is_installed(name: str) -> bool:
    """True if the package is there."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def licence_of(package: Distribution) -> str:
    """The licence by the metadata's expression, field or classifiers, else where its text is; "unknown" without any."""
    about = package.metadata
    [expression, stated] = (
        (about[name] if name in about else "").strip()  # noqa: SIM401 - it has no get()
        for name in ("License-Expression", "License")
    )
    if expression:
        return expression
    if stated and "\n" not in stated and len(stated) <= LONGEST_LICENCE:
        return stated
    classifiers = [
        line.rsplit(" :: ", 1)[-1]
        for line in about.get_all("Classifier") or []
        if line.startswith("License ::")
    ]
    files = [f"see its file {name}" for name in about.get_all("License-File") or []]
    return ", ".join(classifiers or files) or "unknown"


def normal(name: str) -> str:
    """A package's name as the index writes it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def bill_of_materials(components: list[Component]) -> dict[str, Any]:
    """The components as CycloneDX 1.6."""
    root = f"pkg:pypi/{DISTRIBUTION}@{__version__}"
    urls = {each.name: f"pkg:pypi/{each.name}@{each.version}" for each in components}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": root, "name": DISTRIBUTION, "version": __version__,
                                   "purl": root, "licenses": [{"expression": "Apache-2.0"}]}},
        "components": [
            {"type": "library", "bom-ref": urls[each.name], "name": each.name, "version": each.version,
             "purl": urls[each.name], "licenses": [{"license": {"name": each.licence}}]}
            for each in components
        ] + [{"type": "machine-learning-model", "bom-ref": MODEL[0], "name": MODEL[0],
              "licenses": [{"license": {"name": MODEL[1]}}]}],
        "dependencies": [
            {"ref": root, "dependsOn": sorted(urls[name] for name in map(normal, root_names()) if name in urls)},
            *({"ref": urls[each.name], "dependsOn": [urls[need] for need in each.needs]} for each in components),
        ],
    }  # fmt: skip
