"""`python -m bench.proof [NAME ...]`: run the proofs, keep what they found, say whether all hold."""

import argparse
import json
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict

from bench.agents.prove import prove_agents
from bench.conformance.prove import prove_conformance
from bench.mutants.prove import prove_mutants
from bench.proof.clients.kills import prove_kills
from bench.proof.clients.writers import prove_writers
from bench.proof.cycle.diary import prove_diaries
from bench.proof.cycle.kills import prove_cycle_kills
from bench.proof.cycle.year import prove_year
from bench.proof.postgres.prove import prove_postgres
from bench.proof.proof import FOLDER, Finding, Proof, ProofError, Workshop, write_whole
from bench.proof.report import as_markdown, machine, write_report
from bench.proof.suite import (
    prove_apart,
    prove_changes,
    prove_lists,
    prove_properties,
    prove_reported,
    prove_withdrawn,
)
from bench.proof.team.prove import prove_team
from bench.scripts.npm import NpmError

# fmt: off
PROOFS = (
    Proof("conformance", "The protocol's own suite finds every required scenario green.", prove_conformance),
    Proof("writers", "Many writers on one store lose nothing and never meet a lock.", prove_writers),
    Proof("kills", "A kill at any moment loses nothing acknowledged and leaves nothing half written.", prove_kills),
    Proof("year", "What a diary answers on its first day it answers after a year of cycles, from fewer rows and in fewer tokens.", prove_diaries),
    Proof("load", "A year of cycles beside writers and readers loses nothing, and each can be taken back exactly.", prove_year),
    Proof("cycle-kills", "A cycle, purge or restore that is killed is finished by the next one; nothing is half-done.", prove_cycle_kills),
    Proof("properties", "Three searches and the rows agree on what each caller may see.", prove_properties),
    Proof("changes", "Whoever changes what, in any order: an undo that is offered restores it, and nothing hidden or trusted less comes back.", prove_changes),
    Proof("apart", "What other groups hold changes no answer, order, number or suggestion of whoever may not enter them.", prove_apart),
    Proof("celery", "Jobs run on time and never twice, whichever process is killed.", prove_reported),
    Proof("duplicates", "Two facts that nearly sound the same both stay; one fact in other words is found.", prove_reported),
    Proof("withdrawn", "A withdrawn text does not come back live in other dress; another fact is not refused.", prove_withdrawn),
    Proof("lists", "Every interface answers every caller as the matrix of rights says, and what is deleted is gone.", prove_lists),
    Proof("team", "Hundreds of cards are decided without waiting, however much is remembered.", prove_team),
    Proof("hostile", "Nobody stops another; a full disk, damaged pages and forged backups do no harm.", prove_reported),
    Proof("hostile-reads", "Whatever texts one person asks for, another person's recalls go on.", prove_reported),
    Proof("poison", "An agent with a write token puts no text of its own before a fact that a person verified.", prove_reported),
    Proof("encryption", "Whoever takes the folder of an encrypted store, in use, killed or backed up, reads no sentence in it.", prove_reported),
    Proof("agents", "The real Claude Code and Codex get what their group knows, once, and leave a checkpoint; a recall's text reaches the model.", prove_agents),
    Proof("postgres", "On PostgreSQL too nothing acknowledged is lost, whichever process is killed, on one site or two.", prove_postgres),
    Proof("extension", "The browser extension loses no turn and keeps none twice, and what is off, removed or revoked is gone.", prove_reported),
    Proof("mutants", "The tests of an area fail if its code is wrong.", prove_mutants),
)
# fmt: on
# Names for several proofs together.
TOGETHER = {"truth": ("year", "load", "cycle-kills", "celery")}
EXAMPLES = """examples:
  python -m bench.proof                  all of them
  python -m bench.proof writers kills    these two
  python -m bench.proof truth            year, load, cycle-kills and celery
  python -m bench.proof --quick          a small look at each; docs/dev/proof.md stays as it is

A run that was stopped goes on where it was; --fresh begins anew.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every proof holds, 1 when one does not, 2 when one could not be run."""
    known = [*(proof.name for proof in PROOFS), *TOGETHER]
    parser = argparse.ArgumentParser(
        prog="python -m bench.proof",
        description="Run Loci's long proofs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; default: all")
    parser.add_argument("--quick", action="store_true", help="run each in small")
    parser.add_argument("--fresh", action="store_true", help="forget what a stopped run has done")
    parser.add_argument("--list", action="store_true", help="name the proofs and what they show")
    options = parser.parse_args(arguments)
    names = [name for said in options.names for name in TOGETHER.get(said, (said,))]
    if unknown := {*names} - {*known}:
        parser.error(f"no proof is called {', '.join(sorted(unknown))}; see --list")
    if options.list:
        print("\n".join(f"{proof.name:12} {proof.claim}" for proof in PROOFS))
        return 0
    # A stop of either kind ends the servers too; a shell's background job would ignore Ctrl-C otherwise.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    chosen = [proof for proof in PROOFS if not names or proof.name in names]
    return max(_prove(proof, is_quick=options.quick, is_fresh=options.fresh) for proof in chosen)


def _prove(proof: Proof, *, is_quick: bool, is_fresh: bool) -> int:
    workshop = Workshop(FOLDER / proof.name, is_quick)
    workshop.folder.mkdir(parents=True, exist_ok=True)
    if is_fresh:
        workshop.forget()
    try:
        finding = proof.run(workshop)
    except (ProofError, NpmError) as error:
        print(f"{proof.name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{proof.name}: stopped; the same command goes on.", file=sys.stderr)
        return 2
    _keep(proof, finding, workshop)
    return 0 if finding.holds else 1


def _keep(proof: Proof, finding: Finding, workshop: Workshop) -> None:
    """Print a finding and keep it; a finished proof begins anew next time, and only a failed one leaves its folders."""
    where = machine()
    print(f"\n{proof.name}: {proof.claim}\n{as_markdown(finding, where)}\n")
    result = {"name": proof.name, "holds": finding.holds, "machine": where, "quick": workshop.is_quick}
    write_whole(FOLDER / f"{proof.name}.json", json.dumps({**result, **asdict(finding)}, indent=1))
    workshop.forget()
    if finding.holds:
        for path in workshop.folder.glob("home-*"):
            shutil.rmtree(path)
    if not workshop.is_quick:
        write_report(proof, finding, where)


if __name__ == "__main__":
    sys.exit(main())
