"""`manage.py model` renders what the functions say, and fails with their words."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings


def run(*arguments: str) -> str:
    output = io.StringIO()
    call_command("model", *arguments, stdout=output)
    return output.getvalue()


def run_json(*arguments: str) -> dict[str, Any]:
    answer = json.loads(run(*arguments, "--json"))
    assert isinstance(answer, dict)
    return answer


def test_status_of_nothing_says_what_to_run(tmp_path: Path) -> None:
    assert run("status", "--dest", str(tmp_path)) == (
        f"absent: all-MiniLM-L6-v2@1110a243/256/mean/r1 at {tmp_path}/all-MiniLM-L6-v2"
        " (Run `loci model install`.)\n"
    )


@pytest.mark.model
def test_install_status_and_verify_of_a_folder_of_the_user(ready: Path, tmp_path: Path) -> None:
    dest = ("--dest", str(tmp_path / "models"))

    installed = run_json("install", "--from", str(ready), *dest)
    status = run_json("status", *dest)
    verified = run_json("verify", *dest)

    path = str(tmp_path / "models" / "all-MiniLM-L6-v2")
    assert (installed["path"], installed["was_installed"]) == (path, False)
    assert (status["path"], status["state"]) == (path, "installed")
    assert verified["lowest_cosine"] > 0.994
    assert "was already installed at" in run("install", "--from", str(ready), *dest)
    assert "is valid: hashes match" in run("verify", *dest)


@pytest.mark.model
def test_the_setting_names_the_user_s_folder(ready: Path, tmp_path: Path) -> None:
    embedding = replace(settings.LOCI.embedding, model_dir=ready)

    with override_settings(LOCI=replace(settings.LOCI, home=tmp_path, embedding=embedding)):
        assert run_json("install")["source"] == str(ready)


def test_a_failed_installation_is_a_failed_command(tmp_path: Path) -> None:
    with pytest.raises(
        CommandError, match=r"The embedding model was not installed\. .*tokenizer\.json does not exist"
    ):
        run("install", "--from", str(tmp_path), "--dest", str(tmp_path / "models"))


def test_a_failed_verification_tells_programs_why(tmp_path: Path) -> None:
    output = io.StringIO()

    with pytest.raises(CommandError) as caught:
        call_command("model", "verify", "--dest", str(tmp_path), "--json", stdout=output)

    assert caught.value.returncode == 1
    assert json.loads(output.getvalue())["code"] == "model_unavailable"


@pytest.mark.parametrize("action", [(), ("install",), ("status",), ("verify",)])
def test_help_shows_examples(action: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        call_command("model", *action, "--help")

    assert caught.value.code == 0
    assert "loci model verify" in capsys.readouterr().out
