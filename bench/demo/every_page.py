"""Every page of the browser as a picture, to be looked at and marked: docs/walk.md has the marks.

`python -m bench.demo.every_page http://127.0.0.1:8000 FOLDER` takes each page whole (up to 2,600 px) at 1440 and 390 px, in
light and dark, over the store that bench.demo and bench.demo.rare fill. It prints the pages that are wider than the window, whose
text axe-core finds too pale, that write to the console or that send requests elsewhere. Names after the folder take those pages
only; `--language zh-hans --looks light` takes them as a browser that asks for Chinese, in light alone.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from bench.demo.screenshots import AWAITED, DONE, come, log_in, pages

from bench.demo.browser import Browser  # isort: skip - screenshots.py sets Django up
from django.contrib.auth.models import User

from access.models import AuditEntry, Group
from memories.models import Memory, RecallLog, Thread
from relations.models import Relation
from sources.models import Artifact, Upload, UploadState

LOOKS = ("light", "dark")
WIDTHS = {"wide": (1440, 900), "phone": (390, 844)}
TALLEST = 2600
ALSO_AWAITED = AWAITED | {"graph-many": AWAITED["graph"], "sensitive": AWAITED["review"]}
PALE = """axe.run(document, {runOnly: ['color-contrast'], resultTypes: ['violations']}).then(found => found.violations
    .flatMap(rule => rule.nodes).slice(0, 4).map(node => node.html.slice(0, 120) + ' ' + node.any[0].message.slice(0, 110)))"""


def every_page() -> dict[str, dict[str, str]]:
    """Addresses by the person who opens them and the page's name."""
    shown = pages()
    member = {name: address for name, address in shown.items() if name.startswith("app-")}
    mia, group = User.objects.get(username="mia"), Group.objects.get(slug="ledger")
    row, recall, relation = (
        AuditEntry.objects.exclude(memory_id=None).last(),
        RecallLog.objects.last(),
        Relation.objects.last(),
    )
    rare = rare_pages()
    return {
        "": {"login": "/login/", "api": "/api/docs"},
        "alice": {name: address for name, address in shown.items() if name not in member and name != "undo"}
        | {
            "sensitive": "/admin/review/?kind=sensitive",
            "trash": "/admin/memories/memory/?state__exact=forgotten",
            "relations": "/admin/relations/relation/",
            "files": "/admin/sources/artifact/",
            "imports": "/admin/sources/upload/",
            "watched": "/admin/sources/watchedfolder/",
            "attempts": "/admin/access/attempts/",
            "tombstones": "/admin/memories/tombstone/",
            "invite": "/admin/auth/user/add/",
            "invite-many": "/admin/auth/user/invite-many/",
            "person": f"/admin/auth/user/{mia.pk}/change/",
            "leave": f"/admin/auth/user/{mia.pk}/leave/",
            "group-settings": f"/admin/access/group/{group.id}/change/",
            "group-add": "/admin/access/group/add/",
            "notifications": "/admin/explore/notifications/",
            "settings": "/admin/explore/settings/",
            "edit": shown["memory"].replace("/change/?query=why+are+amounts+integers", "/edit/"),
            "merge": shown["confirm"].replace("/purge/", "/merge/"),
        }
        | {name: address for name, address in rare.items() if not name.startswith("app-")}
        | ({"log-row": f"/admin/access/auditentry/{row.name}/change/"} if row else {})
        | ({"recall": f"/admin/memories/recalllog/{recall.pk}/change/"} if recall else {})
        | ({"relation": f"/admin/relations/relation/{relation.id}/change/"} if relation else {}),
        "mia": member
        | {
            "app-account": "/app/account/",
            "app-conversations": "/app/conversations/",
            "help": "/help/",
            "help-page": "/help/how-to/review/",
            "app-missing": "/app/memories/unknown/",
        }
        | {name: address for name, address in rare.items() if name.startswith("app-")},
    }


def rare_pages() -> dict[str, str]:
    """The pages of what bench.demo.rare adds; none without it."""
    rows = {
        "artifact": Artifact.objects.order_by("-chunk_count").first(),
        "import-preview": Upload.objects.filter(state=UploadState.CHECKED, fault_count=0).first(),
        "import-nothing": Upload.objects.filter(state=UploadState.CHECKED, fault_count__gt=0).first(),
        "import-skipped": Upload.objects.filter(state=UploadState.DONE, fault_count__gt=0).first(),
        "import-undone": Upload.objects.filter(state=UploadState.UNDONE).first(),
        "app-conversation": Thread.objects.exclude(platform="").first(),
        "long": Memory.objects.filter(content__startswith="1. The ledger closes").first(),
        "wide-words": Memory.objects.filter(content__startswith="The job Donau").first(),
        "right-to-left": Memory.objects.filter(content__startswith="خدمة").first(),
    }
    addresses = {
        "artifact": "/admin/sources/artifact/{}/change/",
        "app-conversation": "/app/conversations/{}/",
    } | dict.fromkeys(("long", "wide-words", "right-to-left"), "/admin/memories/memory/{}/change/")
    found = {
        name: addresses.get(name, "/admin/sources/upload/{}/change/").format(row.id)
        for name, row in rows.items()
        if row is not None
    }
    shown = {f"app-{name}": found[name].replace("/admin/memories/memory/", "/app/memories/").replace("change/", "")
             for name in ("long", "wide-words", "right-to-left") if name in found}  # fmt: skip
    return (
        found
        | shown
        | {"graph-many": "/admin/explore/graph/?group=atlas&limit=300", "account": "/app/account/"}
    )


def take(browser: Browser, address: str, name: str, folder: Path, *, looks: Iterable[str] = LOOKS) -> None:
    """Save one page in both widths and the looks; print what is wrong with it."""
    for size, (width, height) in WIDTHS.items():
        for look in looks:
            browser.said.clear()
            browser.open(address, width=width, height=height, dark=look == "dark")
            if name in DONE:
                browser.run(f"{{ {DONE[name]} }}")
            if name in ALSO_AWAITED:
                browser.run(come(ALSO_AWAITED[name]))
            faults = list(browser.said)
            if (wide := browser.run("document.documentElement.scrollWidth")) > width:
                faults.append(f"{wide} pixels wide")
            browser.run(axe_source())
            faults += [f"pale: {each}" for each in browser.run(PALE) or ()]
            tall = browser.run("document.documentElement.scrollHeight")
            title = browser.run("document.title")
            browser.picture(
                folder / f"{name}-{size}-{look}.png", width=width, height=min(TALLEST, max(height, tall))
            )
            print(
                json.dumps(
                    {
                        "page": name,
                        "size": size,
                        "look": look,
                        "title": title,
                        "tall": tall,
                        "faults": faults,
                    },
                    ensure_ascii=False,
                )
            )


def axe_source() -> str:
    """axe-core's script, from the package that the tests use; as its own statement."""
    source = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    return f"window.axe || (() => {{ {source} }})()"


def main(
    server: str, folder: Path, names: list[str], *, looks: Iterable[str] = LOOKS, language: str = ""
) -> int:
    """Save the pictures; return 1 if a page asked for something elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        if language:
            browser.send("Network.setExtraHTTPHeaders", headers={"Accept-Language": language})
        for who, shown in every_page().items():
            wanted = {name: address for name, address in shown.items() if not names or name in names}
            if who and wanted:
                log_in(browser, server, who)
            for name, address in wanted.items():
                take(browser, server + address, name, folder, looks=looks)
        foreign = sorted({url for url in browser.asked if not url.startswith((server, "data:", "about:"))})
    print("asked elsewhere:", foreign or "nothing")
    return 1 if foreign else 0


def from_the_command_line() -> int:
    """Read the arguments and save the pictures."""
    parser = argparse.ArgumentParser(prog="python -m bench.demo.every_page")
    parser.add_argument("server")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--looks", nargs="+", choices=LOOKS, default=LOOKS)
    parser.add_argument(
        "--language", default="", help="what the browser asks for: de, zh-hans; English by default"
    )
    given = parser.parse_args()
    server = given.server.rstrip("/")
    return main(server, given.folder, given.names, looks=given.looks, language=given.language)


if __name__ == "__main__":
    sys.exit(from_the_command_line())
