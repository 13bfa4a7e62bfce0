"""Public benchmarks in their own layouts: small samples of the same shape, through the command that measures them."""

import json
from datetime import date
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from access.errors import InvalidInput
from bench.evaluate.command import Command
from bench.evaluate.layouts import open_set
from memories.embedding import get_encoder

LONGMEMEVAL = {
    "question_id": "q-Dog_1",
    "question_type": "single-session-user",
    "question": "What is my dog called?",
    "answer": "Rufus",
    "question_date": "2023/06/01 (Thu) 10:00",
    "haystack_session_ids": ["s1", "s2", "s3"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 09:00", "2023/05/22 (Mon) 18:30"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "My dog is called Rufus.", "has_answer": True},
            {"role": "assistant", "content": "A fine name."},
        ],
        [{"role": "user", "content": "Which tyres fit a gravel bike?"}, {"role": "assistant", "content": ""}],
        [{"role": "user", "content": "Plan three vegetarian dinners."}],
    ],
    "answer_session_ids": ["s1"],
}
ABSTENTION = {**LONGMEMEVAL, "question_id": "q2_abs", "question": "What is my cat called?"}
LOCOMO = {
    "sample_id": "conv-7",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "I adopted a parrot named Kiko."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red bicycle"},
        ],
        "session_2_date_time": "9:05 am on 2 June, 2023",
        "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I moved to Lisbon last week."}],
        "session_3_date_time": "9:05 am on 3 June, 2023",
    },
    "qa": [
        {"question": "What is Ada's parrot called?", "answer": "Kiko", "evidence": ["D1:1"], "category": 4},
        {"question": "Who moved, and who has a pet?", "answer": "both", "evidence": ["D2:01; D1:1"], "category": 1},
        {"question": "What did Ada's cat eat?", "adversarial_answer": "fish", "evidence": ["D1:1"], "category": 5},
        {"question": "What would Ben study?", "answer": "law", "evidence": [], "category": 3},
        {"question": "", "answer": "law", "evidence": ["D1:1"], "category": 4},
        "not a question",
    ],
}  # fmt: skip
BEAM_CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                {
                    "role": "user",
                    "id": 0,
                    "time_anchor": "March-15-2024",
                    "content": "I use Flask 2.3. ->-> 1,1",
                },
                {"role": "assistant", "id": 1, "content": "Good choice."},
            ],
            [{"role": "user", "id": 2, "content": "My deadline is in May. ->-> 1,2"}],
        ],
    },
    {
        "batch_number": 2,
        "turns": [[{"role": "user", "id": 3, "time_anchor": "April-02-2024", "content": "It is June now."}]],
    },
]
BEAM_QUESTIONS = {
    "abstention": [{"question": "Who pays me?", "ideal_response": "There is no information."}],
    "information_extraction": [{"question": "Which Flask?", "answer": "2.3", "source_chat_ids": [0]}],
    "knowledge_update": [
        {"question": "When is my deadline?", "source_chat_ids": {"original_info": [2], "updated_info": [3]}},
        {"question": "Of what?", "source_chat_ids": []},
    ],
}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def texts_of(folder: Path) -> dict[str, dict[str, Any]]:
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["id"]: line for line in map(json.loads, lines)}


def relevant(read: Any) -> dict[str, tuple[str, ...]]:
    return {query.id: query.relevant for query in read.answerable}


def test_longmemeval_is_read_by_session_or_by_turn(tmp_path: Path) -> None:
    file = write(tmp_path / "longmemeval_s.json", [LONGMEMEVAL, ABSTENTION])
    folder, read = open_set(file, tmp_path)
    assert folder.name == "longmemeval_s_session"
    assert relevant(read) == {"q-Dog_1": ("q-dog_1/s1",)}
    assert [(query.id, query.category) for query in read.unanswered] == [("q2_abs", "abstention")]
    text = texts_of(folder)["q-dog_1/s1"]
    assert text["text"] == "User: My dog is called Rufus.\nAssistant: A fine name."
    assert (text["group"], text["timestamp"]) == ("q-dog_1", "2023-05-20T02:21:00")
    assert read.answerable[0].asked == date(2023, 6, 1)
    assert read.origin["sha256"] == sha256(file.read_bytes()).hexdigest()
    folder, read = open_set(file, tmp_path, unit="turn")
    assert folder.name == "longmemeval_s_turn"
    assert relevant(read) == {"q-Dog_1": ("q-dog_1/s1/1",)}
    assert texts_of(folder)["q-dog_1/s1/2"]["session"] == "q-dog_1/s1"
    assert read.faults == ("q-dog_1/s2/2: the text is empty", "q2_abs/s2/2: the text is empty")


def test_locomo_is_read_by_turn_or_by_session(tmp_path: Path) -> None:
    file = write(tmp_path / "locomo10.json", [LOCOMO])
    folder, read = open_set(file, tmp_path)
    assert relevant(read) == {
        "conv-7/q0": ("conv-7/D1:1",),
        "conv-7/q1": ("conv-7/D2:1", "conv-7/D1:1"),
    }
    assert [query.category for query in (*read.answerable, *read.unanswered)] == [
        "single-hop",
        "multi-hop",
        "adversarial",
    ]
    assert texts_of(folder)["conv-7/D1:2"] == {
        "id": "conv-7/D1:2",
        "text": "Ben: Look! [shares a photo: a red bicycle]",
        "group": "conv-7",
        "session": "conv-7/S1",
        "speaker": "Ben",
        "timestamp": "2023-05-08T13:56:00",
    }
    assert read.faults == (
        "conv-7/q3: it names no turn as evidence",
        "conv-7/q4: the question is empty",
        "conv-7/q5: the question is empty",
    )
    folder, read = open_set(file, tmp_path, unit="session")
    assert relevant(read)["conv-7/q1"] == ("conv-7/S2", "conv-7/S1")
    assert set(texts_of(folder)) == {"conv-7/S1", "conv-7/S2"}


def test_beam_is_read_from_its_folders_or_from_rows_of_the_hub(tmp_path: Path) -> None:
    chats = tmp_path / "100K"
    files = [
        write(chats / "2" / "chat.json", BEAM_CHAT),
        write(chats / "2" / "probing_questions" / "probing_questions.json", BEAM_QUESTIONS),
    ]
    write(chats / "10" / "probing_questions" / "probing_questions.json", BEAM_QUESTIONS)
    folder, read = open_set(chats, tmp_path, limit=2)
    wanted = {
        "beam2/information_extraction0": ("beam2/0",),
        "beam2/knowledge_update0": ("beam2/2", "beam2/3"),
    }
    assert relevant(read) == wanted
    assert [query.id for query in read.unanswered] == ["beam2/abstention0"]
    assert texts_of(folder)["beam2/0"]["text"] == "User: I use Flask 2.3."
    assert [(line["session"], line["timestamp"]) for line in texts_of(folder).values()] == [
        *[("beam2/B1", "2024-03-15T00:00:00")] * 3,
        ("beam2/B2", "2024-04-02T00:00:00"),
    ]
    assert read.faults == ("beam2/knowledge_update1: it names no turn as evidence",)
    files[1].parents[2].joinpath("10", "chat.json").write_text("cut off [", encoding="utf-8")
    faults = open_set(chats, tmp_path)[1].faults
    assert [fault for fault in faults if fault.startswith("sample 2: it is malformed")]
    batches = [[message for turn in batch["turns"] for message in turn] for batch in BEAM_CHAT]
    row = {"conversation_id": "2", "chat": batches, "probing_questions": repr(BEAM_QUESTIONS)}
    folder, read = open_set(write(tmp_path / "rows.json", [row]), tmp_path)
    assert relevant(read) == wanted


def test_what_cannot_be_used_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    cut = {**LONGMEMEVAL, "question_id": "cut", "haystack_dates": []}
    odd = {
        **LONGMEMEVAL,
        "question_id": "odd",
        "answer_session_ids": ["gone"],
        "haystack_dates": ["soon"] * 3,
    }
    odd["haystack_session_ids"] = ["s1", "s1", "s3"]
    bare = {**LONGMEMEVAL, "question_id": "bare", "answer_session_ids": []}
    bare["haystack_sessions"] = [["no turn"], [{"role": "user"}], [{"role": "user", "content": "Hello."}]]
    file = write(tmp_path / "s.json", [LONGMEMEVAL, cut, "no sample", odd, bare])
    read = open_set(file, tmp_path)[1]
    assert [query.id for query in read.answerable] == ["q-Dog_1", "odd"]
    assert read.unknown_ids == 1
    for fault in (
        "sample 2: it is malformed: ValueError",
        "sample 3: it is malformed",
        "odd/s1/1: 'soon' is not a date",
        "odd/s1/1: another turn has this id",
        "bare/s1/1: the text is empty",
        "bare: it names no session as evidence",
    ):
        assert any(told.startswith(fault) for told in read.faults), fault
    file.write_text(file.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    read = open_set(file, tmp_path)[1]
    assert [query.id for query in read.answerable] == ["q-Dog_1", "odd"]
    assert read.faults[-1].startswith("after sample 4: ")


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_yesterday_is_told_from_the_day_of_the_question(tmp_path: Path) -> None:
    get_encoder(timeout_s=60)
    bought = {**LONGMEMEVAL, "question": "What did I buy yesterday?", "haystack_session_ids": ["s1", "s2"]}
    bought["haystack_dates"] = ["2023/05/20 (Sat) 02:21", "2023/05/31 (Wed) 09:00"]
    bought["haystack_sessions"] = [
        [{"role": "user", "content": f"I bought a {it}."}] for it in ("lamp", "chair")
    ]
    samples = [
        {**bought, "question_id": "may", "question_date": "2023/05/21 (Sun) 10:00"},
        {**bought, "question_id": "june", "question_date": "2023/06/01 (Thu) 10:00"},
    ]
    file, out = write(tmp_path / "s.json", samples), StringIO()
    call_command(Command(), str(file), "--mode", "hybrid", "--json", "--each", stdout=out)
    rows = json.loads(out.getvalue())["hybrid"]["each"]
    assert [row["ranking"][0] for row in rows] == ["may/s1", "june/s2"]


@pytest.mark.parametrize("value", [[], {}, [{"id": 1}], "text", [{**LONGMEMEVAL, "question": ""}]])
def test_a_file_without_a_known_layout_or_question_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"none of these layouts: LongMemEval, LoCoMo, BEAM|can be used"):
        open_set(write(tmp_path / "file.json", value), tmp_path)


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_a_published_file_is_measured_in_one_line(tmp_path: Path) -> None:
    get_encoder(timeout_s=60)
    file = write(tmp_path / "longmemeval_oracle.json", [LONGMEMEVAL, ABSTENTION])
    out = StringIO()
    call_command(Command(), str(file), "--mode", "hybrid", "--json", "--each", stdout=out)
    told = json.loads(out.getvalue())
    digest = sha256(file.read_bytes()).hexdigest()
    counts = told["questions"]["longmemeval_oracle_session"]
    assert (counts["layout"], counts["sha256"]) == ("LongMemEval", digest)
    assert (counts["asked"], counts["without_answer"]) == (1, 1)
    assert told["hybrid"]["all"]["any@5"] == told["hybrid"]["all"]["all@5"] == 1.0
    assert "single-session-user" in told["hybrid"]["categories"]
    [row] = told["hybrid"]["each"]
    assert (row["id"], row["ranking"][0], row["nDCG@10"]) == ("q-Dog_1", "q-dog_1/s1", 1.0)
    out = StringIO()
    call_command(Command(), str(file), "--abstain", stdout=out)
    assert digest in out.getvalue()
    [judged] = [
        line for line in out.getvalue().splitlines() if line.startswith("abstention") and " of " in line
    ]
    assert judged.endswith(" of 1")
