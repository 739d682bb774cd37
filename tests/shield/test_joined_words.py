"""Values in names of files: each kind before, between and after other words, in the ways that people join them."""

import time

import pytest

from appliance.shield.detect import Detector
from appliance.shield.joined_words import find

STANDARD = Detector("standard")
MEDICAL = Detector("medical")

EMAIL, IBAN, CARD = "jane.roe@example.org", "FR7630006000011234567890189", "4111111111111111"
PHONES = ["+33612345678", "0612345678", "06.12.34.56.78", "06-12-34-56-78"]
NUMBERS = [*PHONES, CARD, IBAN, "219-09-9999"]
JOINED = ["scan_{}.pdf", "{}_copie.pdf", "a_{}_2024.tar.gz", "/srv/in/scan_{}.wav", "appel_{}", "C:\\scans\\x_{}.tif"]


def masked(detector: Detector, text: str) -> str:
    parts, at = [], 0
    for each in detector.find(text):
        parts += [text[at : each.start], each.category]
        at = each.end
    return "".join([*parts, text[at:]])


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize("value", NUMBERS)
def test_a_number_joined_by_underscores(name: str, value: str):
    assert value not in masked(STANDARD, name.format(value))


@pytest.mark.parametrize("name", [each for each in JOINED if "." in each])
@pytest.mark.parametrize("value", ["192.0.2.7", "00:1a:2b:3c:4d:5e"])
def test_the_address_of_a_machine_in_what_is_plainly_the_name_of_a_file(name: str, value: str):
    assert value not in masked(STANDARD, name.format(value))


@pytest.mark.parametrize("name", ["scan-{}.pdf", "{}-copie.pdf", "photo-{}-recto.png"])
@pytest.mark.parametrize("value", ["+33612345678", "0612345678", CARD, IBAN])
def test_a_value_joined_by_hyphens(name: str, value: str):
    assert value not in masked(STANDARD, name.format(value))


@pytest.mark.parametrize(
    "suffix", ["csv", "json", "log", "txt", "pdf", "png", "eml", "vcf", "zip", "docx", "md", "xml"]
)
@pytest.mark.parametrize("name", ["{}.{}", "{}-2024.{}", "{}_2024.{}", "{}_dossier.{}", "{} (1).{}", "mail_{}.{}"])
def test_an_address_before_a_suffix(name: str, suffix: str):
    assert EMAIL not in masked(STANDARD, f"see {name.format(EMAIL, suffix)}, please")


def test_a_number_after_a_word_and_a_plus():
    assert masked(STANDARD, "scan+33612345678.pdf") == "scanPHONE.pdf"
    assert masked(STANDARD, "tel0612345678.wav") == "telPHONE.wav"


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("CR_DUPONT_Jean_2024-01-05.pdf", "NAME_DATE.pdf"),
        ("Jean_Dupont.pdf", "NAME.pdf"),
        ("IPP_8003456712.pdf", "IPP_MRN.pdf"),
        ("2024-01-05_scan.dcm", "DATE_scan.dcm"),
    ],
)
def test_medical_values(name: str, sent: str):
    assert masked(MEDICAL, name) == sent


@pytest.mark.parametrize(
    "text",
    [
        "IMG_20240612_101112.jpg",
        "backup_1718000000.tar",
        "id_0612345678",
        "a_0612345678b",
        "test_module_name.py",
        "MAX_RETRY_COUNT = 1_000_000_000",
        "linux-image-6.1.0-18-amd64.deb",
        "3f2a4111-1111-4111-8111-111111111111.json",
        "icon_dark@2x.min.png",
        "core_js@app.min.js",
        "x_" + "0612345678" * 30 + ".pdf",
    ],
)
def test_what_is_none(text: str):
    assert masked(STANDARD, text) == text


@pytest.mark.parametrize("unit", ["_", "a_", "-", "1-", "_0612345678", ".a_", "x-1_.pdf ", "\\_"])
def test_linear(unit: str):
    text = unit * (200_000 // len(unit))
    began = time.process_time()
    list(find(text, (), (lambda _: (),)))
    assert time.process_time() - began < 1
