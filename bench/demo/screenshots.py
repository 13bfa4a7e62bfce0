"""Pictures of the admin for the docs, from a running server over the store that bench.demo fills.

`python -m bench.demo.screenshots http://127.0.0.1:8000 docs/images` logs in as alice and as mia and saves the pictures of the
docs; names after it (`runs-phone-dark`) save those, `all` saves every page in both sizes, light and dark.
"""

import os
import sys
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from access.models import ApiToken  # noqa: E402 - models need django.setup()
from bench.demo.browser import Browser  # noqa: E402
from bench.demo.words import PASSWORD  # noqa: E402
from maintenance.models import Run  # noqa: E402
from memories.models import Link, Memory  # noqa: E402
from memories.queries.labels import is_doubted  # noqa: E402

SIZES = {"wide": (1280, 860), "phone": (390, 844)}
IN_DOCS = (
    "dashboard-wide-light", "dashboard-phone-dark", "palette-wide-light", "memories-wide-light", "memories-phone-light",
    "search-wide-dark", "memory-wide-light", "memory-phone-dark", "entity-wide-light", "add-wide-light", "confirm-wide-light",
    "import-wide-light", "review-wide-light", "review-wide-dark", "review-phone-light", "links-wide-light", "link-wide-light",
    "playground-wide-light", "graph-wide-dark", "timeline-wide-light", "explore-groups-wide-light", "explore-group-wide-light",
    "group-wide-light", "tokens-wide-light", "token-add-wide-light", "people-wide-light", "log-wide-light",
    "recalls-wide-light", "runs-wide-light", "run-wide-light", "run-preview-wide-dark", "undo-wide-light",
    "schedule-wide-light", "backups-wide-light", "doctor-wide-light", "refused-wide-light",
    "app-search-wide-light", "app-search-wide-dark", "app-search-phone-light", "app-nothing-wide-light",
    "app-memory-wide-light", "app-memory-phone-dark", "app-new-wide-light", "app-correct-wide-light", "app-flag-wide-light",
    "app-mine-wide-light", "login-wide-light",
)  # fmt: skip
# The workspace is shown as the contributor sees them.
OF_MEMBERS = "app-"


def pages() -> dict[str, str]:
    """The pages by picture name."""
    memory = Memory.objects.filter(pinned=True, state="live").order_by("-key").first()
    link, token = Link.objects.filter(kind="conflict").first(), ApiToken.objects.first()
    run, doubted = Run.objects.first(), Memory.objects.filter(is_doubted(), state="live").first()
    thing = Memory.objects.filter(type="entity", content="Ledger", state="live").first()
    if memory is None or link is None or token is None or run is None or doubted is None:
        raise SystemExit("The store is empty: run `python -m bench.demo` first.")
    at = f"/admin/memories/memory/{memory.id}"
    return {
        "dashboard": "/admin/",
        "palette": "/admin/",
        "memories": "/admin/memories/memory/?group=ledger&state__exact=live&type__exact=semantic",
        "search": "/admin/memories/memory/?q=deploy+port",
        "nothing": "/admin/memories/memory/?q=walrus",
        "memory": f"{at}/change/?query=why+are+amounts+integers",
        "confirm": f"{at}/purge/",
        "add": "/admin/memories/memory/add/",
        "link": f"/admin/memories/link/{link.id}/change/",
        "links": "/admin/memories/link/?status__exact=open",
        "group": "/admin/access/group/?o=1",
        "people": "/admin/auth/user/",
        "import": "/admin/sources/upload/add/",
        "tokens": "/admin/access/apitoken/",
        "token-add": "/admin/access/apitoken/add/",
        "log": "/admin/access/auditentry/",
        "recalls": "/admin/memories/recalllog/",
        "runs": "/admin/maintenance/run/",
        "run": f"/admin/maintenance/run/{run.id}/change/",
        "run-preview": "/admin/maintenance/run/begin/",
        "undo": f"/admin/maintenance/run/{run.id}/change/",
        "schedule": "/admin/maintenance/joblock/",
        "backups": "/admin/maintenance/joblock/backups/",
        "doctor": "/admin/maintenance/joblock/doctor/",
        "app-search": "/app/?q=deploy+port",
        "app-nothing": "/app/?q=who+likes+sailing",
        "app-memory": f"/app/memories/{doubted.id}/",
        "app-new": "/app/new/",
        "app-correct": f"/app/memories/{doubted.id}/correct/",
        "app-flag": f"/app/memories/{memory.id}/flag/",
        "app-mine": "/app/mine/",
        "playground": "/admin/explore/recall/?q=what+is+the+deploy+port&group=ledger",
        "graph": "/admin/explore/graph/",
        "timeline": "/admin/explore/timeline/?group=ledger&words=deploy+port+ledger",
        "explore-groups": "/admin/explore/groups/",
        "explore-group": "/admin/explore/groups/ledger/",
        "review": "/admin/review/",
        "review-duplicate": "/admin/review/?kind=duplicate",
        "entity": f"/admin/memories/memory/{thing.id}/change/" if thing else "/admin/",
        "refused": "/admin/memories/memory/unknown/change/",
    }


# What is pressed on a page before its picture is taken, by the page's name; another page comes of it.
PRESSED = {
    "run-preview": "document.querySelector('[name=do][value=preview]').click()",
    "undo": "document.querySelector('[name=do][value=preview]').click()",
}
# What a page's script does before its picture is taken; the page stays.
DONE = {
    "palette": "document.querySelector('[data-palette-open]').click(); const field = document.querySelector('#palette-input');"
    "field.value = 'deploy prot'; field.dispatchEvent(new Event('input', {bubbles: true}))",
    # The pictures name no folder of the machine they are taken on.
    "backups": r"document.querySelectorAll('.loci-code').forEach(code => { code.textContent ="
    r" code.textContent.replace(/LOCI_HOME=\S+/, 'LOCI_HOME=/srv/loci').replace(/HOST:\S+backups/, 'HOST:/srv/loci/backups') })",
    "entity": "document.querySelector('[data-graph]').scrollIntoView({block: 'center'})",
}
# What must be there before a page is whole: its script fetches it.
AWAITED = {
    "review": ".review-effect .review-question",
    "palette": ".palette-option",
    "entity": ".graph-node",
    "graph": ".graph-node",
}
LONGEST_MS = 5000


def log_in(browser: Browser, server: str, who: str) -> None:
    """Fill the login form as a person does, in a browser that knows nobody."""
    browser.send("Network.clearBrowserCookies")
    browser.open(f"{server}/login/", width=1280, height=860)
    browser.run(
        f"document.querySelector('[name=username]').value = '{who}';"
        f"document.querySelector('[name=password]').value = '{PASSWORD}';"
    )
    browser.run("void setTimeout(() => document.querySelector('#login-form').submit(), 50)")
    browser.wait_for_load()


def come(selector: str) -> str:
    """A script that waits for an element and a moment longer; it returns false if the element does not come."""
    return (
        "new Promise(done => { const since = performance.now(); (function look() {"
        f" if (document.querySelector('{selector}')) setTimeout(() => done(true), 300);"
        f" else if (performance.now() - since > {LONGEST_MS}) done(false); else setTimeout(look, 50); }})() }})"
    )


def take(
    browser: Browser, server: str, page: str, address: str, *, folder: Path, names: tuple[str, ...]
) -> None:
    """Save one page in both sizes and looks, as far as they are wanted; say where it is too wide."""
    for size, (width, height) in SIZES.items():
        for look in ("light", "dark"):
            name = f"{page}-{size}-{look}"
            if names and name not in names:
                continue
            browser.open(server + address, width=width, height=height, dark=look == "dark")
            if page in PRESSED:
                browser.run(f"void setTimeout(() => {PRESSED[page]}, 50)")
                browser.wait_for_load()
                browser.run("document.fonts.ready.then(() => new Promise(done => setTimeout(done, 150)))")
            if page in DONE:
                browser.run(f"{{ {DONE[page]} }}")
            if page in AWAITED and not browser.run(come(AWAITED[page])):
                print(f"{name}: {AWAITED[page]} did not come")
            wide = browser.run("document.documentElement.scrollWidth")
            if wide > width:
                print(f"{name}: {wide} pixels wide")
            browser.picture(folder / f"{name}.png")


def main(server: str, folder: Path, names: tuple[str, ...]) -> int:
    """Save the pictures `names` (all where there are none); say what pages asked for elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        take(browser, server, "login", "/login/", folder=folder, names=names)
        shown = pages()
        for who in ("alice", "mia"):
            log_in(browser, server, who)
            for page, address in shown.items():
                if page.startswith(OF_MEMBERS) == (who == "mia"):
                    take(browser, server, page, address, folder=folder, names=names)
        foreign = sorted({url for url in browser.asked if not url.startswith((server, "data:", "about:"))})
        print("asked elsewhere:", foreign or "nothing", "| console:", sorted(set(browser.said)) or "silent")
    return 1 if foreign else 0


def wanted(words: list[str]) -> tuple[str, ...]:
    """The names of the pictures to take: those of the docs, `all` for every one, or those that are named."""
    if words == ["all"]:
        return ()
    return tuple(words) or IN_DOCS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].rstrip("/"), Path(sys.argv[2]), wanted(sys.argv[3:])))
