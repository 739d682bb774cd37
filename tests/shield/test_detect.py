from appliance.shield.detect import Detector
from appliance.shield.names import Names

TEXT = "Dr Jean Dupuis, 93 ans, né le 12/03/1931, jean.dupuis@example.org, 06 12 34 56 78, NIR 1 85 05 78 006 084 91"


def found(mode: str, text: str = TEXT) -> list[tuple[str, str]]:
    return [(each.category, text[each.start : each.end]) for each in Detector(mode).find(text)]  # type: ignore[arg-type]


def test_off_finds_nothing():
    assert found("off") == []


def test_standard_leaves_names_and_dates_alone():
    # synapse.md, "Modes"
    assert found("standard") == [("EMAIL", "jean.dupuis@example.org"), ("PHONE", "06 12 34 56 78")]


def test_medical_finds_what_identifies_a_patient():
    assert found("medical") == [
        ("NAME", "Jean Dupuis"),
        ("AGE", "93"),
        ("DATE", "12/03/1931"),
        ("EMAIL", "jean.dupuis@example.org"),
        ("PHONE", "06 12 34 56 78"),
        ("NIR", "1 85 05 78 006 084 91"),
    ]


def test_places_are_those_of_what_was_written():
    text = "à \u200bjane&#64;example.org\u200b."
    assert found("standard", text) == [("EMAIL", "jane&#64;example.org")]


def spread(detector: Detector, *texts: str) -> list[list[str]]:
    findings = detector.spread(texts, [detector.find(text) for text in texts])
    return [[text[each.start : each.end] for each in one] for text, one in zip(texts, findings, strict=True)]


def test_a_name_of_one_text_is_found_in_the_others():
    detector = Detector("medical")
    assert spread(detector, "Patient : Jean Dupuis", "Dupuis va mieux.", "rien") == [["Jean Dupuis"], ["Dupuis"], []]


def test_a_number_that_a_word_gave_away_is_found_without_it():
    assert spread(Detector("standard"), "tel 4455667", "ask 4455667, not 4455668") == [["4455667"], ["4455667"]]
    assert spread(Detector("medical"), "MRN: 8472913. Then 8472913 again", "8472913") == [["8472913"] * 2, ["8472913"]]


def test_in_standard_no_name_is_spread():
    assert spread(Detector("standard"), "Dr Jean Dupuis", "Dupuis, a@example.org") == [[], ["a@example.org"]]


def test_an_administrators_lists():
    detector = Detector("medical", names=lambda: Names(("Zaphod",), ("Dupuis",)))
    assert spread(detector, "zaphod et Dr Dupuis") == [["zaphod"]]


def test_the_country_says_how_numbers_are_read():
    # An Irish number as it is written at home, which is nothing where another country is.
    text = "ring 1 234 5678"
    assert [each.category for each in Detector("standard", country="IE").find(text)] in ([], ["PHONE"])
    assert Detector("standard", country="FR").find("call 06 12 34 56 78")
