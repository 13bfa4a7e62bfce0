"""The wording of pages: what they state, and what they leave out, is true."""

import re
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.groups.members import set_member
from access.models import Group
from access.tokens import create_token, operator
from loci_site.admin.dashboard.todo import Figure
from maintenance.schedule import JOBS
from maintenance.schedule.wording import JOB_DESCRIPTIONS
from memories.models import Link, LinkKind, Memory, RecallLog
from memories.recall_log import pack_hits
from tests.loci_site.admin.conftest import Remember, page


def text_of(client: Client, address: str) -> str:
    """The text of a page without markup."""
    answer = client.get(address)
    assert answer.status_code == 200, answer.status_code
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))


def tie(kind: LinkKind, first: Memory, second: Memory) -> Link:
    return Link.objects.create(kind=kind, source=first, target=second)


@pytest.mark.parametrize(
    ("kind", "offers"),
    [(LinkKind.CONFLICT, "Decide in the Review"), (LinkKind.EVIDENCE, "Dismiss"), (LinkKind.DERIVED, "")],
)
def test_a_link_offers_the_decision_that_makes_sense(
    owner: Client, stranger: Client, remember: Remember, kind: LinkKind, offers: str
) -> None:
    one = remember("The gate opens at seven.", scope="global")
    tie(kind, one, remember("Bees sleep in winter.", scope="global"))
    links = {"Decide in the Review", "Dismiss"}
    assert {each for each in links if f">{each}</a>" in owner.get(page(one)).content.decode()} == {offers} - {
        ""
    }
    assert "Bees sleep" in text_of(stranger, page(one))
    assert not any(f">{each}</a>" in stranger.get(page(one)).content.decode() for each in links)


def test_a_compacted_event_and_its_summary_lead_to_each_other(owner: Client, remember: Remember) -> None:
    event, summary = remember("Ann called at nine."), remember("Calls of the week: Ann's.")
    Memory.objects.filter(pk=event.pk).update(summary=summary)
    said = text_of(owner, page(event))
    assert "In lists a summary stands for this event. Go to the summary" in said
    assert "not the current version" not in said
    assert "It stands for 1 event in lists. Show them" in text_of(owner, page(summary))


def test_a_german_page_has_german_words_in_its_sentences(owner: Client, remember: Remember) -> None:
    memory = remember("The gate opens at seven.")
    Memory.objects.filter(pk=memory.pk).update(trust="rejected", state="forgotten")
    asked = {"headers": {"accept-language": "de"}}
    assert "sie ist vergessen und abgelehnt" in owner.get(page(memory), **asked).content.decode()
    Memory.objects.filter(pk=memory.pk).update(trust="quarantined")
    restoring = owner.get(f"/admin/memories/memory/{memory.id}/restore/", **asked).content.decode()
    assert "ie ist unter Quarantäne: " in restoring


def test_every_job_of_the_schedule_says_what_it_does(owner: Client) -> None:
    assert set(JOB_DESCRIPTIONS) == {job.name for job in JOBS}
    said = text_of(owner, "/admin/maintenance/joblock/")
    assert all(meaning in said for meaning in JOB_DESCRIPTIONS.values())


def test_people_are_listed_with_what_they_reach(
    owner: Client, bob: User, charlie: User, ledger: Group
) -> None:
    set_member(operator(), ledger, user=bob, role="curator")
    User.objects.filter(pk=charlie.pk).update(is_active=False)
    shown = owner.get("/admin/auth/user/").content.decode()
    rows = re.findall(r"<tr class=\"data-row.*?</tr>", shown, re.DOTALL)
    cells = [[word.strip() for word in re.split(r"<[^>]*>", row) if word.strip()] for row in rows]
    words = {name: rest for name, *rest in cells}
    assert "ledger (curator)" in words["bob"]
    assert "by roles in groups" in words["bob"]
    assert "deactivated" in words["charlie"]
    assert "no group" in words["charlie"]
    assert "every group, as admin" in words["alice"]
    assert "ledger (curator)" in text_of(owner, f"/admin/auth/user/{bob.pk}/change/")


def test_without_a_group_a_superuser_is_led_to_making_one_and_others_to_an_admin(
    owner: Client, stranger: Client
) -> None:
    assert "Create the first group" in text_of(owner, "/admin/groups/")
    assert "Or a new group" in text_of(owner, "/admin/memories/memory/add/")
    assert "You belong to no group yet" in text_of(stranger, "/admin/groups/")
    refused = stranger.get("/admin/memories/memory/add/")
    assert refused.status_code == 403
    assert "You belong to no group, so there is nowhere to store." in refused.content.decode()


def test_the_account_menu_is_made_of_buttons_and_links(owner: Client) -> None:
    """The keyboard reaches nothing else."""
    shown = owner.get("/admin/").content.decode()
    assert re.search(r"<button [^>]*loci-account.*?>Account of alice<", shown, re.S)
    for name in ("Sidebar", "Menu"):
        assert re.search(rf"<button [^>]*aria-label=\"{name}\"", shown), name
    assert '<a class="loci-skip" href="#content">' in shown
    assert shown.count("<main ") == 1
    assert not re.search(r"<a (?![^>]*href)[^>]*x-on:click", shown)


def test_an_import_offers_only_the_files_it_reads(owner: Client, ledger: Group) -> None:
    assert (
        'accept=".jsonl,.json,.db,.md,.zip,.dms,.locus,.markdown,.csv,.tsv,.ndjson"'
        in owner.get("/admin/sources/upload/add/").content.decode()
    )
    assert "Import a file" in text_of(owner, "/admin/sources/upload/")


@pytest.mark.parametrize(
    ("address", "form", "status", "says"),
    [
        ("/nowhere/", None, 404, "Page not found."),
        ("/login/", {"username": "bob", "password": "x"}, 403, "This page has expired."),
    ],
)
def test_a_fault_outside_the_pages_looks_like_loci(
    db: None, address: str, form: dict[str, str] | None, status: int, says: str
) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    answer = client.get(address) if form is None else client.post(address, form)
    assert answer.status_code == status
    shown = answer.content.decode()
    assert f"<h1>{says}</h1>" in shown
    assert 'href="/static/loci/people.css"' in shown
    assert "<style" not in shown
    assert f"<title>{says.removesuffix('.')} · Loci</title>" in shown


def test_a_fault_of_our_own_looks_like_loci_too(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr("loci_site.app.conversations.actor_of", broken)
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("eve"))
    answer = client.get("/admin/conversations/")
    assert answer.status_code == 500
    shown = answer.content.decode()
    assert "<h1>Something went wrong in Loci.</h1>" in shown
    assert "secret" not in shown


def test_one_of_a_thing_is_said_as_one() -> None:
    assert Figure("failed runs", 1, "").text == "failed run"
    assert Figure("failed runs", 2, "").text == "failed runs"


def test_the_log_names_the_token_a_row_is_about(owner: Client, member: Client, bob: User) -> None:
    token = create_token(operator(), user=bob, name="night bot", scopes=["read"]).token
    assert "token “night bot” of bob" in text_of(owner, "/admin/access/auditentry/")
    assert str(token.id) not in text_of(owner, "/admin/access/auditentry/")
    assert "night bot" not in text_of(member, "/admin/access/auditentry/")


@pytest.mark.parametrize(
    ("hidden", "abstained", "words"),
    [
        (0, True, "Nothing relevant was found."),
        (0, False, "No results."),
        (1, False, "1 result was removed since, or you don't have access."),
        (2, False, "2 results were removed since, or you don't have access."),
    ],
)
def test_a_recall_without_visible_results_says_why(
    owner: Client, hidden: int, abstained: bool, words: str
) -> None:
    hits = pack_hits([(10**9 + n, 0.5) for n in range(hidden)])
    recall = RecallLog.objects.create(
        at=datetime(2026, 5, 1, tzinfo=UTC), actor="alice", via="rest", query="gate", mode="hybrid",
        duration_ms=1.0, hits=hits, abstained=abstained,
    )  # fmt: skip
    shown = text_of(owner, f"/admin/memories/recalllog/{recall.key}/change/").replace("&#x27;", "'")
    assert words in shown


def test_a_recall_counts_the_results_beside_the_visible_ones(owner: Client, remember: Remember) -> None:
    hits = pack_hits([(remember("The gate opens at seven.").key, 0.9), (10**9, 0.5)])
    recall = RecallLog.objects.create(
        at=datetime(2026, 5, 1, tzinfo=UTC), actor="alice", via="rest", query="gate", mode="hybrid",
        duration_ms=1.0, hits=hits,
    )  # fmt: skip
    shown = text_of(owner, f"/admin/memories/recalllog/{recall.key}/change/")
    assert "The gate opens at seven." in shown
    assert "1 more result was removed since" in shown


def test_people_and_names_of_groups_have_one_word_on_every_page(owner: Client, ledger: Group) -> None:
    assert "Users" not in text_of(owner, "/admin/auth/user/invite-many/")
    shown = text_of(owner, "/admin/groups/")
    assert "Slug" not in shown
    assert "Name" in shown
