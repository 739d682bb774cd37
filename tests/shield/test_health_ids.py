"""NIR and NHS numbers. Vectors: python-stdnum's doctests, in the shared folder, and the library where present."""

import json
from pathlib import Path

import pytest

from appliance.shield.health_ids import find, is_nhs_number, is_nir

VECTORS = Path(__file__).parents[2].parent / "shared" / "pii" / "number_vectors.json"


def found(text: str) -> list[tuple[str, str, str]]:
    return [(each.category, text[each.start : each.end], each.rule) for each in find(text)]


class TestNir:
    @pytest.mark.parametrize(
        "value", ["295109912611193", "2 95 10 99 126 111 93", "253072B07300470", "253072A07300443"]
    )
    def test_python_stdnums_examples_are_right(self, value: str):
        assert is_nir(value)

    @pytest.mark.parametrize("value", ["295109912611199", "253072C07300443", "6546546546546703", "2951099126111"])
    def test_and_these_are_wrong(self, value: str):
        assert not is_nir(value)

    def test_the_library_comes_to_the_same(self):
        nir = pytest.importorskip("stdnum.fr.nir", reason="python-stdnum is not installed")
        for department in ("75", "2A", "2B", "99", "13"):
            for key in range(100):
                value = f"18505{department}006084{key:02}"
                assert is_nir(value) == nir.is_valid(value)

    @pytest.mark.parametrize("separator", ["", " ", ".", "-"])
    def test_a_right_key_needs_no_label(self, separator: str):
        value = separator.join(["1", "85", "05", "78", "006", "084", "91"])
        assert found(f"x {value}, y") == [("NIR", value, "number and key")]

    @pytest.mark.parametrize(
        "label", ["NIR", "n° SS :", "sécu", "Numéro de sécurité sociale :", "assuré(e)", "N° d'immatriculation"]
    )
    def test_a_label_masks_a_wrong_key(self, label: str):
        assert found(f"{label} 1 85 05 78 006 084 92") == [("NIR", "1 85 05 78 006 084 92", "label")]

    def test_the_boxes_of_a_form(self):
        value = "2 1 5 6 3 7 9 3 2 3 1 3 4 6 0"
        assert found(f"N° d'immatriculation (à compléter par l'assuré(e)) Agée de 45 ans {value}") == [
            ("NIR", value, "label")
        ]

    @pytest.mark.parametrize("text", ["185057800608492", "NIR 123", "1850578006084911", "sécu : 12/05/1985"])
    def test_what_is_none(self, text: str):
        assert found(text) == []


class TestNhsNumber:
    @pytest.mark.parametrize("value", ["9434765919", "943 476 5919", "4010232137", "401-023-2137"])
    def test_right_ones(self, value: str):
        assert is_nhs_number(value)

    @pytest.mark.parametrize("value", ["9434765918", "943 476 591", "1234567890", "94347659190"])
    def test_wrong_ones(self, value: str):
        assert not is_nhs_number(value)

    def test_the_library_comes_to_the_same(self):
        nhs = pytest.importorskip("stdnum.gb.nhs", reason="python-stdnum is not installed")
        for number in range(9434765000, 9434765999):
            assert is_nhs_number(str(number)) == nhs.is_valid(str(number))

    def test_ten_digits_in_a_row_are_believed_beside_a_label_only(self):
        assert found("9434765919") == []
        assert found("NHS: 9434765919") == [("NHS_NUMBER", "9434765919", "label")]

    def test_not_a_phone_number_or_a_reference(self):
        assert found("call 943 476 5919") == found("réf. 943 476 5919") == []


@pytest.mark.skipif(not VECTORS.exists(), reason="the shared vectors are not beside the project")
def test_the_shared_vectors_as_python_stdnum_judges_them():
    vectors = json.loads(VECTORS.read_text())
    nir = pytest.importorskip("stdnum.fr.nir", reason="python-stdnum is not installed")
    nhs = pytest.importorskip("stdnum.gb.nhs", reason="python-stdnum is not installed")
    flat = [value for values in _lists(vectors) for value in values if isinstance(value, str)]
    assert [
        value for value in flat if len(value) > 9 and is_nhs_number(value) != nhs.is_valid(value) and value.isdigit()
    ] == []
    assert [value for value in flat if nir.is_valid(value) and not is_nir(value)] == []


def _lists(value: object) -> list[list[object]]:
    if isinstance(value, dict):
        return [each for inner in value.values() for each in _lists(inner)]
    return [value] if isinstance(value, list) else []
