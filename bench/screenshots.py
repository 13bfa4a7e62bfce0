"""Pictures of the admin for the docs, from a running server over the store that bench.demo fills.

`python -m bench.screenshots http://127.0.0.1:8000 docs/images` logs in as alice and saves the pictures of the docs;
`all` after it saves every page in both sizes, light and dark.
"""

import os
import sys
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from access.models import ApiToken  # noqa: E402 - models need django.setup()
from bench.browser import Browser  # noqa: E402
from bench.demo import PASSWORD  # noqa: E402
from memories.models import Link, Memory  # noqa: E402

SIZES = {"wide": (1280, 860), "phone": (390, 844)}
IN_DOCS = ("dashboard-wide-light", "memory-wide-light", "search-wide-dark", "memory-phone-dark")


def pages() -> dict[str, str]:
    """Give the pages by the name of their picture."""
    memory = Memory.objects.filter(pinned=True, state="live").order_by("-key").first()
    link, token = Link.objects.order_by("key").first(), ApiToken.objects.first()
    if memory is None or link is None or token is None:
        raise SystemExit("The store is empty: run `python -m bench.demo` first.")
    at = f"/admin/memories/memory/{memory.id}"
    return {
        "dashboard": "/admin/",
        "memories": "/admin/memories/memory/",
        "search": "/admin/memories/memory/?q=deploy+port",
        "nothing": "/admin/memories/memory/?q=walrus",
        "memory": f"{at}/change/?query=why+are+amounts+integers",
        "confirm": f"{at}/purge/",
        "add": "/admin/memories/memory/add/",
        "link": f"/admin/memories/link/{link.id}/change/",
        "links": "/admin/memories/link/",
        "group": "/admin/access/group/?o=1",
        "tokens": "/admin/access/apitoken/",
        "token-add": "/admin/access/apitoken/add/",
        "log": "/admin/access/auditentry/",
        "recalls": "/admin/memories/recalllog/",
        "runs": "/admin/maintenance/run/",
        "refused": "/admin/memories/memory/unknown/change/",
    }


def log_in(browser: Browser, server: str, folder: Path, *, names: tuple[str, ...]) -> None:
    """Fill the login form as a person does."""
    browser.open(f"{server}/admin/login/?next=/admin/", width=1280, height=860)
    if not names:
        browser.picture(folder / "login-wide-light.png")
    browser.run(
        f"document.querySelector('[name=username]').value = 'alice';"
        f"document.querySelector('[name=password]').value = '{PASSWORD}';"
    )
    browser.run("void setTimeout(() => document.querySelector('#login-form').submit(), 50)")
    browser.wait_for_load()


def main(server: str, folder: Path, names: tuple[str, ...]) -> int:
    """Save the pictures `names` (all where there are none); say what pages asked for elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        log_in(browser, server, folder, names=names)
        for page, address in pages().items():
            for size, (width, height) in SIZES.items():
                for look in ("light", "dark"):
                    name = f"{page}-{size}-{look}"
                    if names and name not in names:
                        continue
                    browser.open(server + address, width=width, height=height, dark=look == "dark")
                    wide = browser.run("document.documentElement.scrollWidth")
                    if wide > width:
                        print(f"{name}: {wide} pixels wide")
                    browser.picture(folder / f"{name}.png")
        foreign = sorted({url for url in browser.asked if not url.startswith((server, "data:", "about:"))})
        print("asked elsewhere:", foreign or "nothing", "| console:", sorted(set(browser.said)) or "silent")
    return 1 if foreign else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].rstrip("/"), Path(sys.argv[2]), () if sys.argv[3:] == ["all"] else IN_DOCS))
