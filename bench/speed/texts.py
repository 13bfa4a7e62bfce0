"""Made-up texts for measuring speed: fresh sentences over a large vocabulary, spread as words are in real text.

Words come from the model's own tokenizer, in the order of their frequency, and from pairs of them written as one. A
text keeps to one of many topics, so that its words and its vector have neighbours. The same seed gives the same texts.
"""

import json
import random
import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

TERMS = 60_000  # content words: the tokenizer's whole words, then pairs of them
SHIFT = 40  # content words begin where the function words end: the most frequent is in some 5 % of the texts
TOPICS = 400
TOPIC_TERMS = 150  # words that belong to a topic
TOPIC_SHARE = 0.5  # of a text's content words that come from its topic
LONG_WORD = 5  # letters; a longer one is mistyped
FUNCTION_WORDS = 120  # the most frequent words: "the", "and", "was" …
# Stop words and gaps: every other word is drawn, so that none is in a third of the texts.
SENTENCES = (
    "The {} {} of {} is {} and it was {} with the {} before {}.",
    "{} {} that the {} should not be {} until {} has {} the {}.",
    "We {} {} from {} to {} because the {} {} was too {} for {}.",
    "When {} is {}, then {} the {} and {} it with {}.",
    "On {} {} the {} will {} their {} for {}.",
    "{} and {} are in the {} {}, which {} had for {} and {}.",
)
QUESTIONS = (
    "What did {} {} about the {} {}?",
    "Why was {} {} to {} with the {}?",
    "How do we {} the {} when {} is {}?",
    "Which {} does {} {} for the {}?",
    "When will the {} {} be {} by {}?",
    "Who has {} the {} of {}?",
)


@dataclass(frozen=True)
class Vocabulary:
    """Content words, most frequent first, and each topic's own; `weights` are cumulative (Zipf and Mandelbrot)."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    topics: tuple[tuple[str, ...], ...]
    known: frozenset[str]

    def draw(self, dice: random.Random, topic: int) -> str:
        """Draw one word of a text on a topic."""
        if dice.random() < TOPIC_SHARE:
            own = self.topics[topic]
            return own[int(len(own) * dice.random() ** 2)]
        return self.terms[bisect(self.weights, dice.random() * self.weights[-1])]


def load_vocabulary(tokenizer: Path, *, seed: int = 1) -> Vocabulary:
    """Make the vocabulary out of the model's tokenizer.json."""
    known: dict[str, int] = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    words = [word for word in sorted(known, key=known.__getitem__) if re.fullmatch("[a-z]{3,}", word)]
    content = words[FUNCTION_WORDS:]
    dice = random.Random(seed)
    pairs: dict[str, None] = {}
    while len(content) + len(pairs) < TERMS:
        pairs[dice.choice(content[:6000]) + dice.choice(content[:6000])] = None
    terms = (*content, *pairs)
    weights = tuple(accumulate(1 / (SHIFT + rank) for rank in range(len(terms))))
    usual = TOPIC_TERMS * 4 // 5  # the others are rare: names, identifiers
    topics = tuple(
        (*dice.sample(content[:12_000], usual), *dice.sample(terms, TOPIC_TERMS - usual))
        for _ in range(TOPICS)
    )
    return Vocabulary(terms, weights, topics, frozenset(terms))


def make_text(vocabulary: Vocabulary, dice: random.Random, topic: int) -> str:
    """Make a text of three sentences, about fifty tokens of the model, on one topic."""
    return " ".join(_filled(sentence, vocabulary, dice, topic) for sentence in dice.sample(SENTENCES, 3))


def make_question(vocabulary: Vocabulary, dice: random.Random, text: str) -> str:
    """Make a question out of some of a text's own words."""
    words = [word for word in re.findall(r"[a-z]{4,}", text) if word in vocabulary.known] or ["anything"]
    return _with_words(dice.choice(QUESTIONS), words, dice)


def make_texts(vocabulary: Vocabulary, count: int, *, seed: int) -> list[tuple[str, int]]:
    """Make so many texts, each with its topic."""
    dice = random.Random(seed)
    topics = [dice.randrange(TOPICS) for _ in range(count)]
    return [(make_text(vocabulary, dice, topic), topic) for topic in topics]


def _filled(sentence: str, vocabulary: Vocabulary, dice: random.Random, topic: int) -> str:
    words = [vocabulary.draw(dice, topic) for _ in range(sentence.count("{}"))]
    filled = sentence.format(*words)
    return filled[0].upper() + filled[1:]


def _with_words(question: str, words: Sequence[str], dice: random.Random) -> str:
    count = question.count("{}")
    filled = question.format(
        *(dice.sample(words, count) if len(words) >= count else dice.choices(words, k=count))
    )
    return filled[0].upper() + filled[1:]


def typed_words(texts: Sequence[str], count: int) -> dict[str, list[str]]:
    """What somebody types who looks for words of the texts: their first two to five letters, and with two letters
    changed for each other.
    """
    dice = random.Random(7)
    words = sorted(
        {word for text in texts for word in text.split() if word.isalpha() and len(word) > LONG_WORD}
    )
    chosen = [dice.choice(words) for _ in range(count)]
    places = [dice.randrange(1, len(word) - 1) for word in chosen]
    return {
        "typing: the beginning of a word": [word[: dice.randint(2, 5)] for word in chosen],
        "typing: a mistyped word": [
            word[:at] + word[at + 1] + word[at] + word[at + 2 :]
            for word, at in zip(chosen, places, strict=True)
        ],
    }
