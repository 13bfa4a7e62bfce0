"""Pictures of the admin for the docs, from a running server over the store that bench.demo fills.

`python -m bench.demo.screenshots http://127.0.0.1:8000 docs/images` logs in as alice and as mia and saves the pictures of the
docs; names after it (`runs-phone-dark`) save those, `all` saves every page in both sizes, light and dark.
"""

import os
import shutil
import sys
from pathlib import Path

import django
from playwright.sync_api import Error, Page, sync_playwright

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from access.models import ApiToken  # noqa: E402 - models need django.setup()
from bench.demo import BROWSERS, PASSWORD  # noqa: E402
from maintenance.models import Run  # noqa: E402
from memories.models import Link, Memory  # noqa: E402
from memories.queries.labels import is_doubted  # noqa: E402

SIZES = {"wide": (1280, 860), "phone": (390, 844)}
IN_DOCS = (
    "home-wide-light", "ask-wide-light", "group-wide-light", "group-map-wide-dark", "group-time-wide-light",
    "memory-wide-light", "review-wide-light", "settings-wide-light", "import-wide-light", "tokens-wide-light",
    "token-add-wide-light", "log-wide-light", "run-wide-light", "undo-wide-light", "backups-wide-light",
)  # fmt: skip
# The pages that a contributor sees otherwise than a superuser.
_OF_MEMBERS = "member-"


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
        "home": "/admin/",
        "palette": "/admin/",
        "groups": "/admin/groups/",
        "group": "/admin/groups/ledger/",
        "group-changes": "/admin/groups/ledger/changes/",
        "group-waits": "/admin/groups/ledger/waits/",
        "group-asked": "/admin/groups/ledger/asked/",
        "group-map": "/admin/groups/ledger/map/",
        "group-time": "/admin/groups/ledger/map/?view=time&words=deploy+port+ledger",
        "group-settings": "/admin/groups/ledger/settings/",
        "review": "/admin/review/",
        "review-duplicate": "/admin/review/?kind=duplicate",
        "ask": "/admin/ask/?q=what+is+the+deploy+port&group=ledger",
        "ask-nothing": "/admin/ask/?q=who+likes+sailing",
        "memories": "/admin/memories/memory/?group=ledger&state__exact=live&type__exact=semantic",
        "search": "/admin/memories/memory/?q=deploy+port",
        "nothing": "/admin/memories/memory/?q=walrus",
        "memory": f"{at}/change/?query=why+are+amounts+integers",
        "confirm": f"{at}/purge/",
        "add": "/admin/memories/memory/add/",
        "conflict": f"/admin/memories/memory/{link.source.id}/change/",
        "entity": f"/admin/memories/memory/{thing.id}/change/" if thing else "/admin/",
        "settings": "/admin/settings/",
        "account": "/admin/account/",
        "people": "/admin/auth/user/",
        "tokens": "/admin/access/apitoken/",
        "token-add": "/admin/access/apitoken/add/",
        "import": "/admin/sources/upload/add/",
        "log": "/admin/access/auditentry/",
        "recalls": "/admin/memories/recalllog/",
        "runs": "/admin/maintenance/run/",
        "run": f"/admin/maintenance/run/{run.id}/change/",
        "run-preview": "/admin/maintenance/run/begin/",
        "undo": f"/admin/maintenance/run/{run.id}/change/",
        "schedule": "/admin/maintenance/joblock/",
        "backups": "/admin/maintenance/joblock/backups/",
        "doctor": "/admin/maintenance/joblock/doctor/",
        "instance": "/admin/settings/instance/",
        "member-home": "/admin/",
        "member-memory": f"/admin/memories/memory/{doubted.id}/change/",
        "member-correct": f"/admin/memories/memory/{doubted.id}/edit/",
        "member-flag": f"/admin/memories/memory/{memory.id}/dispute/",
        "member-mine": "/admin/memories/memory/?mine=1",
        "member-settings": "/admin/settings/",
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
    "group-map": ".graph-node",
}
LONGEST_MS = 5000


def take(page: Page, name: str, address: str, *, folder: Path, names: tuple[str, ...]) -> None:
    """Save one page in both sizes and looks, as far as they are wanted; say where it is too wide."""
    for size, (width, height) in SIZES.items():
        for look in ("light", "dark"):
            picture = f"{name}-{size}-{look}"
            if names and picture not in names:
                continue
            page.emulate_media(color_scheme=look)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": height})
            page.goto(address)
            if name in PRESSED:
                with page.expect_navigation():
                    page.evaluate(PRESSED[name])
            if name in DONE:
                page.evaluate(f"() => {{ {DONE[name]} }}")
            if name in AWAITED:
                try:
                    page.locator(AWAITED[name]).first.wait_for(timeout=LONGEST_MS)
                except Error:
                    print(f"{picture}: {AWAITED[name]} did not come")
            page.wait_for_timeout(300)  # fonts and transitions
            if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
                print(f"{picture}: {wide} pixels wide")
            page.screenshot(path=folder / f"{picture}.png")


def main(server: str, folder: Path, names: tuple[str, ...]) -> int:
    """Save the pictures `names` (all where there are none); say what pages asked for elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = pages()
    asked, said = set[str](), set[str]()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--hide-scrollbars"])
        for who in ("", "alice", "mia"):
            page = browser.new_page(base_url=server)
            page.on("request", lambda request: asked.add(request.url))
            page.on("pageerror", lambda error: said.add(str(error)))
            page.on("console", lambda line: said.add(line.text) if line.type == "error" else None)
            if who:
                page.goto("/login/")
                page.locator("[name=username]").fill(who)
                page.locator("[name=password]").fill(PASSWORD)
                with page.expect_navigation():
                    page.locator("#login-form").evaluate("form => form.submit()")
            for name, address in (shown if who else {"login": "/login/"}).items():
                if not who or name.startswith(_OF_MEMBERS) == (who == "mia"):
                    take(page, name, address, folder=folder, names=names)
            page.close()
        browser.close()
    foreign = sorted(url for url in asked if not url.startswith((server, "data:", "about:", "blob:")))
    print("asked elsewhere:", foreign or "nothing", "| console:", sorted(said) or "silent")
    return 1 if foreign else 0


if __name__ == "__main__":
    names = tuple(sys.argv[3:]) or IN_DOCS
    sys.exit(main(sys.argv[1].rstrip("/"), Path(sys.argv[2]), () if names == ("all",) else names))
