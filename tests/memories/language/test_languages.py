"""Which language a text is in, and its times, stop words and stems."""

from datetime import date
from pathlib import Path

import pytest

from memories.language.dates.written import read_times
from memories.language.languages import language_of, latin_share, stems_of, tables_of
from memories.language.word_forms import forms_of
from memories.search.query_terms import match_for

TODAY = date(2026, 11, 29)
DATA = Path("memories/language/data/languages")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wer kümmert sich um den Suchdienst?", "de"),
        ("Combien nous coûte un paiement par carte ?", "fr"),
        ("¿Quién aprueba los permisos?", "es"),
        ("Kto zatwierdza urlopy?", "pl"),
        ("¿Para qué sirve violet-oar?", "es"),
        ("Wie lange prüft Baltrum neue Versionen?", "de"),
        ("小李休假到周三。", "zh"),
        ("部署は何時に始まりますか", "ja"),
        ("배포는 언제 시작합니까", "ko"),
        ("Когда начинается релиз?", "ru"),
        ("деплой API на staging через Docker и GitHub Actions", "ru"),
        ("前端以后只用 TypeScript。", "zh"),
    ],
)
def test_a_sentence_shows_its_language(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "…?",
        "Okta admin",
        "localhost:8080",
        "getUserById",
        "v3.1.0-rc2",
        "WHO OWNS BILLING",
        "HOW MUCH IS CENTAVOS IN MEXICO",
        "Who met Müller in São Paulo?",
        "postgres port?",
        "search index backups",
        "ten approvals for de Groot",
        "How is SSO set up for the ports?",
        "The term comes from the Greek ἀθήρα, a lump of gruel.",
    ],
)
def test_code_names_and_short_texts_are_taken_for_english(text: str) -> None:
    assert language_of(text) == "en"


@pytest.mark.parametrize(
    ("text", "share"), [("Which port?", 1.0), ("café", 1.0), ("部署端口", 0.0), ("部署ab", 0.5), ("?…", 1.0)]
)
def test_the_share_of_latin_letters(text: str, share: float) -> None:
    assert latin_share(text) == share


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Was ist gestern passiert?", "What happened yesterday?"),
        ("was haben wir letzte Woche gemacht", "what did we do last week"),
        ("Welche Fehler gab es vor drei Tagen?", "Which failures were there three days ago?"),
        ("Was wurde seit dem 3. Mai geändert?", "What changed since 3 May?"),
        ("Was steht nächsten Montag an?", "What is planned next Monday?"),
        ("Was geschah im Mai 2025 mit dem Server?", "What was done to the server in May 2025?"),
        ("Qu'est-ce qui s'est passé hier ?", "What happened yesterday?"),
        ("Qu'avons-nous décidé la semaine dernière ?", "What did we decide last week?"),
        ("Il y a trois jours, le serveur est tombé.", "Three days ago the server fell."),
        ("depuis le 3 mai 2026 tout a changé", "since 3 May 2026 everything changed"),
        ("Le client arrive en sept", "The client arrives in September"),
        ("¿Qué pasó ayer?", "What happened yesterday?"),
        ("¿Qué decidimos la semana pasada?", "What did we decide last week?"),
        ("¿Qué cambió el 3 de mayo de 2026?", "What changed on 3 May 2026?"),
        ("Hace tres días se cayó el servidor de pagos.", "Three days ago the server fell."),
        ("Co się wydarzyło wczoraj?", "What happened yesterday?"),
        ("Co ustaliliśmy w zeszłym tygodniu?", "What did we decide last week?"),
        ("Co się zmieniło 3 maja 2026?", "What changed on 3 May 2026?"),
        ("co się stało 3 dni temu w zespole", "what happened 3 days ago in the team"),
        ("昨天发生了什么", "what happened yesterday"),
        ("上周我们决定了什么", "what did we decide last week"),
        ("三天前服务器宕机了", "three days ago the server fell"),
        ("2026年5月3日改变了什么", "what changed on 2026-05-03"),
        ("三月的部署", "the deployment in March"),
    ],
)
def test_a_time_is_the_same_as_in_english(text: str, english: str) -> None:
    found, wanted = read_times(text, today=TODAY), read_times(english, today=TODAY)
    assert (found.times, found.is_alone) == (wanted.times, wanted.is_alone)
    assert found.times


def test_the_words_of_a_time_are_those_of_the_question() -> None:
    assert {"gestern", "yesterday"} <= {*read_times("Was ist gestern passiert?", today=TODAY).words.split()}


@pytest.mark.parametrize(
    "text",
    [
        "二十天前服务器宕机了",
        "一百二十天前服务器宕机了",
        "1234天前服务器宕机了",
        "3.5年前我们开始了",
        "12345年的计划是什么",
        "每周一都有会议",
        "十一月二十五日我们开会",
        "上月球的计划是什么",
        "去年度的报告在哪里",
    ],
)
def test_a_part_of_a_chinese_number_or_word_is_no_time(text: str) -> None:
    assert read_times(text, today=TODAY).times == ()


def test_every_line_of_the_tables_is_a_pattern() -> None:
    for file in DATA.glob("*.txt"):
        tables = tables_of(file.stem)
        assert tables is not None
        lines = file.read_text(encoding="utf-8").partition("[times]\n")[2].splitlines()
        assert len(tables.times) == len([line for line in lines if " = " in line])


@pytest.mark.parametrize(
    ("stored", "asked", "shared"),
    [
        ("Im Hafen stehen zwei alte Häuser.", "Wie viele Häusern wurden verkauft?", "haus"),
        ("Le déploiement est prévu pour lundi soir.", "Quand sont les déploiements prévus ?", "déploi"),
        ("La reunión del equipo es los martes.", "¿Cuándo son las reuniones del equipo?", "reunion"),
        ("Wdrożenie zatwierdza kierownik zespołu.", "Kto zatwierdza wdrożenia na produkcję?", "wdrożen"),
    ],
)
def test_endings_of_other_languages_are_taken_off_on_both_sides(stored: str, asked: str, shared: str) -> None:
    match = match_for(asked)
    assert match is not None
    assert shared in match.searched
    assert shared in forms_of(stored)


def test_stop_words_of_other_languages_are_left_out() -> None:
    german, chinese = match_for("Wer kümmert sich um die Server?"), match_for("我们什么时候部署新版本？")
    assert german is not None
    assert chinese is not None
    assert "sich" not in german.terms
    assert chinese.terms == ("部署", "署新", "新版", "版本")


def test_english_has_no_stems_of_its_own() -> None:
    assert stems_of("deployments of houses", "en") == []
    assert forms_of("The deployments of the houses were sold") == ""
