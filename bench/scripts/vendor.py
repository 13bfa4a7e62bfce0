"""`python -m bench.scripts.vendor`: writes the libraries of the browser's pages from npm into loci_site/static/loci/vendor/.

package-lock.json there names each version and its hash, which npm compares. The file is the packages' own minified code, one
after another and unchanged, with their licence on top and one line that exports their functions as a module.
"""

import tempfile
from pathlib import Path

from bench.scripts import npm

VENDOR = Path(__file__).resolve().parents[2] / "loci_site" / "static" / "loci" / "vendor"
# In the order in which they need each other.
PACKAGES = ("d3-dispatch", "d3-quadtree", "d3-timer", "d3-force")
EXPORTS = "export const { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } = globalThis.d3;\n"


def main() -> None:
    """Install what the lock names, and write the packages' code with their licence, which is the same for all, on top."""
    with tempfile.TemporaryDirectory() as folder:
        modules = npm.install(VENDOR, Path(folder))
        (licence,) = {(modules / name / "LICENSE").read_text(encoding="utf-8") for name in PACKAGES}
        files = [modules / name / "dist" / f"{name}.min.js" for name in PACKAGES]
        code = "\n".join(file.read_text(encoding="utf-8").strip() for file in files)
    head = f"/* {', '.join(PACKAGES)}\n\n{licence.strip()} */\n"
    (VENDOR / "d3-force.js").write_text(f"{head}{code}\n{EXPORTS}", encoding="utf-8")


if __name__ == "__main__":
    main()
