"""Files of every foreign format, written by hand with the traps of each; in tests/data/imports."""

import shutil
from pathlib import Path
from typing import Final, NamedTuple
from zipfile import ZipFile

from storage.sqlite.driver import choose_driver

DATA: Final = Path(__file__).parents[2] / "data" / "imports"


class Sample(NamedTuple):
    """A file or folder of a format; an .sql file is the text of a database."""

    format: str
    file: str


SAMPLES: Final = (
    Sample("mcp-memory", "mcp_memory.jsonl"),
    Sample("mem0", "mem0.json"),
    Sample("mem0", "mem0_history.sql"),
    Sample("mcp-memory-service", "mcp_memory_service.json"),
    Sample("mcp-memory-service", "mcp_memory_service.sql"),
    Sample("claude-mem", "claude_mem.sql"),
    Sample("claude-mem", "claude_mem.json"),
    Sample("basic-memory", "basic_memory"),
    Sample("claude-code", "claude_code"),
    Sample("obsidian", "obsidian"),
    Sample("chatgpt", "chatgpt"),
    Sample("claude-ai", "claude_ai"),
    Sample("gemini", "gemini"),
    Sample("markdown", "markdown"),
    Sample("csv", "table.csv"),
    Sample("locus", "locus"),
)
IDS: Final = [sample.file for sample in SAMPLES]


def placed(sample: Sample, folder: Path) -> Path:
    """A copy of a sample in a folder of its own; a database is made from its text."""
    source = DATA / sample.file
    if source.is_dir():
        return Path(shutil.copytree(source, folder / source.name))
    if source.suffix != ".sql":
        return Path(shutil.copy(source, folder / source.name))
    target = folder / f"{source.stem}.db"
    connection = choose_driver().module.connect(target)  # type: ignore[union-attr]
    connection.executescript(source.read_text())
    connection.close()
    return target


def zipped(folder: Path) -> Path:
    """A zip of a folder beside it, with the folder's name in front of each name."""
    target = folder.with_suffix(".zip")
    with ZipFile(target, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, f"{folder.name}/{file.relative_to(folder)}")
    return target
