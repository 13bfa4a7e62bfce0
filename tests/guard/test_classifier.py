"""The slot for a classifier: off by default, a folder with a model otherwise. The model here knows one word."""

import json
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from django.contrib.auth.models import User
from onnx import TensorProto, helper
from pytest_django import Settings

from access.actor import Via
from access.groups.guarding import find_all
from access.models import Group
from guard import Door, Policy
from guard.injection import ClassifierError, load_classifier, read_options
from loci_site.config.checks import check_guard
from tests.guard.test_outside import kept
from tests.people import person

WORDS = ("[UNK]", "xyzzy", "the", "quay", "is", "green")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A classifier that says 0.98 for a text with the word xyzzy, else 0.02."""
    nodes = [
        helper.make_node("Equal", ["input_ids", "bad"], ["is_bad"]),
        helper.make_node("Cast", ["is_bad"], ["as_number"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["as_number"], ["any"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["any", "eight"], ["scaled"]),
        helper.make_node("Sub", ["scaled", "four"], ["logits"]),
    ]
    constants = [
        helper.make_tensor("bad", TensorProto.INT64, [], [1]),
        helper.make_tensor("eight", TensorProto.FLOAT, [], [8.0]),
        helper.make_tensor("four", TensorProto.FLOAT, [], [4.0]),
    ]
    graph = helper.make_graph(
        nodes, "one word", [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, None])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1])], constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(tmp_path / "model.onnx"))
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: at for at, word in enumerate(WORDS)}, "unk_token": "[UNK]"},
    }  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    (tmp_path / "classifier.toml").write_text("threshold = 0.9\nmax_tokens = 4\n")
    return tmp_path


def test_a_window_above_the_threshold_is_found(folder: Path) -> None:
    classifier = load_classifier(str(folder))
    assert classifier is not None
    [found] = classifier.find("The quay is green. Now XYZZY the quay is green.")
    assert found.kind == "injected-instruction"
    assert found.confidence == 0.982
    assert "XYZZY" in "The quay is green. Now XYZZY the quay is green."[slice(*found.span)]
    assert classifier.find("The quay is green.") == []
    assert classifier.find("") == []


@pytest.mark.django_db
@pytest.mark.model
def test_it_is_off_until_the_setting_names_a_folder(
    folder: Path, settings: Settings, alice: User, ledger: Group
) -> None:
    assert find_all("The xyzzy is green.", Policy(), Door.AGENT) == []
    settings.LOCI = replace(settings.LOCI, guard=replace(settings.LOCI.guard, classifier=str(folder)))
    agent = replace(person(alice), via=Via.MCP)
    assert kept(agent, "The xyzzy of the quay is green.").trust == "quarantined"
    assert find_all("The xyzzy is green.", Policy(), Door.PERSON) == []
    assert kept(person(alice), "The quay is green.").trust == "active"


@pytest.mark.parametrize(
    "text", ["", "threshold = 2", "threshold = 'x'", "threshold = 0.5\nlabel = 'x'", "threshold ="]
)
def test_a_folder_that_is_not_whole_is_said_at_the_start(folder: Path, settings: Settings, text: str) -> None:
    (folder / "classifier.toml").write_text(text)
    with pytest.raises(ClassifierError, match=r"classifier\.toml"):
        read_options(folder)
    settings.LOCI = replace(settings.LOCI, guard=replace(settings.LOCI.guard, classifier=str(folder)))
    [error] = check_guard(settings.LOCI)
    assert error.id == "loci.E006"
    (folder / "model.onnx").unlink()
    with pytest.raises(ClassifierError, match=r"has no model\.onnx"):
        read_options(folder)
