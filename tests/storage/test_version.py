"""How to install an extra: for the checkout that runs, or for the package; never another project's."""

from pathlib import Path

import pytest

from bench.scripts.extra import requirements
from storage import version


def test_a_checkout_installs_the_packages_of_an_extra_and_no_second_loci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert version.install_extra("oidc") == "make extra NAME=oidc"
    monkeypatch.setattr(version, "_FILE", str(tmp_path / "storage" / "version.py"))
    assert version.install_extra("oidc") == "pip install 'loci-team-memory[oidc]'"


def test_the_packages_of_an_extra_have_the_locked_versions() -> None:
    [sqlcipher] = requirements("encryption")
    assert sqlcipher.startswith("sqlcipher3==0.")
    assert requirements("postgresql")[0].startswith("psycopg[binary]==3.")
    with pytest.raises(SystemExit, match="NAME=documents, NAME=encryption, NAME=oidc, NAME=postgresql"):
        requirements("everything")
