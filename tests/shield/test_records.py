"""Numbers of records. Source: HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(H) to (J); labels of hospitals' forms."""

import pytest

from appliance.shield.records import find


def found(text: str) -> list[str]:
    return [text[each.start : each.end] for each in find(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("IPP: 9010572683", "9010572683"),
        ("(NDA : 1098765432)", "1098765432"),
        ("Dossier n°1204UZO201 mis à jour", "1204UZO201"),
        ("numéro d’identifiant d’hospitalisation est 02890512938.", "02890512938"),
        ("MRN 765-4321", "765-4321"),
        ("MRN: #JCL12345.", "#JCL12345"),
        ("Med rec #: JH-12345", "JH-12345"),
        ("insurance policy #AB-987654", "#AB-987654"),
        ("her insurance is HPN-987654.", "HPN-987654"),
        ("patient ID 67890, seen", "67890"),
        ("Account number: 0042-7781", "0042-7781"),
        ("NHC: 2569870.", "2569870"),
        ("Historia clínica nº 448812", "448812"),
        ("Patientennummer: 4711-08", "4711-08"),
        ("Fallnummer 20230815", "20230815"),
        ("numero di cartella: 99812", "99812"),
        ("Patiëntnummer: 5551234", "5551234"),
        ("Número de utente 123456789", "123456789"),
        ('"mrn": "MRN-1026591"', "MRN-1026591"),
        ("National health id: NH-906003.", "NH-906003"),
    ],
)
def test_a_value_beside_its_label(text: str, value: str):
    assert found(text) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "record of 12000 cases",
        "patients: 45",
        "plan: 500 mg",
        "case 2019",
        "account balance: 4500",
        "MRN: 12/05/2021",
        "numéro 12345678",
        "code ICD-10 E11.9",
        "CRP 12345",
        "patient de 93 ans",
        "Insurance covers 80% of it",
    ],
)
def test_what_is_none(text: str):
    assert found(text) == []


def test_a_prefix_says_it_by_itself():
    assert found("see MRN-5669767 and IPP-00123456") == ["MRN-5669767", "IPP-00123456"]


class TestAPatientsRow:
    def test_every_long_number_after_sex_and_birth_date(self):
        row = "TARTANPION Zoé | H | 22/01/1965 (27 ans) | 9010572683 | 10294875403"
        assert found(row) == ["9010572683", "10294875403"]

    def test_without_sex_or_date_it_is_a_table_like_any_other(self):
        assert found("a | 22/01/1965 | 9010572683") == found("a | H | b | 9010572683") == []

    def test_each_line_for_itself(self):
        assert found("a | F | 22/01/1965 | x\nb | 9010572683") == []


def test_the_label_is_told():
    assert [(each.rule, each.context) for each in find("IPP : 8012939402")] == [("label", "ipp")]
