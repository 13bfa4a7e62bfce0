"""What would stay English in every language: text of a template that is not marked, and stored words in a translated sentence."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

# Template tags and values; a marked text is one piece with its tags.
TOKEN = re.compile(
    r"{%\s*comment.*?endcomment\s*%}|{%\s*blocktrans.*?{%\s*endblocktrans(?:late)?\s*%}|{%.*?%}|{{.*?}}|{#.*?#}",
    re.S,
)
ELEMENT = re.compile(r"<!--.*?-->|<(script|style|pre|code|kbd)\b[^<>]*>.*?</\1>|<[^<>]*>", re.S)
ICON = re.compile(r"<(\w+)[^<>]*material-symbols-outlined[^<>]*>.*?</\1>", re.S)
SHOWN_ATTRIBUTES = re.compile(r'\s(?:aria-label|title|placeholder|alt|data-label|data-hint)="([^"]*)"')
DEFAULTS = re.compile(r"\|default:(?:\"([^\"]*)\"|'([^']*)')")
PUNCTUATION = re.compile(r"[,;:.()]")
RANK = re.compile(r"\|floatformat:0 }}\.")  # "1." is the same in every language
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]+")
# Names and units, which are the same in every language.
ALIKE = frozenset({"Loci", "ms"})
# Fields whose values are words of Loci.
WORD_FIELDS = frozenset({"state", "trust", "kind", "status", "right", "role", "operation", "scope", "mode"})
HELD = "\ue000"  # stands for a template tag


def unmarked(source: str) -> Iterator[str]:
    """Each visible text, attribute or default value that no tag marks."""
    for token in TOKEN.findall(source):
        yield from (text for pair in DEFAULTS.findall(token) for text in pair if is_prose(text))
    held = ICON.sub("", TOKEN.sub(HELD, source))
    for element in ELEMENT.finditer(held):
        yield from (text for text in SHOWN_ATTRIBUTES.findall(element[0]) if is_prose(text))
    yield from (text.strip() for text in ELEMENT.sub("\n", held).split("\n") if is_prose(text))


def loose_punctuation(source: str) -> Iterator[str]:
    """Each text of a template that joins messages or values with marks of English punctuation."""
    held = ICON.sub("", TOKEN.sub(HELD, RANK.sub("}}", source)))
    texts = (text.strip() for text in ELEMENT.sub("\n", held).split("\n"))
    yield from (text for text in texts if PUNCTUATION.search(re.sub(r"&\w+;", "", text)))


def is_prose(text: str) -> bool:
    """Whether a reader would read it as words."""
    return any(word not in ALIKE for word in WORD.findall(re.sub(r"&\w+;", " ", text)))


def unmarked_in(folder: Path, find: Callable[[str], Iterator[str]] = unmarked) -> list[str]:
    """What `find` yields for every template of a folder, as "path: text"."""
    return [
        f"{path.relative_to(folder)}: {text.replace(HELD, '…')}"
        for path in sorted(folder.rglob("*.html"))
        for text in find(path.read_text(encoding="utf-8"))
    ]


def raw_words(source: str) -> Iterator[str]:
    """Each stored word that Python code puts into a translated sentence as it is: `gettext("…").format(x=row.state)`."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
            and isinstance(node.func.value, ast.Call)
            and ast.unparse(node.func.value.func).endswith("gettext")
        ):
            yield from (
                ast.unparse(part.value)
                for part in node.keywords
                if isinstance(part.value, ast.Attribute) and part.value.attr in WORD_FIELDS
            )


def raw_words_in(folder: Path) -> list[str]:
    """The same for every module of a folder, as "path: value"."""
    return [
        f"{path.relative_to(folder)}: {value}"
        for path in sorted(folder.rglob("*.py"))
        for value in raw_words(path.read_text(encoding="utf-8"))
    ]
