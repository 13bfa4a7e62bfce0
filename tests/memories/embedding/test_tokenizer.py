"""The tokenizer file's saved settings (cut at 128, pad to 128) have no effect, and every text can be read."""

import numpy as np
import pytest
from tokenizers import Tokenizer

from memories.embedding import Encoder
from memories.embedding.loader import ModelFolder
from memories.embedding.model import TextTokenizer, TokenSpan

pytestmark = pytest.mark.model

CLS, SEP, HARBOUR = 101, 102, 7440  # as the published vocabulary numbers them


def test_a_short_text_is_not_padded(tokenizer: TextTokenizer) -> None:
    assert tokenizer.ids(["harbour"], max_tokens=256) == [[CLS, HARBOUR, SEP]]


def test_a_text_of_200_tokens_differs_from_its_first_128(encoder: Encoder) -> None:
    whole = "harbour " * 100 + "ledger " * 100
    start = "harbour " * 100 + "ledger " * 26

    one, other = encoder.encode([whole, start])

    assert float(one @ other) < 0.999


def test_a_text_is_cut_at_256_tokens_and_keeps_its_end_mark(tokenizer: TextTokenizer) -> None:
    [ids] = tokenizer.ids(["harbour " * 300], max_tokens=256)

    assert ids == [CLS] + [HARBOUR] * 254 + [SEP]


def test_the_cut_is_the_one_of_the_library(tokenizer: TextTokenizer, installed: ModelFolder) -> None:
    library = Tokenizer.from_file(str(installed.tokenizer))
    library.no_padding()
    library.enable_truncation(256)
    text = "Forty-one mooring rings; naïve façade, 東京! " * 40

    assert tokenizer.ids([text], max_tokens=256) == [library.encode(text).ids]


def test_what_exceeds_256_tokens_does_not_change_the_vector(encoder: Encoder) -> None:
    one, other = encoder.encode(["harbour " * 254, "harbour " * 254 + "ledger " * 50])

    assert np.abs(one - other).max() < 1e-6


def test_tokens_are_counted_without_marks_and_uncut(encoder: Encoder) -> None:
    assert encoder.count_tokens("") == 0
    assert encoder.count_tokens("harbour") == 1
    assert encoder.count_tokens("harbour, harbour!") == 4
    assert encoder.count_tokens("harbour " * 1000) == 1000


def test_tokens_know_their_place(tokenizer: TextTokenizer) -> None:
    assert tokenizer.tokens("Ça va, ok") == [
        TokenSpan(0, 2, 0),
        TokenSpan(3, 5, 1),
        TokenSpan(5, 6, 2),
        TokenSpan(7, 9, 3),
    ]


def test_half_a_surrogate_pair_is_read_as_one_unknown_character(encoder: Encoder) -> None:
    assert encoder.count_tokens("harbour \ud83d harbour") == encoder.count_tokens("harbour \ufffd harbour")
    assert encoder.encode(["\ud83d"]).shape == (1, 384)
