"""Loci's settings over a home folder of this test process alone; never the user's own.

The test runner loads these before any conftest. Each of its worker processes makes a folder for itself.
"""

import atexit
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
HOME = Path(tempfile.mkdtemp(prefix="loci-test-"))
# Of all processes of a run; the runner reads this file before it starts the others, and cleans up.
IS_FIRST = "LOCI_TEST_SHARED" not in os.environ
SHARED = Path(os.environ.get("LOCI_TEST_SHARED") or tempfile.mkdtemp(prefix="loci-shared-"))
os.environ["LOCI_TEST_SHARED"] = str(SHARED)
# LOCI_TEST_DB=postgres runs the tests on a PostgreSQL of their own (tests/postgres.py) instead of SQLite.
IS_POSTGRES = os.environ.get("LOCI_TEST_DB", "sqlite") == "postgres"
POSTGRES = SHARED / "postgres"
MODELS = Path(os.environ.get("LOCI_TEST_MODELS") or REPOSITORY / ".loci-test" / "models").absolute()

# A run starts Loci some two hundred times. Where Python is told to keep nothing that it compiled (container images like
# to), each start would compile the code anew: half a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if MODELS.is_dir():
    (HOME / "models").symlink_to(MODELS)
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
if IS_FIRST:
    atexit.register(shutil.rmtree, SHARED, ignore_errors=True)

# What a test starts (a command, a server) shall see the same home and nothing of the user's own settings.
for _name in [*os.environ]:
    if _name.startswith("LOCI_") and not _name.startswith(("LOCI_TEST_", "LOCI_SQLITE_DRIVER")):
        del os.environ[_name]
for _name in ("DATABASE_URL", "DATABASE_REPLICA_URL", "REDIS_URL"):
    os.environ.pop(_name, None)
os.environ["LOCI_HOME"] = str(HOME)
# LOCI_TEST_ENCRYPTION=1 runs the tests on an encrypted store, with a key in the environment and plain files beside it.
IS_ENCRYPTED = os.environ.get("LOCI_TEST_ENCRYPTION") == "1"
ENCRYPTION: dict[str, str] = {}
if IS_ENCRYPTED:
    ENCRYPTION |= {"LOCI_STORAGE_ENCRYPTION": "sqlcipher", "LOCI_DB_KEY": "5e" * 32}
    ENCRYPTION |= {"LOCI_FILES_BESIDE_ENCRYPTION": "true"}
os.environ |= ENCRYPTION
if IS_POSTGRES:
    os.environ["DATABASE_URL"] = f"postgresql://postgres@/postgres?host={POSTGRES}"

from loci_site.settings import *  # noqa: E402, F403 - reads LOCI_HOME, so it comes after
from loci_site.settings import DATABASES, LOCI  # noqa: E402

# A file, so that WAL, busy timeouts and several threads are the real ones.
DATABASES["default"]["TEST"] = {"NAME": "loci_test" if IS_POSTGRES else str(HOME / "test.db")}
# What a test starts as a process of its own has a home of its own, with SQLite.
os.environ.pop("DATABASE_URL", None)
# The real hasher takes a tenth of a second for each user on purpose.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Database work of async code keeps to the test's own thread, connection and transaction.
LOCI_DB_THREADS = "sensitive"
# Recalls are counted when a test says so, not by a timer that outlives it.
LOCI = replace(LOCI, retrieval=replace(LOCI.retrieval, access_flush_s=0.0))
# All callers of the tests come from one address; what is tested about that sets its own limit.
LOCI = replace(LOCI, access=replace(LOCI.access, token_failures=1_000_000, chars_per_day=0))
# A machine that runs many tests at once is slower than a prompt waits; what is tested about that sets its own limit.
LOCI = replace(LOCI, hooks=replace(LOCI.hooks, prompt_ms=60_000))
