"""The bill of materials names what is installed, with a licence for each package, and no package of the tests."""

import json
import re
from io import StringIO

import pytest
from django.core.management import call_command

from loci_site.management.deployment.licences import Component, bill_of_materials, installed_components
from tests.settings import REPOSITORY


def test_it_lists_the_locked_packages_with_a_licence_each() -> None:
    found = {each.name: each for each in installed_components()}
    lock = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
    locked = {
        name.lower().replace("_", "-").replace(".", "-")
        for name in re.findall(r"^([\w.-]+?)(?:\[\w+\])?==", lock, re.M)
    }
    assert found.keys() <= locked
    assert {"django", "onnxruntime", "mcp", "cryptography"} <= found.keys()
    assert "pytest" not in found
    assert [each.name for each in found.values() if each.licence == "unknown"] == []
    assert "asgiref" in found["django"].needs


@pytest.mark.django_db  # the command writes what recalls of this process have counted
def test_the_bill_is_cyclonedx_whose_references_resolve() -> None:
    out = StringIO()
    call_command("store", "upgrade", "--sbom", stdout=out)
    bill = json.loads(out.getvalue())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    refs = {bill["metadata"]["component"]["bom-ref"], *(each["bom-ref"] for each in bill["components"])}
    assert len(refs) == len(bill["components"]) + 1
    for edge in bill["dependencies"]:
        assert {edge["ref"], *edge["dependsOn"]} <= refs
    assert any(each["type"] == "machine-learning-model" for each in bill["components"])


def test_a_component_names_its_package_url() -> None:
    bill = bill_of_materials([Component("django", "5.2.1", "BSD-3-Clause")])
    assert bill["components"][0]["purl"] == "pkg:pypi/django@5.2.1"
