"""remember, recall, inspect and stats: what they print and how they end."""

import json

import pytest

from access.models import Group
from access.tokens import operator
from memories.draft import EditDraft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.edit import edit
from memories.models import Memory, RecallLog
from tests.loci_site.management.conftest import Run

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def remember(run: Run, text: str, *words: str) -> str:
    return str(json.loads(run("remember", text, "--group", "ledger", "--json", *words).out)["id"])


def test_a_text_is_remembered_and_recalled_by_meaning(run: Run) -> None:
    said = run("remember", "We settled on PostgreSQL 16 for the ledger.", "--group", "ledger")
    memory = Memory.objects.get()
    assert said.out == f"Created {memory.id} in ledger (a new group).\n"
    assert (said.status, memory.author_name, memory.scope) == (0, "operator", "group")
    answer = run("recall", "which database do we use?", "--group", "ledger")
    lines = answer.out.splitlines()
    assert lines[0] == " 1. We settled on PostgreSQL 16 for the ledger."
    assert lines[1].startswith(f"    {memory.id} · semantic · ledger · ")
    assert answer.status == 0


def test_search_is_recall(run: Run) -> None:
    id_ = remember(run, "The deploy port is 8081.")
    found = json.loads(run("recall", "deploy port", "--group", "ledger", "--json").out)
    assert [item["id"] for item in found["results"]] == [id_]


def test_a_recall_is_counted_before_the_command_ends(run: Run) -> None:
    remember(run, "The deploy port is 8081.")
    run("recall", "deploy port", "--group", "ledger")
    assert (Memory.objects.get().access_count, RecallLog.objects.get().via) == (1, "command")


def test_nothing_relevant_ends_with_3(run: Run, ledger: Group) -> None:
    empty = run("recall", "anything", "--group", "ledger")
    assert (empty.out, empty.status) == ("Nothing relevant in ledger.\n", 3)
    remember(run, "The deploy port is 8081.")
    said = run("recall", "zebras in the savanna", "--group", "ledger")
    assert said.out.startswith(
        "Nothing relevant in ledger. Closest matches (low confidence):\n 1. The deploy port is 8081."
    )
    assert said.status == 3


def test_what_is_found_is_cut_to_the_budget_and_what_is_near_and_fits_none_is_told_so(run: Run) -> None:
    long = "The deploy port is 8081, since " + "the firewall lets it through and " * 10 + "so on."
    remember(run, long)
    cut = run("recall", "deploy port", "--group", "ledger", "--token-budget", "60")
    assert cut.out.startswith(" 1. The deploy port is 8081, since")
    assert "…" in cut.out
    assert cut.status == 0
    none = run("recall", "zebras in the savanna", "--group", "ledger", "--token-budget", "50")
    assert none.out.splitlines() == [
        "Nothing relevant in ledger.",
        "1 of the closest matches, but none fits the token budget: raise --token-budget, or use --summary-only.",
    ]
    assert none.status == 3


def test_standard_input_is_read_and_cut_into_lines(run: Run) -> None:
    run("remember", "-", "--group", "ledger", stdin="Grüße\naus Köln".encode())
    assert Memory.objects.get().content == "Grüße\naus Köln"
    said = run(
        "remember", "-", "--lines", "--group", "ledger", stdin=b"One fact.\n\nAnother thing entirely.\n"
    )
    assert said.out.count("Created") == 2
    assert Memory.objects.count() == 3


def test_every_option_reaches_the_memory(run: Run) -> None:
    old = remember(run, "The port is 8081.")
    new = remember(
        run, "The port is 8082.", "--type", "semantic", "--scope", "global", "--tag", "Ops", "--tag", "port",
        "--confidence", "0.9", "--importance", "8", "--source", "wiki", "--thread", "t", "--supersedes", old,
        "--valid-from", "2026-02-01T00:00:00+01:00", "--expires-at", "2099-01-01T00:00:00Z",
    )  # fmt: skip
    memory = Memory.objects.get(id=new)
    assert (memory.tags, memory.confidence, memory.importance, memory.source) == (
        ["ops", "port"],
        0.9,
        8,
        "wiki",
    )
    assert str(memory.valid_from) == "2026-01-31 23:00:00+00:00"
    assert (Memory.objects.get(id=old).state, memory.root_key) == (
        "superseded",
        Memory.objects.get(id=old).key,
    )


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (["", "--group", "ledger"], b"", "'content' is empty."),
        (["a\x00b", "--group", "ledger"], b"", "NUL character at position 1"),
        (["\ud800", "--group", "ledger"], b"", "half of a surrogate pair"),
        (
            ["x", "--group", "ledger", "--confidence", "7"],
            b"",
            "confidence is 7.0; it must be a number from 0 to 1.",
        ),
        (["x", "--group", "ledger", "--confidence", "nan"], b"", "confidence is nan"),
        (["x", "--group", "ledger", "--supersedes", "it"], b"", "'it' is not a memory id."),
        (["x", "--group", "ledger", "--valid-from", "soon"], b"", "'soon' in valid_from is not a date."),
        (["x", "--group", "No Group"], b"", "'No Group' is not a valid group name."),
        (["x"], b"", "No group is named and there is no default."),
        (["-", "--group", "ledger"], b"\xff\xfe", "Standard input is not UTF-8 (byte 0)."),
        (["-", "--group", "ledger"], b"x" * 5_000_000, "Standard input has more than 400,000 bytes."),
        (["-", "--lines", "--group", "ledger"], b"\n\n", "'content' is empty."),
    ],
)
def test_bad_input_is_said_in_words_and_nothing_is_written(
    run: Run, words: list[str], stdin: bytes, said: str
) -> None:
    ended = run("remember", *words, stdin=stdin)
    assert (ended.status, said in ended.error) == (1, True), ended
    assert Memory.objects.count() == 0


@pytest.mark.parametrize("query", ["?!", 'c++ OR "x" AND (', "🦊", "日本語", "مرحبا"])
def test_any_question_is_answered(run: Run, ledger: Group, query: str) -> None:
    remember(run, "c++ 日本語 مرحبا 🦊 are four words.")
    assert run("recall", query, "--group", "ledger").status in (0, 3)


def test_errors_are_json_where_the_answer_would_be(run: Run) -> None:
    ended = run("stats", "--group", "nowhere", "--json")
    assert json.loads(ended.out)["code"] == "group_not_found"
    assert ended.status == 1


def test_text_that_would_drive_a_terminal_is_made_visible(run: Run) -> None:
    # What is older than the guard has marks of direction; they must not act on the way out.
    id_ = remember(run, "Right left and more text.")
    Memory.objects.filter(id=id_).update(content="Right\u202eleft and \u2066more\u2069 text.")
    for said in (run("recall", "right left", "--group", "ledger").out, run("memory", "inspect", id_).out):
        assert "\u202e" not in said
        assert "\\x202e" in said


def test_lines_fit_the_terminal_also_with_wide_letters(run: Run) -> None:
    remember(run, "記憶は" * 40)
    answer = run("recall", "記憶は", "--group", "ledger", columns=60)
    texts = [line for line in answer.out.splitlines() if "記憶" in line]
    assert len(texts) > 3
    assert all(4 + 2 * len(line.strip().removeprefix("1. ")) <= 60 for line in texts)


def test_explain_shows_steps_and_numbers(run: Run) -> None:
    remember(run, "The deploy port is 8081.")
    said = run("recall", "deploy port", "--group", "ledger", "--explain").out
    assert "Steps" in said
    for step in ("question", "candidates", "score", "relevance"):
        assert f"\n{step} " in said
    assert "Scores" in said


def test_list_shows_the_newest_first_and_goes_on(run: Run) -> None:
    ids = [json.loads(run("remember", f"Shed {n} is locked.", "--group", "ledger", "--json").out)["id"] for n in range(3)]  # fmt: skip
    first = json.loads(
        run("memory", "list", "--group", "ledger", "--words", "shed", "--limit", "2", "--json").out
    )
    assert [item["id"] for item in first["items"]] == ids[:0:-1]
    rest = run("memory", "list", "--group", "ledger", "--words", "shed", "--cursor", first["next"]).out
    assert "Shed 0 is locked." in rest
    assert ids[0][-8:] in rest
    assert "Shed 1" not in rest
    assert run("memory", "list", "--group", "ledger", "--words", "elephant").out.strip() == "No memories."


def test_inspect_shows_a_memory_from_all_sides(run: Run) -> None:
    id_ = remember(run, "The deploy port is 8081.", "--tag", "ops")
    said = run("memory", "inspect", id_, "--query", "deploy port").out
    assert said.startswith("The deploy port is 8081.\n")
    assert "tags        ops" in said
    assert "Asked “deploy port”: it ranks 1." in said
    assert json.loads(run("memory", "inspect", id_, "--json").out)["memory"]["id"] == id_
    assert run("memory", "inspect", "0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f").status == 1


def test_inspect_shows_the_ends_of_relations_as_they_stand_now(run: Run, ledger: Group) -> None:
    tied = store_relation(operator(), RelationDraft("Anna", "leads", "Data team", group="ledger"))
    edit(operator(), tied.subject.id, EditDraft(content="Anna Berg"))
    table = run("memory", "inspect", str(tied.object.id)).out.split("Relations\n")[1].splitlines()
    assert table[0].split() == ["Anna", "Berg", "leads", "Data", "team"]


def test_stats_count_one_group_or_all(run: Run, garden: Group) -> None:
    remember(run, "The deploy port is 8081.")
    run("remember", "The roses need water.", "--group", "garden", "--scope", "group")
    assert run("stats").out.startswith("2 memories in 2 groups, 2 of them live\n")
    assert json.loads(run("stats", "--group", "garden", "--json").out)["by_scope"] == {"group": 1}
