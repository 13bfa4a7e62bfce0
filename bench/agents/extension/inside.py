"""What the extension holds, read and set in its own database by one of its pages."""

from typing import Any

from bench.agents.extension.browser import Chrome

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


def texts_in(browser: Chrome) -> list[str]:
    """The texts of all turns that the browser holds."""
    rows: list[dict[str, Any]] = browser.own.evaluate(READ, ["turns", None])
    return [row["text"] for row in rows if "text" in row]


def token_of(browser: Chrome) -> str:
    """The token of the paired browser."""
    return str(browser.own.evaluate(READ, ["state", "pairing"])["token"])


def contact_of(browser: Chrome) -> dict[str, Any]:
    """When the server was and will be called."""
    found: dict[str, Any] = browser.own.evaluate(READ, ["state", "contact"])
    return found


def set_contact(browser: Chrome, contact: dict[str, Any]) -> None:
    """Set when the server was and will be called, instead of waiting."""
    browser.own.evaluate(WRITE, [contact, "contact"])


def ring(browser: Chrome) -> None:
    """Let the alarm go off that comes each minute."""
    browser.own.evaluate("() => chrome.alarms.create('contact', {when: Date.now()})")


def counts_of(browser: Chrome) -> dict[str, Any]:
    """The numbers of turns that wait and are held."""
    found: dict[str, Any] = browser.own.evaluate(READ, ["state", "counts"])
    return found


def set_counts(browser: Chrome, counts: dict[str, Any]) -> None:
    """Set the numbers, instead of filling the browser's disk."""
    browser.own.evaluate(WRITE, [counts, "counts"])


def add_old_copies(browser: Chrome, number: int) -> None:
    """Add copies that are older than all others."""
    browser.own.evaluate(FILL, number)
