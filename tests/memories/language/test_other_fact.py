"""Which differences make another fact of a text near a withdrawn one, and which are another phrasing."""

import pytest

from memories.language.other_fact import find_other_fact

OTHER = {
    "signs": ("The exit code of the script is -1.", "The exit code of the script is 1."),
    "operators": ("The plugin needs host >= 2.", "The plugin needs host <= 2."),
    "negation in German": ("Der Dienst ist erreichbar.", "Der Dienst ist nicht erreichbar."),
    "negation in Russian": ("Сборка проходит на Windows.", "Сборка не проходит на Windows."),
    "negation in Chinese": ("这个接口需要登录。", "这个接口不需要登录。"),
    "numbers in Chinese": ("会议三点开始。", "会议三点半开始。"),
    "names one letter apart": ("The queue is named orders-in.", "The queue is named orders-on."),
    "words one letter apart": ("The tenant is affected.", "The tenant is effected."),
    "quantities": ("The key is rotated twice a week.", "The key is rotated once a week."),
    "how sure it is": ("You may restart the node.", "You must restart the node."),
    "tense": ("Emeka leads the audit.", "Emeka led the audit."),
    "a letter the model cannot read": ("王小明负责发布。", "王小朋负责发布。"),
    "a vowel sign": ("यह कल है।", "यह काल है।"),
    "swapped roles": ("The client trusts the server.", "The server trusts the client."),
    "swapped values": ("Width is 80 and height is 60.", "Width is 60 and height is 80."),
}
SAME = {
    "dress": ("The office is closed on Friday.", "**the office** is closed on friday!"),
    "an addition": ("The key is rotated every Friday.", "FYI: the key is rotated every Friday."),
    "a synonym": ("The project started as an experiment.", "The project began as an experiment."),
    "another phrasing": ("Kestrel is the third boat of the fleet.", "Kestrel is the fleet's third boat."),
    "passive": ("Both parties signed the contract.", "The contract was signed by both parties."),
    "another form": ("The monitor is connected over USB.", "The monitor connects over USB."),
    "plural": ("The backup runs at night.", "The backups run at night."),
    "a contraction": ("Don't merge the branch.", "Do not merge the branch."),
    "a doubled letter": ("To restore Ibis, stop the writer.", "To resttore Ibis, stop the writer."),
    "letters that changed places": ("The große Straße is closed.", "The gorße Straße is closed."),
    "sides of a copula": ("Our landlord is Mr Keller.", "Mr Keller is our landlord."),
    "sides of an and": ("Ada and Bea are clients.", "Bea and Ada are clients."),
    "points on one side": ("مفتاح المشروع يتغير", "مِفتاحُ المَشروعِ يَتَغَيَّرُ"),
    "sentences in another order": ("Stop it. Wait. Start it.", "Wait. Stop it. Start it."),
}


@pytest.mark.parametrize("pair", OTHER.values(), ids=OTHER)
def test_another_fact_is_recognised(pair: tuple[str, str]) -> None:
    assert find_other_fact(*pair)
    assert find_other_fact(*reversed(pair))


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_another_phrasing_proves_nothing(pair: tuple[str, str]) -> None:
    assert find_other_fact(*pair) == ""
    assert find_other_fact(*reversed(pair)) == ""


def test_one_word_does_not_make_another_fact_of_a_long_text() -> None:
    words = " ".join(f"word{number}" for number in range(60))
    assert find_other_fact(f"{words} affected", f"{words} effected") == ""
