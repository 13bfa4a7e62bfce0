"""Completion in a real bash: commands, subcommands, options and choices, wherever options stand between."""

import shutil
import subprocess

import pytest

from loci_site.management.cli import main
from loci_site.management.command_list import completion_script

BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def script() -> str:
    return completion_script("bash")


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_at_every_place(script: str) -> None:
    lines = ["loci rem", "loci token cr", "loci token create --us", "loci doctor --", "loci --print-c",
             "loci export --overwrite --gro", "loci-team-memory up --po", "loci --ver"]  # fmt: skip
    asks = "\n".join(
        f'COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; _loci; echo "${{COMPREPLY[*]}}"'
        for line in lines
    )
    done = subprocess.run(["bash", "-c", f"{script}\n{asks}"], capture_output=True, text=True, check=True)
    found = dict(zip(lines, done.stdout.splitlines(), strict=True))
    assert found["loci rem"] == "remember"
    assert found["loci token cr"] == "create"
    assert found["loci token create --us"] == "--user"
    assert set(found["loci doctor --"].split()) == {"--help", "--repair", "--quick", "--json"}
    assert found["loci --print-c"] == "--print-completion"
    assert found["loci export --overwrite --gro"] == "--group"
    assert found["loci-team-memory up --po"] == "--port"
    assert found["loci --ver"] == "--version"
    assert "complete -o default -F _loci loci loci-team-memory" in script


def test_zsh_gets_the_same_with_its_emulation(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["loci", "--print-completion", "zsh"])
    said = capsys.readouterr().out
    assert said.endswith(script)
    assert "bashcompinit" in said.splitlines()[1]
    with pytest.raises(SystemExit, match="2"):
        main(["loci", "--print-completion", "fish"])
