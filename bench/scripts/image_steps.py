"""The steps of the Dockerfile without a container daemon, in a new folder: `python -m bench.scripts.image_steps`.

Every RUN of the stages `build` and `model` is run as written, in a copy of the build context; absolute paths of the image become
folders below the new one, through the ARGs. Then the program starts with the ENV of the last stage, and its HEALTHCHECK must succeed.
"""

import ast
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.proof.server import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
STAGES_TO_RUN = ("build", "model")
HEALTHY_WITHIN_S = 120
PORT = 8000  # of the image


def instructions(dockerfile: str) -> list[tuple[str, str, str]]:
    """Stage, instruction and arguments of each line of a Dockerfile, continued lines joined."""
    text = re.sub(r"^#.*\n", "", dockerfile, flags=re.M).replace("\\\n", " ")
    found, stage = [], ""
    for line in filter(None, map(str.strip, text.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stage = rest.split(" AS ")[1].strip()
        found.append((stage, word, " ".join(rest.split())))
    return found


def copy_context(target: Path) -> None:
    """Copy what Docker would send, by .dockerignore."""
    patterns = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").split()

    def ignored(folder: str, names: list[str]) -> set[str]:
        inside = Path(folder).relative_to(REPOSITORY)
        paths = {name: (inside / name).as_posix() for name in names}
        return {
            name
            for name, path in paths.items()
            if any(
                fnmatch.fnmatch(path, pat) or fnmatch.fnmatch(name, pat.removeprefix("**/"))
                for pat in patterns
            )
        }

    shutil.copytree(REPOSITORY, target, ignore=ignored, symlinks=True)


def variables(steps: list[tuple[str, str, str]]) -> dict[str, str]:
    """The ENV of the last stages, without PATH."""
    pairs = [pair for _, word, rest in steps if word == "ENV" for pair in re.findall(r"(\w+)=(\S+)", rest)]
    return {name: value for name, value in pairs if name != "PATH"}


def build(steps: list[tuple[str, str, str]], folder: Path) -> None:
    """Run the steps that install Loci and the model."""
    places = {"PREFIX": str(folder / "loci"), "MODELS": str(folder / "models")}
    for stage, word, rest in steps:
        if word == "RUN" and stage in STAGES_TO_RUN:
            sys.stdout.write(f"[{stage}] {rest}\n")
            sys.stdout.flush()
            began = time.monotonic()
            subprocess.run(["sh", "-ec", rest], cwd=folder / "src", env=clean() | places, check=True)
            sys.stdout.write(f"  {time.monotonic() - began:.0f} s\n")


def clean() -> dict[str, str]:
    """The environment without anything of Loci or of the virtual environment that runs this."""
    paths = [path for path in os.environ["PATH"].split(os.pathsep) if ".venv" not in path]
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LOCI_", "PYTHON", "VIRTUAL"))
    }
    return kept | {"PATH": os.pathsep.join(paths)}


def check_health(steps: list[tuple[str, str, str]], folder: Path) -> bool:
    """Start the program as the last stage does, and wait until the HEALTHCHECK succeeds."""
    (check,) = (rest.split("CMD ", 1)[1] for _, word, rest in steps if word == "HEALTHCHECK")
    env = clean() | variables(steps) | {"LOCI_HOME": str(folder / "data")}
    env["LOCI_MODEL_DIR"] = env["LOCI_MODEL_DIR"].replace("/opt/models", str(folder / "models"))
    port = free_port()
    env["LOCI_PORT"] = str(port)
    probe = [word.replace(f":{PORT}/", f":{port}/") for word in ast.literal_eval(check)]
    env["PATH"] = f"{folder / 'loci' / 'bin'}{os.pathsep}{env['PATH']}"
    started = subprocess.Popen(["loci", "up"], cwd=folder, env=env)
    try:
        deadline = time.monotonic() + HEALTHY_WITHIN_S
        while time.monotonic() < deadline and started.poll() is None:
            if subprocess.run(probe, env=env, capture_output=True, check=False).returncode == 0:
                return True
            time.sleep(1)
        return False
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(30)


def main() -> None:
    """Build, start, check, and remove the folder."""
    steps = instructions((REPOSITORY / "Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="loci-image-") as name:
        folder = Path(name)
        copy_context(folder / "src")
        build(steps, folder)
        if not check_health(steps, folder):
            sys.exit("The HEALTHCHECK did not succeed.")
    sys.stdout.write("The image's steps work: built, started, healthy, stopped.\n")


if __name__ == "__main__":
    main()
