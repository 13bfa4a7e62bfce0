"""`loci store`: what is done to the whole store."""

from typing import Final

from loci_site.config.checks import TAG
from loci_site.management.verbs.move import MOVE
from loci_site.management.verbs.upgrade import UPGRADE
from maintenance.management.verbs.encrypt import DECRYPT, ENCRYPT
from maintenance.management.verbs.retention import RETENTION
from memories.management.output import FaceCommand

EXAMPLES: Final = """\
examples:
  loci store retention --dry-run        what would be destroyed, and what is held and why
  loci store encrypt --make-key         makes the key where the settings say, then encrypts what is there
  loci store encrypt --old-key FILE     gives the store the key of the settings; FILE has the one it has now
  loci store decrypt                    then take storage.encryption out of config.toml
  loci store move --to postgresql://loci@db.example.org/loci --dry-run
  loci store move --to /srv/loci/memory.db    back into a file
  loci store upgrade                    the commands that upgrade this installation
  loci store upgrade --check            compare program, store and newest backup; status 1 if something is to do first

Retention cannot be undone. Its limits are in [maintenance] of config.toml: retention_days (forgotten memories), runs_days
(data for undoing runs), recall_log_days (recalls), log_days (the audit log; 0 keeps it forever). A worker runs it daily.
Loci must be stopped to encrypt, decrypt or move. Write `encryption = "sqlcipher"` and `key_file = "…"` under [storage] in
config.toml first. Whoever loses the key loses the memories and all backups: keep a copy of it in another place.
"""


class Command(FaceCommand):
    help = "Destroy expired data, encrypt, move or upgrade the store."
    examples = EXAMPLES
    requires_system_checks = [TAG]
    verbs = {
        "retention": RETENTION,
        "encrypt": ENCRYPT,
        "decrypt": DECRYPT,
        "move": MOVE,
        "upgrade": UPGRADE,
    }
