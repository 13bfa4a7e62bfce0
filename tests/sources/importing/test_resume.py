"""An import killed in the middle resumes where it stopped."""

import json
import subprocess
import sys
from pathlib import Path

from tests.settings import REPOSITORY
from tests.sources.other_store import OtherStore

TURNS = 400


def test_a_killed_import_goes_on_and_loses_nothing(other: OtherStore, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    lines = [
        {"id": n, "text": f"This is turn number {n} of the talk.", "group": "talk", "session": f"s{n // 150}"}
        for n in range(TURNS)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "tests.sources.importing.stopped_import", str(file)],
        cwd=REPOSITORY,
        env=other.environment,
        stdout=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"20\n"
        running.kill()
        said = running.stdout.read().split()
    promised = int(said[-1]) if said else 20

    broken = other.dump()
    there = len(broken["memory"])
    assert promised <= there < TURNS
    assert there % 20 == 0
    assert broken["faults"] == []
    assert all(broken["chains"].values())

    answer = other.manage("import", str(file), "--json")
    assert answer.code == 0, answer.err
    assert (answer.json["unchanged"], answer.json["created"]) == (there, TURNS - there)
    whole = other.dump()
    assert whole["faults"] == []
    places = {row["source_ref"]: (row["to_thread"], row["position"]) for row in whole["memory"]}
    assert places == {str(n): (f"s{n // 150}", n % 150) for n in range(TURNS)}
    contexts = {row["source_ref"]: row["context"] for row in whole["memory"]}
    assert contexts["0"] == "This is turn number 1 of the talk."
    assert contexts["20"] == "This is turn number 19 of the talk.\nThis is turn number 21 of the talk."
