"""Translations: every text is marked and translated, and the files made from the catalogues match them."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation
from django.utils.translation import gettext, ngettext, pgettext

from access.admin.columns import in_words, interface_name
from access.tokens import operator
from bench.i18n import catalogue
from maintenance.doctor import examine
from memories.types import State, Trust, Type
from tests.loci_site.unmarked import loose_punctuation, raw_words, raw_words_in, unmarked, unmarked_in


def test_templates_have_no_unmarked_text() -> None:
    assert unmarked_in(catalogue.ROOT / "templates") == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("<p>Nothing here</p>", ["Nothing here"]),
        ('<p>{% trans "Nothing here" %}</p>', []),
        ("<p>{% blocktranslate with n=x %}{{ n }} rows{% endblocktranslate %} · {{ y }}</p>", []),
        ('<input placeholder="Name" value="name">', ["Name"]),
        ("""<input placeholder="{% trans "Name" %}" aria-label='x'>""", []),
        ('<span class="material-symbols-outlined">arrow_forward</span>', []),
        ("<code>loci up</code> <kbd>esc</kbd> {{ x }} ms", []),
        ('{{ name|default:"somebody" }}', ["somebody"]),
        ('{{ name|default:_("somebody") }}', []),
    ],
)
def test_unmarked_text_is_found(source: str, found: list[str]) -> None:
    assert list(unmarked(source)) == found


def test_templates_have_no_punctuation_between_messages() -> None:
    assert unmarked_in(catalogue.ROOT / "templates", loose_punctuation) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("<b>{{ at }}</b>, {{ took }}", [", \ue000"]),
        ("<p>{{ count }}.</p>", ["\ue000."]),
        ("<p>{{ count|sentence }} · {{ at }}</p>", []),
        ("<td>{{ rank|floatformat:0 }}.</td>", []),
        ('<p style="top: 0">{% trans "Well, now." %}</p>', []),
    ],
)
def test_punctuation_between_messages_is_found(source: str, found: list[str]) -> None:
    assert list(loose_punctuation(source)) == found


@pytest.mark.parametrize("package", catalogue.PACKAGES)
def test_sentences_have_no_stored_word_as_it_is(package: str) -> None:
    assert raw_words_in(catalogue.ROOT / package) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('gettext("It is {state}.").format(id=row.id, state=row.state)', ["row.state"]),
        ('gettext("It is {state}.").format(state=pgettext("word", row.state))', []),
        ('f"It is {row.state}."', []),
    ],
)
def test_a_stored_word_in_a_sentence_is_found(source: str, found: list[str]) -> None:
    assert list(raw_words(source)) == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('t("Copied")', ["Copied"]),
        ('t("Yes, {count}", { count })', ["Yes, {count}"]),
        (
            'window.lociText("{n} more: {m} memories, {e} edges.", { n: f("x") })',
            ["{n} more: {m} memories, {e} edges."],
        ),
        ('t(\n  "On a line of its own",\n)', ["On a line of its own"]),
        ('t("Say \\"yes\\" (or no)?")', ['Say "yes" (or no)?']),
        ('t(isOne ? "1 match" : "{count} matches", { count })', ["1 match", "{count} matches"]),
        ('t(kind === "one" ? "1 match" : say("{count}, {all}"))', ["1 match"]),
        ('t("One") + t("Two")', ["One", "Two"]),
        ('list.at("first"); insert("second"); t(text)', []),
    ],
)
def test_texts_of_scripts_are_found_whole(code: str, found: list[str]) -> None:
    assert catalogue.texts_in_script(code) == found


def test_every_text_is_translated_and_every_file_is_up_to_date() -> None:
    stale = [catalogue.relative(path) for path in catalogue.stale_files()]
    assert stale == [], "run `python -m bench.i18n`"
    assert catalogue.faults() == []


@pytest.mark.parametrize(
    ("string", "fault"),
    [
        ("", "no translation"),
        ("Das Token „{}“ ist widerrufen.", "other placeholders"),
        ("Das Token „{name}“ ist widerrufen.", ""),
    ],
)
def test_missing_translations_and_lost_placeholders_are_faults(string: str, fault: str) -> None:
    template = catalogue.Catalog()
    template.add("The token “{name}” is revoked.", string)
    assert [each.partition(":")[0] for each in catalogue.missing(template)] == ([fault] if fault else [])


def test_no_translation_breaks_an_attribute_or_a_tag() -> None:
    for folder in catalogue.LANGUAGES:
        for message in catalogue.read_catalogue(folder):
            ids = message.id if isinstance(message.id, tuple) else (message.id,)
            strings = message.string if isinstance(message.string, tuple) else (message.string,)
            if not ids[0] or "transport http" in ids[0]:
                continue
            tags = set(re.findall(r"<[^>]*>", ids[-1]))
            for text in strings:
                assert '"' not in re.sub(r"<[^>]*>", "", text), text
                assert set(re.findall(r"<[^>]*>", text)) == tags, text


def test_states_types_and_counts_have_words_in_each_language() -> None:
    for code in ("de", "zh-hans"):
        with translation.override(code):
            for value in (*State, *Trust, *Type):
                assert pgettext("word", str(value)), value
    with translation.override("de"):
        assert (pgettext("word", "live"), gettext("Cancel")) == ("aktuell", "Abbrechen")
        assert ngettext("{count} chain", "{count} chains", 1) == "{count} Kette"
    with translation.override("zh-hans"):
        assert (pgettext("word", "live"), ngettext("{count} chain", "{count} chains", 1)) == (
            "有效",
            "{count} 条链",
        )


def test_one_english_word_with_two_meanings_has_two_translations() -> None:
    for code, role, interface in (("de", "Verwalten", "Verwaltung"), ("zh-hans", "管理员", "管理后台")):
        with translation.override(code):
            assert (in_words("admin"), interface_name("admin")) == (role, interface)
            assert gettext("From") != pgettext("origin of a setting", "From")
            assert gettext("Name") != pgettext("login", "Name")
    with translation.override("zh-hans"):
        assert (gettext("Tokens"), pgettext("of a text", "Tokens")) == ("令牌", "词元")


def test_findings_of_the_doctor_and_meanings_of_settings_follow_the_page_alone(
    client: Client, db: None
) -> None:
    client.force_login(User.objects.create_superuser("owner", password="a-long-password"))
    asked = {"headers": {"accept-language": "de"}}
    doctor = client.get("/admin/maintenance/joblock/doctor/", **asked).content.decode()
    assert "alle angewendet" in doctor
    assert "noch nichts zu sichern" in doctor
    settings = client.get("/admin/settings/instance/", **asked).content.decode()
    assert "Port, auf dem Loci lauscht." in settings
    details = {finding.check: finding.detail for finding in examine(operator(), quick=True).findings}
    assert (details["migrations"], details["backups"]) == ("all applied", "nothing to back up yet")
