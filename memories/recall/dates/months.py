"""Names of months, seasons, weekdays and small numbers."""

MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]  # fmt: skip
MONTH_NUMBER = {name: number for number, name in enumerate(MONTHS, start=1)} | {
    name[:3]: number for number, name in enumerate(MONTHS, start=1)
}
MONTH_NUMBER["sept"] = 9
# In other languages, read only beside a day or a year: Julio, Mai and Avril are people as well.
_OTHER_LANGUAGES = (
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
)
EVERY_MONTH = {
    name: number for names in _OTHER_LANGUAGES for number, name in enumerate(names.split(), start=1)
} | MONTH_NUMBER
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
SEASON_MONTH = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the first of three
NUMBERS = {
    word: number
    for number, words in enumerate(
        ("", "a an one", "two couple", "three few", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for word in words.split()
}  # fmt: skip
ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}


def any_of(words: "list[str] | dict[str, int]") -> str:
    """A pattern of any of the words, the longest first."""
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"
