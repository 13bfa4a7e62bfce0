"""Chromium with the extension: what a person does with its pages, and what its own database holds."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Frame, Page, Playwright, Worker

from bench.demo import BROWSERS
from tests.extension.replicas import SITES, Replicas

EXTENSION = Path(__file__).resolve().parents[2] / "extension"
WAIT_MS = 20_000
_ESCAPE = (
    "() => void setTimeout(() => document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' })))"
)
# A question to the background, as the extension's own pages ask it. One that a dying worker took with it is asked again.
ASK = """message => {
    const once = () => Promise.race([
        chrome.runtime.sendMessage(message).then(answer => answer ?? {value: null}),
        new Promise((done, failed) => setTimeout(() => failed(new Error('no answer')), 30000)),
    ]);
    return once().catch(once);
}"""


OPEN = "new Promise(done => { const r = indexedDB.open('loci'); r.onsuccess = () => done(r.result); })"
READ = f"""async ([store, key]) => {{
    const db = await {OPEN};
    const rows = db.transaction(store).objectStore(store);
    const found = await new Promise(done => {{
        const r = key ? rows.get(key) : rows.getAll();
        r.onsuccess = () => done(r.result);
    }});
    db.close();
    return found;
}}"""
WRITE = f"""async ([value, key]) => {{
    const db = await {OPEN};
    await new Promise(done => {{
        const r = db.transaction('state', 'readwrite').objectStore('state').put(value, key);
        r.onsuccess = done;
    }});
    db.close();
}}"""
# Copies that were sent long ago, older than all others, and the numbers that go with them.
FILL = f"""async (number) => {{
    const db = await {OPEN};
    const stores = db.transaction(['turns', 'state'], 'readwrite');
    const turns = stores.objectStore('turns'), state = stores.objectStore('state');
    for (let n = 0; n < number; n += 1) {{
        turns.put({{platform: 'claude.ai', conversation: 'old', turn: `t${{n}}`, ids: [`t${{n}}`], parent: null, role: 'user',
            text: `An old turn ${{n}}`, at: null, sha: `${{n}}`, bytes: 0, page: false, sent: 1, seq: n / number}});
    }}
    const counts = await new Promise(done => {{ const r = state.get('counts'); r.onsuccess = () => done(r.result); }});
    state.put({{...counts, copies: counts.copies + number}}, 'counts');
    await new Promise(done => {{ stores.oncomplete = done; }});
    db.close();
}}"""


@dataclass
class Chrome:
    """A browser with the extension; `own` is one of its pages, from which messages are sent."""

    context: BrowserContext
    id: str
    own: Page

    def page(self, name: str, query: str = "") -> Page:
        """A page of the extension in a tab of its own."""
        page = self.context.new_page()
        page.goto(f"chrome-extension://{self.id}/pages/{name}.html{query}")
        return page

    def ask(self, kind: str, **values: Any) -> Any:
        """The background's answer to one of the extension's own pages."""
        answer = self.own.evaluate(ASK, {"kind": kind, **values})
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["value"]

    def wait(self, kind: str, is_so: Callable[[Any], bool], **values: Any) -> Any:
        """Ask until the answer is as wanted; the answer."""
        deadline = time.monotonic() + WAIT_MS / 1000
        while not is_so(answer := self.ask(kind, **values)):
            if time.monotonic() > deadline:
                raise AssertionError(f"{kind} is still {answer}")
            self.own.wait_for_timeout(50)
        return answer

    def pair(self, server: str, code: str) -> Page:
        """Enter a code in the settings; the page, as it is when it was answered."""
        page = self.page("options")
        page.get_by_label("Address of your Loci").fill(server)
        page.get_by_label("Code").fill(code)
        page.get_by_role("button", name="Pair").click()
        page.locator("#said:not(:empty)").wait_for()
        return page

    def switch_on(self) -> None:
        """Switch all sites on."""
        for site in SITES:
            self.ask("switch-site", platform=site, isOn=True)

    def open(self, site: str, path: str) -> Page:
        """A page of a site."""
        page = self.context.new_page()
        page.goto(f"https://{site}{path}")
        return page

    def panel(self, page: Page) -> Frame:
        """The search panel over a page, opened with its key; its frame is in a closed shadow root."""
        page.bring_to_front()
        page.keyboard.press("Control+k")
        found: list[Frame] = []

        def is_open() -> bool:
            found[:] = [frame for frame in page.frames if "/pages/panel.html" in frame.url]
            return bool(found)

        self.until(page, is_open, "the panel did not open")
        return found[0]

    def close_panel(self, page: Page, panel: Frame) -> None:
        """Close the panel with its key.

        The key is sent within the frame, a moment later: Chromium does not always answer for a key whose frame is gone,
        and the driver would wait for that answer without end.
        """
        panel.evaluate(_ESCAPE)
        self.until(page, lambda: panel not in page.frames, "the panel did not close")

    def until(self, page: Page, holds: Callable[[], bool], fault: str) -> None:
        """Wait until something holds, while the page lives on."""
        deadline = time.monotonic() + WAIT_MS / 1000
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(fault)
            page.wait_for_timeout(50)

    def tab_of(self, page: Page) -> int:
        """The browser's number of a tab."""
        script = "url => chrome.tabs.query({}).then(tabs => tabs.find(tab => tab.url === url)?.id)"
        found: int = self.own.evaluate(script, page.url)
        return found

    def texts(self) -> list[str]:
        """The texts of all turns that the browser holds."""
        return [row["text"] for row in self.own.evaluate(READ, ["turns", None]) if "text" in row]

    def state(self, name: str) -> dict[str, Any]:
        """What the extension holds: its `pairing`, its `counts` of turns, and when the `contact` with the server was and will be."""
        found: dict[str, Any] = self.own.evaluate(READ, ["state", name])
        return found

    def set_state(self, name: str, value: dict[str, Any]) -> None:
        """Set it, instead of waiting for an hour or filling the disk."""
        self.own.evaluate(WRITE, [value, name])

    def add_old_copies(self, number: int) -> None:
        """Add copies that are older than all others."""
        self.own.evaluate(FILL, number)

    def ring(self) -> None:
        """Trigger the alarm that fires every minute."""
        self.own.evaluate("() => chrome.alarms.create('contact', {when: Date.now()})")

    def kill_worker(self) -> None:
        """End the service worker, as the browser does when it has been idle."""
        session = self.context.new_cdp_session(self.own)
        session.send("ServiceWorker.enable")
        session.send("ServiceWorker.stopAllWorkers")
        session.detach()


@contextmanager
def chrome(
    driver: Playwright, profile: Path, replicas: Replicas, folder: Path = EXTENSION
) -> Iterator[Chrome]:
    """A Chromium with a fresh or known profile; the sites are the replicas, and no other machine is reached."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise FileNotFoundError("no Chromium was found; on Debian: apt-get install chromium")
    hosts = ", ".join(f"MAP {site} 127.0.0.1:{replicas.port}" for site in SITES)
    context = driver.chromium.launch_persistent_context(
        profile,
        executable_path=program,
        headless=False,  # the switch below does it: Playwright's own takes the shell, which has no extensions
        ignore_default_args=["--disable-extensions"],
        args=[
            "--headless=new", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors",
            f"--host-resolver-rules={hosts}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--load-extension={folder}", f"--disable-extensions-except={folder}",
        ],
    )  # fmt: skip
    try:
        context.set_default_timeout(WAIT_MS)
        worker: Worker = (
            context.service_workers[0] if context.service_workers else context.wait_for_event("serviceworker")
        )
        id_ = worker.url.split("/")[2]
        own = context.pages[0]
        own.goto(f"chrome-extension://{id_}/pages/side.html")
        yield Chrome(context, id_, own)
    finally:
        context.close()
