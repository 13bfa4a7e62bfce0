"""A run in words: what people read of its counts, steps and changes."""

from maintenance.runs.preview import PreviewedChange
from maintenance.runs.wording import ShownField, format_changes, format_counts, format_steps

ID = "01a1fea0-c086-7571-b4c1-447add3eb14f"


def change(
    step: str = "decay", *, made: bool = False, table: str = "memories_memory", **fields: object
) -> PreviewedChange:
    return PreviewedChange(step, table, ID, "The gate is open", made, dict(fields))  # type: ignore[arg-type]


def test_counts_are_one_line_without_zeros() -> None:
    assert (
        format_counts({"decayed": 3, "expired": 0, "possible_duplicates": 1})
        == "3 decayed, 1 possible duplicate"
    )
    assert format_counts({"summaries": 2, "summaries_dropped": 1}) == "2 summaries, 1 summary dropped"
    assert format_counts({}) == ""


def test_steps_share_the_time() -> None:
    steps = [
        {"step": "decay", "batches": 2, "counts": {"decayed": 9}, "seconds": 1.5, "longest_lock_s": 0.0214},
        {"step": "compact", "batches": 1, "counts": {}, "seconds": 0.5, "longest_lock_s": 0.0},
    ]
    shown = format_steps(steps)
    assert [(one.name, one.counts, one.share, one.longest_lock_ms) for one in shown] == [
        ("decay", "9 decayed", 75, 21),
        ("compact", "", 25, 0),
    ]


def test_the_step_that_finds_pairs_is_shown_by_what_it_finds_even_if_it_took_no_time() -> None:
    empty = {"step": "findings", "batches": 1, "counts": {}, "seconds": 0.0, "longest_lock_s": 0.0}
    assert [(one.name, one.share) for one in format_steps([empty])] == [("duplicates and conflicts", 0)]
    assert [step for step, _ in format_changes([change("findings")])] == ["duplicates and conflicts"]


def test_changes_are_grouped_by_step_in_order() -> None:
    groups = format_changes([change("decay"), change("decay"), change("expire")])
    assert [(step, len(rows)) for step, rows in groups] == [("decay", 2), ("expire", 1)]


def test_values_are_rounded_and_moments_cut_to_minutes() -> None:
    shown = change(
        confidence=[0.7, 0.45391], decayed_at=[None, "2026-11-21T08:47:12.5+00:00"], tags=[[], ["x"]], text=["", "T" * 80]
    )  # fmt: skip
    ((_, (row,)),) = format_changes([shown])
    assert row.fields == (
        ShownField("confidence", "0.7", "0.454"),
        ShownField("decayed", "nothing", "2026-11-21 08:47"),
        ShownField("tags", "[]", "['x']"),
        ShownField("text", "nothing", "T" * 60 + "…"),
    )


def test_a_created_row_shows_its_text_and_what_it_is() -> None:
    ((_, (row,)),) = format_changes([change(made=True, confidence=[None, 0.8])])
    assert (row.made, row.text) == (True, "The gate is open")
    assert row.fields == (ShownField("confidence", "nothing", "0.8"),)


def test_only_memories_have_a_page() -> None:
    ((_, (memory, link)),) = format_changes([change(), change(table="memories_link")])
    assert (memory.is_memory, link.is_memory) == (True, False)
