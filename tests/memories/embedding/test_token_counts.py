"""A text has as many tokens as its words; what that does not contain for goes to the tokenizer."""

import string
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.embedding import model as word_counts
from memories.embedding.model import TextTokenizer, TokenCounts

WORDS = [
    "harbour", "Harbour", "unaffable", "a_b", "C++", "don't", "12.5", "[SEP]", "[", "]", "[UNK", "naïve", "東京", "🦉",
    "\x7f", "\x01", "a" * 99, "a" * 100, "a" * 101, "http://x.y/z?q=1", "\ud800", "\u200b", "\xa0",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS) | st.text(string.printable, max_size=8), max_size=12).flatmap(
    lambda words: st.sampled_from([" ", "", "\n", "\t "]).map(lambda between: between.join(words))
)


@pytest.mark.model
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, max_size=5))
def test_many_texts_have_the_counts_of_each_alone(tokenizer: TextTokenizer, texts: list[str]) -> None:
    assert tokenizer.counts(texts) == tokenizer._count_all(texts)


class Asked:
    """A tokenizer with one token per two letters that records its input."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.words: list[str] = []
        self.counts = TokenCounts(self._count, self._count_words).counts

    def _count(self, texts: Sequence[str]) -> list[int]:
        self.texts += texts
        return [100 + len(text) for text in texts]

    def _count_words(self, words: Sequence[str]) -> list[int]:
        self.words += words
        return [(len(word) + 1) // 2 for word in words]


def test_a_word_is_asked_for_once() -> None:
    asked = Asked()
    assert asked.counts(["the harbour, the key", ""]) == [2 + 4 + 1 + 2 + 2, 0]
    assert asked.counts(["harbour the"]) == [4 + 2]
    assert sorted(asked.words) == [",", "harbour", "key", "the"]
    assert asked.texts == []


def test_other_scripts_controls_and_brackets_go_to_the_tokenizer_whole() -> None:
    asked = Asked()
    texts = ["naïve", "plain", "a [SEP] b", "a\x7f", "東"]
    assert asked.counts(texts) == [105, 3, 109, 102, 101]
    assert asked.texts == ["naïve", "a [SEP] b", "a\x7f", "東"]
    assert asked.words == ["plain"]


def test_it_forgets_the_words_before_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_counts, "MOST_CHARS", 10)
    asked = Asked()
    asked.counts(["abcdef ghijkl"])
    assert asked.counts(["abcdef"]) == [3]
    assert sorted(asked.words) == ["abcdef", "abcdef", "ghijkl"]
