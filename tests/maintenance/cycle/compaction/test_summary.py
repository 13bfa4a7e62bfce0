"""Extractive summaries: sentences of the events with date and speaker, one for each as far as the limit allows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.core.checks import run_checks
from django.test import override_settings
from pytest_django import Settings

from access.errors import Unavailable
from maintenance.cycle.compaction.summary import (
    Extractive,
    Summary,
    SummarySource,
    get_summariser,
    span_text,
    split_sentences,
)

Naming = Callable[[str], override_settings]
MAY_8 = datetime(2023, 5, 8, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def sources(*texts: str, importance: int = 5) -> list[SummarySource]:
    """Events a day apart from 8 May 2023, with the ids 1, 2, 3 …"""
    return [
        SummarySource(UUID(int=at + 1), text, MAY_8 + at * DAY, importance) for at, text in enumerate(texts)
    ]


def lines(made: Sequence[SummarySource], *, sentences: int = 12) -> list[str]:
    text = Extractive().summarise(made, title="Events:", sentences=sentences).text
    return text.splitlines()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        (
            "Dr. Smith uses v2.4.1 on port 80.81. It works.",
            ["Dr. Smith uses v2.4.1 on port 80.81.", "It works."],
        ),
        ("first line\nsecond line", ["first line", "second line"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("今日は雨です。明日は晴れです。", ["今日は雨です。", "明日は晴れです。"]),
        ("e.g. this one stays whole", ["e.g. this one stays whole"]),
        ("…", []),
    ],
)
def test_sentences_are_split_at_their_ends(text: str, parts: list[str]) -> None:
    assert split_sentences(text) == parts


def test_each_event_has_its_sentence_with_its_date_and_speaker() -> None:
    made = sources("Maria: I booked the flight LX 318.", "Tom: the hotel costs 120 euros.")
    assert lines(made) == [
        "Events:",
        "[8 May 2023] Maria: I booked the flight LX 318.",
        "[9 May 2023] Tom: the hotel costs 120 euros.",
    ]


def test_a_later_sentence_keeps_its_speaker() -> None:
    made = sources("Maria: Well. The flight LX 318 to Lisbon leaves on Friday at 9:40.")
    assert lines(made, sentences=1)[1] == (
        "[8 May 2023] Maria: The flight LX 318 to Lisbon leaves on Friday at 9:40."
    )


def test_every_event_gets_a_sentence_before_any_gets_two() -> None:
    made = sources(
        "The migration of billing failed. The migration of billing was repaired. Billing is up again.",
        "Billing was rolled back.",
        "A billing test was written.",
    )
    summary = Extractive().summarise(made, title="Events:", sentences=3)
    assert {source for line in summary.lines for source in line.sources} == {s.id for s in made}
    assert len(summary.lines) == 3


def test_more_sentences_follow_up_to_the_limit_in_order_of_time() -> None:
    made = sources("One failed. Two was repaired.", "Three came.")
    assert lines(made) == [
        "Events:",
        "[8 May 2023] One failed.",
        "[8 May 2023] Two was repaired.",
        "[9 May 2023] Three came.",
    ]


def test_there_are_never_more_sentences_than_allowed() -> None:
    made = sources(*[f"Event number {n} happened. It had the colour {n + 100}." for n in range(20)])
    assert len(lines(made, sentences=12)) == 13


def test_a_repeated_sentence_appears_once_with_all_its_days() -> None:
    made = sources("Backup finished.", "The disk is full.", "Backup finished.")
    summary = Extractive().summarise(made, title="Events:", sentences=12)
    assert summary.text.splitlines()[1] == "[8 and 10 May 2023] Backup finished."
    assert summary.lines[0].sources == (UUID(int=1), UUID(int=3))


def test_of_many_days_the_first_and_the_last_are_named() -> None:
    assert lines(sources(*["Backup finished."] * 6)) == [
        "Events:",
        "[8 May 2023 to 13 May 2023, 6 days] Backup finished.",
    ]


def test_other_numbers_are_another_sentence() -> None:
    made = sources("Backup 17 finished.", "Backup 18 finished.")
    assert lines(made)[1:] == ["[8 May 2023] Backup 17 finished.", "[9 May 2023] Backup 18 finished."]


def test_new_content_is_preferred_to_repetition() -> None:
    made = sources(
        "The billing deploy failed. The billing deploy failed again. The cause was the certificate of 2 May."
    )
    assert lines(made, sentences=2)[1:] == [
        "[8 May 2023] The billing deploy failed again.",
        "[8 May 2023] The cause was the certificate of 2 May.",
    ]


def test_a_very_long_sentence_is_cut_at_a_word() -> None:
    (line,) = lines(sources("word " * 200))[1:]
    assert line.endswith("word …")
    assert len(line) <= 400 + len("[8 May 2023] ") + 2


def test_the_same_events_give_the_same_text() -> None:
    made = sources(*[f"Anna moved box {n} to shelf {n % 3}. It was heavy." for n in range(10)])
    assert len({Extractive().summarise(made, title="t", sentences=7).text for _ in range(5)}) == 1


def test_no_events_give_an_empty_summary() -> None:
    assert Extractive().summarise(sources("…", "!!!"), title="t", sentences=5) == Summary("")


def test_a_span_of_one_day_is_one_day() -> None:
    assert span_text(MAY_8, MAY_8 + timedelta(hours=3)) == "8 May 2023"
    assert span_text(MAY_8, MAY_8 + DAY) == "8 May 2023 to 9 May 2023"


class Shouting:
    """A custom summariser."""

    def summarise(self, sources: Sequence[SummarySource], *, title: str, sentences: int) -> Summary:
        return Summary(f"{title} {len(sources)}!")


@pytest.fixture
def named(settings: Settings) -> Naming:
    """Set another summariser."""

    def name(path: str) -> override_settings:
        limits = replace(settings.LOCI.maintenance, summariser=path)
        return override_settings(LOCI=replace(settings.LOCI, maintenance=limits))

    return name


def test_a_setting_replaces_the_summariser(named: Naming) -> None:
    assert isinstance(get_summariser(), Extractive)
    with named("tests.maintenance.cycle.compaction.test_summary.Shouting"):
        assert get_summariser().summarise(sources("a"), title="t", sentences=1).text == "t 1!"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("no.such.Thing", "ModuleNotFoundError"),
        ("maintenance.cycle.compaction.summary.Nothing", "ImportError"),
        ("collections.Counter", "has no method summarise()"),
    ],
)
def test_an_unusable_summariser_is_reported_by_the_checks(named: Naming, path: str, said: str) -> None:
    assert [m for m in run_checks(tags=["loci"]) if m.id == "maintenance.E001"] == []
    with named(path):
        with pytest.raises(Unavailable, match=r"maintenance\.summariser"):
            get_summariser()
        (message,) = [m for m in run_checks(tags=["loci"]) if m.id == "maintenance.E001"]
    assert path in message.msg
    assert said in message.msg
