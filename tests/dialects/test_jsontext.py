"""The oracle is `json`: what it reads from the document before and after. Source of what it may be: RFC 8259."""

import json
import random
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.jsontext import KEY, MAX_LEVELS, JsonText, Path, TooDeep

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def everything(_: Path, __: str) -> bool:
    return True


def document_in(text: str) -> Any:
    """The object, list or string that a text is as JSON, None if it is none."""
    try:
        inner = json.loads(text) if text.lstrip(" \t\r\n")[:1] in ("{", "[", '"') else None
    except ValueError:
        return None
    return inner if isinstance(inner, dict | list | str) else None


def strings_of(value: Any) -> list[str]:
    """Names and values in the order of the document; a string that is a document gives its own."""
    if isinstance(value, str):
        inner = document_in(value)
        return [value] if inner is None else strings_of(inner)
    if isinstance(value, list):
        return [text for item in value for text in strings_of(item)]
    if isinstance(value, dict):
        return [text for name, item in value.items() for text in (*strings_of(name), *strings_of(item))]
    return []


def changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [changed(item, change) for item in value]
    if isinstance(value, dict):
        return {change(name): changed(item, change) for name, item in value.items()}
    return value


def spaced(value: Any, seed: int) -> str:
    """The value as some writer might write it: blanks anywhere between the parts, characters escaped or not."""
    chance = random.Random(seed)

    def blank() -> str:
        return chance.choice(["", "", " ", "\n\t"])

    def write(one: Any) -> str:
        if isinstance(one, dict):
            members = [f"{blank()}{write(name)}{blank()}:{blank()}{write(item)}{blank()}" for name, item in one.items()]
            return "{" + ",".join(members) + "}"
        if isinstance(one, list):
            return "[" + ",".join(f"{blank()}{write(item)}{blank()}" for item in one) + "]"
        return json.dumps(one, ensure_ascii=chance.random() < 0.5)

    return blank() + write(value) + blank()


@given(VALUES, st.integers())
def test_the_strings_in_the_order_of_the_document(value: Any, seed: int):
    # A string at the top is no object or list, and is never read for what is inside it.
    document = [value]
    assert list(JsonText.read(spaced(document, seed), everything).texts) == strings_of(document)


@given(VALUES, st.integers())
def test_with_its_own_strings_it_is_the_same_to_the_byte(value: Any, seed: int):
    source = spaced(value, seed)
    document = JsonText.read(source, everything)
    assert document.with_texts(document.texts) == source


@given(VALUES, st.integers())
def test_with_other_strings_the_rest_is_equal(value: Any, seed: int):
    document = JsonText.read(spaced([value], seed), everything)
    written = document.with_texts(f'"{text}\\\n' for text in document.texts)

    def change(text: str) -> str:
        inner = document_in(text)
        return f'"{text}\\\n' if inner is None else json.dumps(changed(inner, change))

    def plain(one: Any) -> Any:
        """Inner documents as values, since how they are spaced is theirs."""
        if isinstance(one, str):
            inner = document_in(one)
            return one if inner is None else ["document", plain(inner)]
        if isinstance(one, list):
            return [plain(item) for item in one]
        if isinstance(one, dict):
            return [[plain(name), plain(item)] for name, item in one.items()]
        return one

    assert plain(json.loads(written)) == plain(changed([value], change))


def test_only_what_changes_is_written_again():
    source = '{ "a" : "\\u0061\\/b", "n":1.0, "a":"x",\t"e":1E+2 }'
    document = JsonText.read(source, everything)
    assert list(document.texts) == ["a", "a/b", "n", "a", "x", "e"]
    assert document.with_texts(["a", "a/b", "n", "a", "é", "e"]) == source.replace('"x"', '"é"')


def test_a_string_that_is_a_document_is_read_inside():
    arguments = json.dumps({"to": "jane@example.org", "n": [1, "two"]})
    source = json.dumps({"arguments": arguments})
    document = JsonText.read(source, everything)
    assert list(document.texts) == ["arguments", "to", "jane@example.org", "n", "two"]
    written = json.loads(document.with_texts(["arguments", "to", '"x"\\', "n", "two"]))
    assert json.loads(written["arguments"]) == {"to": '"x"\\', "n": [1, "two"]}


@pytest.mark.parametrize("text", ["{", "[1", "{a}", "5", '"quoted', "null", "[] x", "", "  "])
def test_what_is_no_document_is_text(text: str):
    assert list(JsonText.read(json.dumps([text]), everything).texts) == [text]


def test_a_string_of_json_is_a_document_too():
    thrice = json.dumps(json.dumps(json.dumps("jane@example.org")))
    document = JsonText.read(json.dumps([thrice]), everything)
    assert list(document.texts) == ["jane@example.org"]
    written = document.with_texts(["x"])
    for _ in range(3):
        written = json.loads(written)[0] if written.startswith("[") else json.loads(written)
    assert json.loads(written) == "x"


def test_documents_are_read_down_to_the_last_level_and_what_is_below_is_refused():
    def deep(levels: int) -> str:
        document = json.dumps(["deep"])
        for _ in range(levels):
            document = json.dumps([document])
        return document

    assert list(JsonText.read(deep(MAX_LEVELS), everything).texts) == ["deep"]
    with pytest.raises(TooDeep):
        JsonText.read(deep(MAX_LEVELS + 1), everything)


def test_the_path_of_an_inner_text_goes_on_from_its_document():
    document = JsonText.read(json.dumps({"a": [json.dumps({"b": "c"})]}), everything)
    assert list(document.leaves) == [((KEY,), "a", ""), (("a", 0, KEY), "b", ""), (("a", 0, "b"), "c", "b")]


@pytest.mark.parametrize(
    ("document", "label"),
    [
        ({"mrn": "1"}, "mrn"),
        ({"patientLastName": "1"}, "patient Last Name"),
        ({"patient_last-name": ["1"]}, "patient last name"),
        ({"a": {"tel": [[{"": ["1"]}]]}}, ""),
        (["1"], ""),
    ],
)
def test_a_text_of_an_inner_document_bears_the_name_of_its_member(document: object, label: str):
    read = JsonText.read(json.dumps({"arguments": json.dumps(document)}), everything)
    assert [each.label for each in read.leaves if each.text == "1"] == [label]


def test_of_two_documents_the_inner_names_a_text():
    read = JsonText.read(json.dumps({"a": json.dumps({"outer": json.dumps({"inner": "1"})})}), everything)
    assert [each.label for each in read.leaves if each.text == "1"] == ["inner"]


def test_a_list_alone_is_named_by_the_document_around_it():
    read = JsonText.read(json.dumps({"a": json.dumps({"mrn": json.dumps(["1"])})}), everything)
    assert [each.label for each in read.leaves if each.text == "1"] == ["mrn"]


def test_paths():
    seen: list[tuple[Path, str]] = []

    def note(path: Path, text: str) -> bool:
        seen.append((path, text))
        return False

    JsonText.read('{"a":[{"b":"1"},["2","3"]],"c":{"d":{}},"e":"4","f":[]}', note)
    assert seen == [
        ((KEY,), "a"), (("a", 0, KEY), "b"), (("a", 0, "b"), "1"), (("a", 1, 0), "2"), (("a", 1, 1), "3"),
        ((KEY,), "c"), (("c", KEY), "d"), ((KEY,), "e"), (("e",), "4"), ((KEY,), "f"),
    ]  # fmt: skip


def test_what_is_not_wanted_is_left_alone():
    document = JsonText.read('{"a":"1","b":"2"}', lambda path, _: path == ("b",))
    assert document.with_texts(["x"]) == '{"a":"1","b":"x"}'


@pytest.mark.parametrize("unit", ["\\\\", '\\"', "{", "[", ",", ":", "\\u0041", "a"])
def test_a_megabyte_is_read_within_seconds(unit: str):
    source = f'["{unit * (2**20 // len(unit))}"]'
    (text,) = JsonText.read(source, everything).texts
    assert text == json.loads(source)[0]


NUMBERS = '{"a": 33612345678,"b":[123456,12345,-1234567,1234567.5,0.1234567,1e-123456,1234567e3], "c": 999999}'


def test_long_numbers_of_an_inner_document_are_texts_with_a_label():
    document = JsonText.read(json.dumps([NUMBERS]), everything)
    assert [each[1:] for each in document.leaves] == [
        ("a", ""), ("33612345678", "a"), ("b", ""), ("123456", "b"), ("1234567", "b"), ("1234567000", "b"), ("c", ""),
        ("999999", "c"),
    ]  # fmt: skip
    assert json.loads(document.with_texts(document.texts)) == [NUMBERS]
    written = document.with_texts("[P]" if text == "33612345678" else text for text in document.texts)
    assert json.loads(written) == [NUMBERS.replace("33612345678", '"[P]"')]


@pytest.mark.parametrize(
    "literal",
    [
        "33612345678", "-33612345678", "33612345678.0", "-33612345678.000", "3.3612345678E10", "3.3612345678e+10",
        "0.33612345678e11", "336123456780e-1", "-0.33612345678E+0011",
    ],
)  # fmt: skip
def test_a_number_is_the_digits_of_the_whole_number_that_it_is(literal: str):
    quoted = JsonText.read(json.dumps([f'{{"tel":{literal}}}']), everything)
    alone = JsonText.read(f'{{"tel":{literal} ,"n":1}}', lambda *_: False, reads_number=lambda _: True)
    assert [each[1:] for each in quoted.leaves] == [("tel", ""), ("33612345678", "tel")]
    assert [each[1:] for each in alone.leaves] == [("33612345678", "tel")]
    assert alone.with_texts(alone.texts) == f'{{"tel":{literal} ,"n":1}}'
    assert alone.with_texts(["[P]"]) == '{"tel":"[P]" ,"n":1}'


@pytest.mark.parametrize(
    "literal",
    [
        "12345",
        "-99999.0",
        "1e4",
        "33612345678.5",
        "0.336123",
        "1e-123456",
        "1e123456",
        "1e" + "9" * 30,
        "0e10",
        "1" * 41 + ".0",
    ],
)
def test_what_names_nobody_is_no_text(literal: str):
    assert list(JsonText.read(f"[{literal}]", everything, reads_number=lambda _: True).leaves) == []


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_any_number_is_read_as_the_whole_number_that_it_is(number: float):
    literal = json.dumps(number)
    exact = abs(Fraction(literal))
    read = JsonText.read(f"[{literal}]", everything, reads_number=lambda _: True)
    wanted = exact.denominator == 1 and exact >= 10**5 and (exact < 10**40 or literal.isdigit())
    assert list(read.texts) == ([str(exact)] if wanted else [])


def test_numbers_of_the_document_itself_are_texts_where_the_caller_says_so():
    source = '{"max_tokens": 1000000, "seed": 33612345678, "tel":{"of": [7654321]}}'
    assert list(JsonText.read(source, everything).texts) == ["max_tokens", "seed", "tel", "of"]
    read = JsonText.read(source, lambda *_: False, reads_number=lambda path: path != ("seed",))
    assert list(read.leaves) == [(("max_tokens",), "1000000", "max tokens"), (("tel", "of", 0), "7654321", "of")]


@pytest.mark.parametrize(
    ("document", "label"),
    [
        ({"phone": {"value": 7654321}}, "phone value"),
        ({"homePhone": [{"number": "7654321"}]}, "home Phone number"),
        ({"phone": {"type": 1, "enum": [7654321]}}, "phone enum"),
        ({"a": {"phone": {"data": {"value": 7654321}}}}, "phone data value"),
        ({"phone": {"count": 7654321}}, "count"),
        ({"value": 7654321}, "value"),
        ({"a": {"value": {"value": {"value": 7654321}}}}, "value value value"),
    ],
)
def test_a_name_that_says_nothing_has_the_one_above_before_it(document: object, label: str):
    leaves = JsonText.read(json.dumps([json.dumps(document)]), everything).leaves
    assert [each.label for each in leaves if each.text == "7654321"] == [label]


@pytest.mark.parametrize("number", ["1" * 10**6, "1." + "1" * 10**6, "1e" + "1" * 10**6, "1." + "0" * 10**6 + "e9"])
def test_a_number_of_a_megabyte_is_read_within_a_second(number: str):
    began = time.process_time()
    list(JsonText.read(f"[{number}]", everything, reads_number=lambda _: True).texts)
    assert time.process_time() - began < 1


class TestDocumentsOfTheirOwn:
    """Values that are documents though they are in no string: what a tool was given, in some dialects."""

    BODY = """{ "seed": 33612345678, "input" : {"tel":33612345678, "Dupont": ["x",12345, 4455667],
        "deep":{"patientName": "y", "n":-1234567,"f":1234567.5,"e":1e123456, "also": "{\\"mrn\\": 8472913}"}},
        "after":[33612345678,{"input":1234567,"tel":7654321}], "z":"w" }"""

    @staticmethod
    def is_input(path: Path) -> bool:
        return path == ("input",)

    def read(self, source: str, is_text: Callable[[Path, str], bool] = lambda path, _: path[-1] != KEY) -> JsonText:
        return JsonText.read(source, is_text, self.is_input)

    def test_their_numbers_and_names_are_texts_with_the_labels_that_inner_documents_have(self):
        assert [each[1:] for each in self.read(self.BODY).leaves] == [
            ("tel", ""), ("33612345678", "tel"), ("Dupont", ""), ("x", "Dupont"), ("4455667", "Dupont"), ("deep", ""),
            ("patientName", ""), ("y", "patient Name"), ("n", ""), ("1234567", "n"), ("f", ""),
            ("e", ""), ("also", ""), ("mrn", "also"),
            ("8472913", "mrn"), ("w", ""),
        ]  # fmt: skip

    def test_paths_go_on_from_where_the_document_stands(self):
        paths = {each.text: each.path for each in self.read(self.BODY).leaves}
        assert paths["33612345678"] == ("input", "tel")
        assert paths["4455667"] == ("input", "Dupont", 2)
        assert paths["8472913"] == ("input", "deep", "also", "mrn")
        assert paths["w"] == ("z",)

    def test_what_the_caller_says_is_no_text_is_text_in_them_all_the_same(self):
        assert [each.text for each in self.read(self.BODY, lambda *_: False).leaves] == [
            each.text for each in self.read(self.BODY).leaves if each.text != "w"
        ]

    def test_nothing_changes_but_what_is_replaced(self):
        new = {"33612345678": "[P]", "Dupont": "[N]", "y": "[Y]", "8472913": "[M]"}
        document = self.read(self.BODY)
        written = document.with_texts(new.get(text, text) for text in document.texts)
        expected = self.BODY.replace('"tel":33612345678', '"tel":"[P]"').replace('"Dupont"', '"[N]"')
        assert written == expected.replace('"y"', '"[Y]"').replace("8472913", '\\"[M]\\"')

    @given(VALUES, VALUES, st.integers())
    def test_any_of_them_is_read_as_it_would_be_in_a_string(self, value: Any, other: Any, seed: int):
        inside = {"a": [value, 1234567], "b": {"tel": 7654321}}
        written = spaced(inside, seed)
        source = f'{{"other":{spaced([other], seed)}, "input":{written},"other":{spaced([other], seed)}}}'
        document = self.read(source, lambda *_: False)
        quoted = JsonText.read(json.dumps([written]), everything)
        assert [each[1:] for each in document.leaves] == [each[1:] for each in quoted.leaves]
        assert document.with_texts(document.texts) == source

    def test_a_list_may_be_one_and_one_in_another_is_part_of_it(self):
        source = '{"input":[{"input":{"tel":1234567}},7654321],"n":1234567}'
        document = JsonText.read(source, lambda *_: False, lambda path: path[-1:] == ("input",))
        assert list(document.leaves) == [
            (("input", 0, KEY), "input", ""),
            (("input", 0, "input", KEY), "tel", ""),
            (("input", 0, "input", "tel"), "1234567", "tel"),
            (("input", 1), "7654321", ""),
        ]

    def test_of_two_with_the_same_name_both_are_read(self):
        source = '{"input":{"tel":1234567},"input":{"tel":7654321},"in\\u0070ut":[2345678]}'
        document = self.read(source, lambda *_: False)
        assert [text for text in document.texts if text != "tel"] == ["1234567", "7654321", "2345678"]

    def test_what_is_no_object_and_no_list_is_none(self):
        assert list(self.read('{"input":33612345678}').texts) == []
        assert list(self.read('{"input":"33612345678"}').leaves) == [(("input",), "33612345678", "")]
