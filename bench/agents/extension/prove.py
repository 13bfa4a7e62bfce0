"""Proof: the extension loses no turn and keeps none twice, whatever happens to page, worker and server, and obeys its switches."""

import json
import shutil
import sys
import time
from collections.abc import Callable

from playwright.sync_api import expect

from bench.agents.extension.bench import Bench, bench
from bench.agents.extension.browser import EXTENSION, chrome
from bench.agents.extension.firefox import prove_firefox
from bench.agents.extension.inside import (
    add_old_copies,
    contact_of,
    counts_of,
    ring,
    set_contact,
    set_counts,
    texts_in,
    token_of,
)
from bench.agents.extension.lint import lint
from bench.agents.extension.pack import TARGET
from bench.agents.extension.pack import main as pack_all
from bench.agents.extension.replicas import SITES
from bench.proof.client import Client
from bench.proof.proof import Finding, Workshop
from tests.browser.watching import grave_faults

ASKED, ANSWERED = "Which host should the mail server move to?", "Brass has the room: move it before April."
LETTERS = ("ma", "mail", "mail se", "mail serv", "brass", "which host", "room april", "before")
HOUR_MS = 3_600_000
MAX_WAITING_BYTES, MAX_COPIES = 50 * 1024 * 1024, 2000


def prove_extension(workshop: Workshop) -> Finding:
    """Run every scenario in one browser, one after the other."""
    shutil.rmtree(workshop.folder / "profile", ignore_errors=True)
    pack_all()
    with bench(workshop, TARGET / "chrome") as at:
        for scenario in SCENARIOS:
            print(scenario.__name__, file=sys.stderr, flush=True)
            try:
                scenario(at)
            except AssertionError as error:
                at.faults.append(f"{scenario.__name__}: {str(error)[:600]}")
            for page in at.browser.context.pages:
                if page is not at.browser.own:
                    page.close()
        at.numbers["scenarios"] = len(SCENARIOS)
        prove_firefox(at, TARGET / "firefox.zip", LETTERS)
        found = Finding(at.numbers, tuple(at.faults))
    return Finding(found.numbers, (*found.faults, *lint()))


def limits(at: Bench) -> None:
    """Beyond 50 MB nothing more is taken until there is room, and of the copies the last 2,000 stay."""
    at.browser.own.wait_for_timeout(2500)  # pages that were open have been read
    at.settle()
    at.end_server()
    counts = counts_of(at.browser)
    set_counts(at.browser, {**counts, "bytes": MAX_WAITING_BYTES - 10})
    talk = at.replicas.talk("claude.ai", "Is there room for one more turn?", "No, not before Loci is back.")
    page = at.browser.open("claude.ai", f"/chat/{talk.id}")
    at.browser.wait("status", lambda status: status["numbers"]["isFull"])
    at.check(at.status()["numbers"]["waiting"] == 0, "more than 50 MB waits")
    set_counts(at.browser, counts)
    add_old_copies(at.browser, MAX_COPIES)
    at.serve()
    page.reload()
    at.wait_for_turns(talk.id, [each.text for each in talk.messages], "limits")
    texts = texts_in(at.browser)
    at.check(len(texts) == MAX_COPIES, f"{len(texts)} copies are held")
    at.check(talk.messages[1].text in texts, "a new copy was deleted instead of an old one")


def wrong_codes(at: Bench) -> None:
    """Six wrong codes void the right one; a new one works."""
    code = at.code()
    wrong = f"{(int(code) + 1) % 10**6:06d}"
    page = at.browser.pair(at.url, wrong)
    said = page.locator("#said")
    for tried in [wrong] * 5 + [code]:
        page.get_by_label("Code").fill(tried)
        page.get_by_role("button", name="Pair").click()
        expect(said).to_contain_text("The code is wrong")
    at.check(
        not at.status()["isPaired"], "a browser was paired with a code that had been guessed at six times"
    )
    at.check(not grave_faults(page), f"options: {grave_faults(page)}")
    page.get_by_label("Code").fill(at.code())
    page.get_by_role("button", name="Pair").click()
    expect(said).to_contain_text("Paired as prover")


def off_until_switched_on(at: Bench) -> None:
    """A site that is off gets no script, also while the browser is paired."""
    for site, path in (("claude.ai", "chat"), ("chatgpt.com", "c")):
        talk = at.replicas.talk(site, ASKED, ANSWERED)
        page = at.browser.open(site, f"/{path}/{talk.id}")
        at.shown(page)
        at.check(
            not page.evaluate("Boolean(window[Symbol.for('loci-tap')])"),
            f"{site}: a script runs while it is off",
        )
    at.check(texts_in(at.browser) == [], "a site that is off was read")
    at.browser.switch_on()


def generations(at: Bench) -> None:
    """Each form of each site: an old conversation, then a new question in it, each turn once; and the same loaded again."""
    for site, path in (("claude.ai", "chat"), ("chatgpt.com", "c")):
        for generation in (1, 2, 3):
            at.replicas.generation[site] = generation
            name = f"{site}, generation {generation}"
            talk = at.replicas.talk(site, ASKED, ANSWERED, title=f"Mail server {generation}")
            page = at.browser.open(site, f"/{path}/{talk.id}")
            at.wait_for_turns(talk.id, [ASKED, ANSWERED], name)
            at.say(page, "And the calendar?")
            whole = [ASKED, ANSWERED, "And the calendar?", at.replicas.answer_to("And the calendar?")]
            at.wait_for_turns(talk.id, whole, f"{name}, asked")
            page.reload()
            at.shown(page)
            page.wait_for_timeout(2500)  # the page has come to rest
            at.wait_for_turns(talk.id, whole, f"{name}, loaded again")
            page.close()
        at.numbers[f"{site}: forms of the page"] = 3
    health = {each["platform"]: (each["health"] or {}).get("state") for each in at.status()["sites"]}
    at.check(health == {"claude.ai": "page", "chatgpt.com": "blind"}, f"the sites' health is {health}")
    badge = at.browser.own.evaluate("chrome.action.getBadgeText({})")
    at.check(badge == "!", f"unreadable traffic leaves the badge {badge!r}")
    at.replicas.generation = dict.fromkeys(SITES, 2)
    page = at.browser.open("chatgpt.com", f"/c/{at.replicas.talk('chatgpt.com', ASKED, ANSWERED).id}")
    at.shown(page)
    at.browser.wait("status", lambda status: status["sites"][1]["health"]["state"] == "traffic")
    at.check(
        at.browser.own.evaluate("chrome.action.getBadgeText({})") == "",
        "the badge stays after the traffic is read",
    )


def a_conversation_twice(at: Bench) -> None:
    """A conversation that is loaded three times is kept once, and nothing is sent again."""
    talk = at.replicas.talk("claude.ai", ASKED, ANSWERED)
    page = at.browser.open("claude.ai", f"/chat/{talk.id}")
    at.wait_for_turns(talk.id, [ASKED, ANSWERED], "twice")
    ids = [each["id"] for each in at.turns(talk.id)]
    other = at.browser.open("claude.ai", f"/chat/{talk.id}")
    page.reload()
    at.shown(page), at.shown(other)
    page.wait_for_timeout(2500)
    at.check(at.status()["numbers"]["waiting"] == 0, "a known conversation was taken again")
    at.settle()
    at.check([each["id"] for each in at.turns(talk.id)] == ids, "the same conversation twice made new rows")


def reload_mid_stream(at: Bench) -> None:
    """A page that is loaded again while an answer comes keeps the whole answer, once."""
    for site, path in (("claude.ai", "chat"), ("chatgpt.com", "c")):
        talk = at.replicas.talk(site, ASKED, ANSWERED)
        page = at.browser.open(site, f"/{path}/{talk.id}")
        at.wait_for_turns(talk.id, [ASKED, ANSWERED], f"{site}: mid-stream, before")
        at.replicas.hold.clear()
        page.evaluate("() => { window.say('And the printer?'); }")
        page.wait_for_timeout(400)
        page.reload()
        at.replicas.hold.set()
        whole = [ASKED, ANSWERED, "And the printer?", at.replicas.answer_to("And the printer?")]
        at.wait_for_turns(talk.id, whole, f"{site}: mid-stream")


def an_edited_message(at: Bench) -> None:
    """An edited question is the next version of the same turn, and its answer too."""
    for site, path in (("claude.ai", "chat"), ("chatgpt.com", "c")):
        talk = at.replicas.talk(site, ASKED, ANSWERED, "And the printer?", "Tin has a port for it.")
        page = at.browser.open(site, f"/{path}/{talk.id}")
        at.wait_for_turns(talk.id, [each.text for each in talk.messages], f"{site}: edit, before")
        page.evaluate(
            "([text, parent]) => window.say(text, parent)", ["And both printers?", talk.messages[1].id]
        )
        whole = [ASKED, ANSWERED, "And both printers?", at.replicas.answer_to("And both printers?")]
        at.wait_for_turns(talk.id, whole, f"{site}: edit")


def worker_killed(at: Bench) -> None:
    """Turns that wait survive the end of the worker and of the browser's memory, and are sent later."""
    at.end_server()
    talk = at.replicas.talk(
        "claude.ai", *(f"Turn {n} about the mail server and its queue." for n in range(300))
    )
    at.browser.open("claude.ai", f"/chat/{talk.id}")
    at.wait_for_waiting(300)
    at.browser.kill_worker()
    at.browser.kill_worker()
    at.check(at.status()["numbers"]["waiting"] == 300, "turns were lost with the worker")
    at.serve()
    at.settle()
    at.wait_for_turns(talk.id, [each.text for each in talk.messages], "worker killed")
    at.numbers["turns that waited while the worker was killed"] = 300


def server_away(at: Bench) -> None:
    """While the server is away the waits grow to an hour, copies are searched, and afterwards everything arrives."""
    at.end_server()
    talk = at.replicas.talk(
        "claude.ai", "Where is the spare anchor kept?", "In the locker under the harbour stairs."
    )
    page = at.browser.open("claude.ai", f"/chat/{talk.id}")
    at.wait_for_waiting(2)
    at.browser.ask("send-now")
    first = contact_of(at.browser)
    at.check(first["failures"] >= 1, "a server that is away is no failure")
    set_contact(at.browser, {**first, "failures": 9, "nextTry": 0})
    ring(at.browser)
    at.browser.wait("status", lambda status: status["contact"]["failures"] == 10)
    wait = at.status()["contact"]["nextTry"] - time.time() * 1000
    at.check(
        0.9 * HOUR_MS < wait <= HOUR_MS, f"after ten failures the next try is in {wait / 60_000:.0f} minutes"
    )
    panel = at.browser.panel(page)
    field = panel.get_by_label("Search conversations and memories")
    for letters in ("spare anch", "spare ancor"):  # the beginning of a word, and a slip
        field.fill(letters)
        expect(panel.locator("#results")).to_contain_text("spare anchor")
        field.fill("")
    field.fill("spare")
    expect(panel.locator("#note")).to_contain_text("not reachable")
    at.check(not grave_faults_of(panel), f"panel: {grave_faults_of(panel)}")
    at.serve()
    ring(at.browser)
    at.browser.own.wait_for_timeout(1000)
    at.check(at.status()["numbers"]["waiting"] == 2, "the server was called before the next try was due")
    set_contact(at.browser, {**first, "failures": 10, "nextTry": 0})  # an hour later
    ring(at.browser)
    at.browser.wait("status", lambda status: status["numbers"]["waiting"] == 0)
    at.wait_for_turns(talk.id, [each.text for each in talk.messages], "server away")


def grave_faults_of(frame: object) -> list[str]:
    """axe's serious findings in a page or a frame."""
    return grave_faults(frame)  # type: ignore[arg-type]  # a frame evaluates as a page does


def panel_and_selection(at: Bench) -> None:
    """The panel answers, keeps a selection as a fact, and shows the site nothing."""
    talk = at.replicas.talk(
        "claude.ai", "Who has the key of the boat house?", "Marit has the key of the boat house."
    )
    page = at.browser.open("claude.ai", f"/chat/{talk.id}")
    at.wait_for_turns(talk.id, [each.text for each in talk.messages], "panel")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#turns > :last-child'))")
    panel = at.browser.panel(page)
    panel.get_by_role("button", name="Remember this").click()
    expect(panel.locator("#said")).to_have_text("Remembered.")
    field = panel.get_by_label("Search conversations and memories")
    field.fill("boat hous")
    expect(panel.locator("#results")).to_contain_text("claude.ai")
    at.check(not grave_faults_of(panel), f"panel: {grave_faults_of(panel)}")
    at.check(page.evaluate("frames.length") <= 1, "the site sees more than the panel's empty frame")
    address = panel.url
    at.browser.close_panel(page, panel)
    stray = at.browser.context.new_page()
    stray.goto(address)  # another tab, as a site that frames it would be
    stray.wait_for_timeout(500)
    at.check(stray.locator("input").count() == 0, "the panel opens without its key")
    at.time_searches(LETTERS * 5)


def side_panel(at: Bench) -> None:
    """The side panel shows what the team knows for the open conversation."""
    talk = at.replicas.talk(
        "claude.ai",
        "Whom do I ask for the boat house key?",
        "Ask whoever has the key of the boat house.",
        title="Boat house",
    )
    page = at.browser.open("claude.ai", f"/chat/{talk.id}")
    at.wait_for_turns(talk.id, [each.text for each in talk.messages], "side panel")
    side = at.browser.page("side", f"?tab={at.browser.tab_of(page)}")
    expect(side.locator("#results")).to_contain_text("Marit has the key", timeout=30_000)
    at.check(not grave_faults(side), f"side panel: {grave_faults(side)}")


def switches(at: Bench) -> None:
    """Temporary chats, a paused extension and a conversation that is not wanted leave nothing here or there."""
    page = at.browser.open("claude.ai", "/new?incognito")
    at.say(page, "A secret of the incognito chat")
    page.wait_for_timeout(2500)
    page = at.browser.open("chatgpt.com", "/?temporary-chat=true")
    at.say(page, "A secret of the temporary chat")
    page.wait_for_timeout(2500)
    talk = at.replicas.talk("claude.ai", "A secret that is not wanted", ANSWERED)
    page = at.browser.open("claude.ai", f"/chat/{talk.id}")
    at.wait_for_turns(talk.id, [each.text for each in talk.messages], "not this one, before")
    popup = at.browser.page("popup", f"?tab={at.browser.tab_of(page)}")
    popup.get_by_label("Not this conversation").check()
    expect(popup.locator("#said")).to_contain_text("Nothing more of it is kept")
    at.check(not grave_faults(popup), f"popup: {grave_faults(popup)}")
    at.say(page, "A later secret that is not wanted")
    popup.get_by_label("Pause").check()
    paused = at.replicas.talk("claude.ai", "A secret while paused", ANSWERED)
    page = at.browser.open("claude.ai", f"/chat/{paused.id}")
    at.shown(page)
    page.wait_for_timeout(2500)
    secrets = [text for text in texts_in(at.browser) if "secret" in text]
    at.check(not secrets, f"these were kept: {secrets}")
    popup.get_by_label("Pause").uncheck()
    at.settle()
    at.check(len(at.turns(talk.id)) == 2, "a conversation that is not wanted went on")
    at.check(not at.turns(paused.id), "a paused extension sent")


def removed_on_the_server(at: Bench) -> None:
    """A purged turn and a deleted conversation leave the browser at the next contact and do not come back."""
    talk = at.replicas.talk(
        "claude.ai", "The passphrase of the old harbour gate?", "It is heron-lantern-nine."
    )
    other = at.replicas.talk(
        "claude.ai", "How deep is the harbour?", "Four metres at low tide near the heron mark."
    )
    for each in (talk, other):
        page = at.browser.open("claude.ai", f"/chat/{each.id}")
        at.wait_for_turns(each.id, [message.text for message in each.messages], "removed, before")
    purged = at.turns(talk.id)[1]["id"]
    at.call("DELETE", f"memories/{purged}?verb=purge")
    named = {each["thread"]: each["id"] for each in at.call("GET", "conversations?limit=100")["items"]}
    at.call("DELETE", f"conversations/{named[f'claude.ai/{other.id}']}")
    at.settle()
    left = [text for text in texts_in(at.browser) if "heron" in text]
    at.check(not left, f"the browser still holds {left}")
    for each in (talk, other):
        page = at.browser.open("claude.ai", f"/chat/{each.id}")
        at.shown(page)
    page.wait_for_timeout(2500)
    at.settle()
    left = [text for text in texts_in(at.browser) if "heron" in text]
    at.check(not left, f"what was removed came back: {left}")
    at.check(len(at.turns(talk.id)) == 1, "a purged turn is on the server again")


def foreign_extension(at: Bench) -> None:
    """Another extension, with the stolen token, is refused; so is a page of the site."""
    token = token_of(at.browser)
    copy = at.folder / "foreign"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(EXTENSION, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["key"]  # then the folder's path makes the id
    (copy / "manifest.json").write_text(json.dumps(manifest))
    ask = """([url, token]) => fetch(url, {method: 'POST', body: '{"query": "mail"}',
        headers: {'Content-Type': 'application/json', 'Authorization': `Bearer ${token}`}}).then(r => r.status, () => 0)"""
    address = f"{at.url}/api/captures/search"
    own = at.browser.own.evaluate(ask, [address, token])
    at.check(own == 200, f"the extension itself got {own}")
    profile = at.folder / "foreign-profile"
    shutil.rmtree(profile, ignore_errors=True)
    with chrome(at.driver, profile, at.replicas, copy) as other:
        at.check(other.id != at.browser.id, "the copy has the same id")
        status = other.own.evaluate(ask, [address, token])
        at.check(status == 403, f"a foreign extension got {status}")
    for origin in ("https://claude.ai", "http://evil.example", "null"):
        with Client(at.port, token) as client:
            status = client.send(
                "POST", "/api/captures/search", {"query": "mail"}, headers={"Origin": origin}
            ).status
        at.check(status == 403, f"the Origin {origin} got {status}")


def revoked(at: Bench) -> None:
    """A revoked browser deletes everything at its next contact."""
    at.check(len(texts_in(at.browser)) > 100, "there was nothing to delete")
    revoke = "from access.models import ApiToken; from django.utils import timezone; ApiToken.objects.exclude(origin='').update(revoked_at=timezone.now())"
    at.home.manage("shell", "-c", revoke)
    at.browser.ask("send-now")
    at.browser.wait("status", lambda status: not status["isPaired"])
    at.check(texts_in(at.browser) == [], "a revoked browser holds copies")
    at.check("disconnected" in at.status()["problem"], "nobody is told that the browser was disconnected")


SCENARIOS: tuple[Callable[[Bench], None], ...] = (
    wrong_codes,
    off_until_switched_on,
    generations,
    a_conversation_twice,
    reload_mid_stream,
    an_edited_message,
    worker_killed,
    server_away,
    panel_and_selection,
    side_panel,
    switches,
    limits,
    removed_on_the_server,
    foreign_extension,
    revoked,
)
