"""The worker process of `loci up`: what `celery -A loci_site worker` runs, ended with its parent."""

import argparse
import gc
import shutil
import warnings
from collections.abc import Sequence

from django.conf import settings

from loci_site.server.process import end_with_parent
from loci_site.worker import app
from storage.home import ensure_home


def main(argv: Sequence[str] | None = None) -> None:
    """Do the jobs that are due until a signal arrives."""
    parser = argparse.ArgumentParser(prog="python -m loci_site.worker.process")
    parser.add_argument("--parent", type=int, default=0, help="end with this process")
    parent = parser.parse_args(argv).parent
    if parent:
        end_with_parent(parent)
    gc.disable()  # until it has started: nearly all that is loaded stays
    home = ensure_home(settings.LOCI.home)
    shutil.rmtree(home / "queue", ignore_errors=True)  # of a version that kept its messages in files
    # Root is dangerous with pickled messages; ours are JSON, and root is common in containers.
    warnings.filterwarnings("ignore", message=".*superuser privileges.*")
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    app.worker_main(["--quiet", "worker", "-l", settings.LOCI.server.log_level, *quiet])


if __name__ == "__main__":
    main()
