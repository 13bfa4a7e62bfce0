"""What writers sent and what was acknowledged, on disk as it happens, so that it outlives the run that wrote it."""

import json
from pathlib import Path
from threading import Lock
from typing import Any

from bench.proof.home import Home, make_home, open_home
from bench.proof.proof import Workshop


class Ledger:
    """A file of lines, each a text sent or an acknowledgement of one with its id and outcome."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self.sent: list[str] = []
        self.acknowledged: dict[str, str] = {}
        """Text → id."""
        self.odd_outcomes: list[str] = []
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._take(json.loads(line))

    def send(self, text: str) -> None:
        """Note that `text` is about to be sent."""
        self._write({"sent": text})

    def acknowledge(self, text: str, answer: dict[str, Any]) -> None:
        """Note that the server said `text` is stored. Distinct texts must all be new memories."""
        self._write({"text": text, "id": str(answer["id"]), "outcome": answer["outcome"]})

    def as_json(self) -> dict[str, Any]:
        """What the witness needs."""
        return {"sent": self.sent, "acknowledged": self.acknowledged}

    def _write(self, line: dict[str, str]) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._take(line)

    def _take(self, line: dict[str, str]) -> None:
        if "sent" in line:
            self.sent.append(line["sent"])
            return
        self.acknowledged[line["text"]] = line["id"]
        if line["outcome"] != "created":
            self.odd_outcomes.append(f"{line['outcome']} instead of created: {line['text']}")


def open_round(workshop: Workshop, name: str, *, is_first: bool = True) -> tuple[Home, Ledger, Path]:
    """The home, the ledger and the log of servers that all rounds of a kind share; the first one begins anew."""
    path, file = workshop.folder / f"home-{name}", workshop.folder / f"{name}.jsonl"
    log = workshop.folder / f"{name}.log"
    if not is_first:
        return open_home(path), Ledger(file), log
    file.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    return make_home(path, workshop.database(name)), Ledger(file), log
