"""The signs that change a fact, and belong to the words and numbers beside them.

A sign before a number, what separates two digits (any separator is the same: 2024-05-03, 2024.05.03), + and # in a name
(C++, C#), per cent, degrees and currency beside a number, "!" before a word, operators between two operands, and the
signs of mathematics and music that belong to one (√9, B♭). Any other sign is dress.
"""

import re
from typing import Final

from memories.language.dress.letters import is_kept
from memories.language.function_words import DETERMINERS, JOINING, STOP, TURNING
from memories.language.word_tables import parse_words, read_sections

_EXPONENT = re.compile(r"(?<=\d)e[-\u2212](?=\d)")
_APPROXIMATELY = re.compile(r"(?<![~\w])~(?=\d)")
_QUERY_STRING = re.compile(r"\?[\w.=&%-]{0,60}$")
_HOME = re.compile(r"(?<!\S)~(?=/\w)")
_OPERATOR = re.compile(
    r"(?<=[\w)\]}\"'%])\s?(<=>|<->|<=|>=|!==?|<>|=/=|=>|->|<-|<<|>>|&&?|\|\||={1,3}|[<>≤≥≠≮≯+×÷±∈∉⊂⊃∪∩∧∨→←⇒⇐⇔↔∓∝≈≉≡≢])\s?"
    r"(?=[\w(\[{\"'¬!$€£¥₹.-])"
)
_SAME_OPERATOR = {
    "≤": "<=", "≥": ">=", "≠": "!=", "!==": "!=", "<>": "!=", "=/=": "!=", "⇒": "=>", "→": "->", "←": "<-",
}  # fmt: skip
_COMPARISONS = frozenset(
    ["<", ">", "<=", ">=", "==", "===", "!=", "!==", "<>", "=/=", "≤", "≥", "≠", "≮", "≯", "≈", "≉", "≡", "≢"]
)
_BETWEEN_COMMANDS = frozenset(("&&", "||"))
MAX_OPERAND = 40
_OPERAND = re.compile(r"[\w.:/()\[\]]+")
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"\d|[^\W_]_[^\W_]|\w[(\[]|\w(?:\.|::|/)\w")
_LITERALS = frozenset(("true", "false", "null", "none", "nil"))
_ARTICLES = frozenset("ai")
_LETTER_WORDS = frozenset("aeikouvwyz")  # in some languages these are words
_FUNCTION_WORDS: Final = (STOP | DETERMINERS | JOINING | TURNING | {"not", "no", "if", "when"}) - _ARTICLES
_WORD = re.compile(r"[^\W_]+")
_TABLES: Final = read_sections("signed_names")
_WITH_PLUS: Final = parse_words(_TABLES["names with a plus"])
_WITH_MINUS: Final = parse_words(_TABLES["names with a minus"])
_BESIDE_LETTER: Final = parse_words(_TABLES["beside a letter"])
_OPEN, _CLOSE = "\ue000", "\ue001"  # around an operator, in characters of no script
_NO_MARKS = {ord(_OPEN): " ", ord(_CLOSE): " "}
_BETWEEN_DIGITS = "+*^<>=~%×÷±&"
_CURRENCY = "$€£¥₹"
_ENDS = " .,;:!?)"
_AFTER_NUMBER = re.compile(r"[^\w.,;:!?%‰°]{0,20}([%‰°])")
_BEFORE_OPERAND = "√∛∜∀∃∄∂∇∆∏∑∫∮"
_AFTER_LETTER = "♭♯♮"


def without_private_marks(text: str) -> str:
    """The text without the characters that mark operators here."""
    return text if text.isascii() else text.translate(_NO_MARKS)


def mark_signs(text: str) -> str:
    """A plainly spelt text with its operators marked."""
    text = _APPROXIMATELY.sub(f"{_OPEN}~{_CLOSE}", _HOME.sub(f"{_OPEN}~{_CLOSE}", text))
    text = _EXPONENT.sub(f"e{_OPEN}-{_CLOSE}", text)
    return _OPERATOR.sub(mark_operator, text)


def mark_operator(found: re.Match[str]) -> str:
    """An operator between two operands, marked; = and & in the query of an address are punctuation."""
    sign, start = found[1], found.start()
    is_in_query = sign in "=&" and _QUERY_STRING.search(found.string, max(0, start - 61), start)
    if is_in_query or not joins_operands(found):
        return found[0]
    return f"{_OPEN}{_SAME_OPERATOR.get(sign, sign)}{_CLOSE}"


def joins_operands(found: re.Match[str]) -> bool:
    """True if an operator stands between two operands, one of which is a number, a single letter or code."""
    sign, text = found[1], found.string
    left = _OPERAND.findall(text[max(0, found.start() - MAX_OPERAND) : found.start()])[-1:]
    right = _OPERAND.findall(text[found.end() : found.end() + MAX_OPERAND])[:1]
    one, other = "".join(left), "".join(right)
    if text[found.start() - 1] in "\"'" and text[found.end()] == text[found.start() - 1]:
        return True  # the text is about ">"
    if sign in _COMPARISONS and _DIGIT.search(one + other):
        return True  # also in "is < 5"
    if found[0] == "+ ":
        return False  # it belongs to the word before, or to none
    if sign == "&" and found[0] == " &":
        return is_operand(other) and not other[0].isdigit()  # &p, an address
    if _FUNCTION_WORDS & {one, other.rstrip(".:")}:
        return False
    is_of_letters = {one.strip("()"), other.strip("().")} <= _ARTICLES
    return sign in _BETWEEN_COMMANDS or is_operand(one) or is_operand(other) or is_of_letters


def is_operand(word: str) -> bool:
    """True for a number, a single letter that is no word, or code."""
    bare = word.strip(".:/()[]")
    is_letter = len(bare) == 1 and bare not in _ARTICLES
    return is_letter or bare in _LITERALS or bool(_CODE.search(word))


def keep_signs(text: str) -> str:
    """Letters and digits of a plainly spelt text, and the signs between them that change a fact."""
    kept: list[str] = []
    at, size = 0, len(text)
    while at < size:
        end = at + 1
        if word := _WORD.match(text, at):
            end = word.end()
            kept.append(word[0])
        elif text[at] == _OPEN:
            end = text.index(_CLOSE, at) + 1
            kept.append(text[at + 1 : end - 1])
        elif is_kept(text[at]):
            kept.append(text[at])
        else:
            while end < size and not is_kept(text[end]) and text[end] != _OPEN:
                end += 1
            if (
                end > at + 1
                or text[at] != " "
                or (text[at - 1 : at].isdigit() and text[end : end + 1].isdigit())
            ):
                kept.append(find_signs(text, at, end))  # a space between words has none
        at = end
    return "".join(kept)


def find_signs(text: str, start: int, end: int) -> str:
    """The signs in text[start:end], a run without letters and digits, that change what stands beside it."""
    run = text[start:end]
    before, after = text[start - 1 : start], text[end : end + 1]
    if before.isdigit() and after.isdigit():
        signs = "".join(c for c in run if c in _BETWEEN_DIGITS)
        sign = sign_before(before, run, after)[-1:]
        return (signs if sign in signs else signs + sign) or "."
    sign = sign_before(before, run, after)
    if sign == "!" and _WORD.findall(text, end, end + MAX_OPERAND)[0] in _FUNCTION_WORDS | _ARTICLES:
        sign = ""
    return sign_after(text, start, run) + sign


def sign_after(text: str, start: int, run: str) -> str:
    """The sign that belongs to what precedes the run: 5 %, 5 €, 18+, C++, C#, A-."""
    before, bare = text[start - 1 : start], run.lstrip()
    if before.isdigit():
        if bare and bare[0] in _CURRENCY:
            return bare[0]
        if found := _AFTER_NUMBER.match(run):
            return found[1]
        return "+" if run[:1] == "+" and run[1:2] != "+" else ""
    if not before.isalpha():
        return ""
    if run[0] in _AFTER_LETTER:
        return run[0]
    if run[0] not in "+#-":
        return ""
    sign = {"+": run[: len(run) - len(run.lstrip("+"))], "#": "#" * (run[1:2] != "#")}.get(run[0], "-")
    is_last = run[1:2] in _ENDS if len(run) > 1 else start + 1 == len(text)
    if len(sign) not in (1, 2) or (sign == "-" and not is_last):
        return ""
    return sign if is_name(text, start, sign, run[len(sign) :]) else ""


def is_name(text: str, end: int, sign: str, rest: str) -> bool:
    """True if the word before text[end] makes a name with the sign: C++, F#, A-, Disney+; not "of+"."""
    words = _WORD.findall(text[max(0, end - MAX_OPERAND) : end])
    word = words[-1]
    if word in _LETTER_WORDS or (len(word) == 1 and not word.isascii()):
        after = _WORD.search(text, end, end + MAX_OPERAND)
        is_at_end = (
            after is None
            or rest.strip()[:1] in tuple(".,;:!?)")
            or after[0] in _FUNCTION_WORDS | _BESIDE_LETTER
        )
        return is_at_end or (len(words) > 1 and words[-2] in _BESIDE_LETTER)
    if len(word) == 1:
        return True
    if sign == "#":
        return False
    return word in (_WITH_MINUS if sign == "-" else _WITH_PLUS) or (sign == "+" and word[0].isdigit())


def sign_before(before: str, run: str, after: str) -> str:
    """The sign that belongs to what follows the run: -5, .5, $5, !enabled."""
    beside = run.split()[-1] if run.strip() and not run[-1].isspace() else ""
    is_apart = not before or len(beside) < len(run) or run[0] in "([{\"'="
    if beside and beside[-1] in _BEFORE_OPERAND:
        return beside[-1]
    if after.isdigit():
        signs = "".join(c for c in beside if c in _CURRENCY)
        if beside.endswith("^") and beside == run and before.isalnum():
            signs += "^"
        sign = beside.rstrip("$€£¥₹.([\"'*_`")[-1:]
        if is_apart and sign and sign in "-+" and beside.count(sign) == 1:
            signs = sign + signs
        if is_apart and beside.endswith(".") and beside.count(".") == 1:
            signs += "."
        return signs + ("±" if beside.endswith("±") else "")
    if after.isalpha() and is_apart and beside[-1:] in ("!", "¬") and beside.count("!") < 2:
        return "!"
    return ""
