from collections.abc import Callable

import pytest

from appliance.errors import ProofError
from appliance.proofs.fields import Fields

WHOLE = Fields(
    {
        "text": "a",
        "empty": "",
        "texts": ["a", "b"],
        "number": 5,
        "flag": True,
        "digest": "0a" * 32,
        "time": "2026-11-29T18:57:03.120Z",
        "child": {"text": "b"},
        "children": [{"text": "c"}, {"text": "d"}],
    },
    "top",
)


def test_reads_each_type() -> None:
    assert WHOLE.text("text") == "a"
    assert WHOLE.text("empty", empty=True) == ""
    assert WHOLE.texts("texts") == ("a", "b")
    assert WHOLE.integer("number", minimum=5, maximum=5) == 5
    assert WHOLE.flag("flag") is True
    assert WHOLE.digest("digest") == "0a" * 32
    assert WHOLE.time("time") == "2026-11-29T18:57:03.120Z"
    assert WHOLE.choice("text", ("a", "b")) == "a"
    assert WHOLE.child("child").text("text") == "b"
    assert [child.text("text") for child in WHOLE.children("children")] == ["c", "d"]
    assert "text" in WHOLE
    assert "absent" not in WHOLE


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda f: f.text("absent"), "top.absent is missing."),
        (lambda f: f.text("number"), "top.number is not a text."),
        (lambda f: f.text("empty"), "top.empty is empty."),
        (lambda f: f.texts("text"), "top.text is not a list."),
        (lambda f: f.texts("children"), "top.children is not a list of texts."),
        (lambda f: f.integer("flag"), "top.flag is not an integer."),
        (lambda f: f.integer("text"), "top.text is not an integer."),
        (lambda f: f.integer("number", minimum=6), "top.number is out of range."),
        (lambda f: f.integer("number", maximum=4), "top.number is out of range."),
        (lambda f: f.flag("number"), "top.number is not true or false."),
        (lambda f: f.digest("text"), "top.text is not a SHA-256 in lower-case hexadecimal."),
        (lambda f: f.time("text"), "top.text is not a UTC time with milliseconds."),
        (lambda f: f.choice("text", ("b", "c")), "top.text is not b or c."),
        (lambda f: f.child("text"), "top.text is not an object."),
        (lambda f: f.children("texts"), "top.texts[0] is not an object."),
        (lambda f: f.child("child").text("no"), "top.child.no is missing."),
        (lambda f: f.children("children")[1].flag("text"), "top.children[1].text is not true or false."),
        (lambda f: f.forbid("absent", "text", why="so it is"), "top.text must be absent: so it is."),
        (lambda f: f.child("child").only("text", "more"), "top.child.more is missing."),
        (lambda f: f.only("text"), "top has a member that does not belong there."),
        (lambda _: Fields({}).text("absent"), "absent is missing."),
    ],
)
def test_names_the_member_that_is_wrong(read: Callable[[Fields], object], says: str) -> None:
    with pytest.raises(ProofError) as caught:
        read(WHOLE)
    assert caught.value.message == says


@pytest.mark.parametrize(
    "time",
    [
        "2026-11-29T18:57:03Z",
        "2026-11-29T18:57:03.120+00:00",
        "2026-11-29 18:57:03.120Z",
        "2026-02-30T18:57:03.120Z",
        "2026-11-29T25:57:03.120Z",
        "2026-11-29T18:57:03.120Z\n",
        "٢026-11-29T18:57:03.120Z",
    ],
)
def test_a_time_has_one_spelling(time: str) -> None:
    with pytest.raises(ProofError, match=r"^at "):
        Fields({"at": time}).time("at")


@pytest.mark.parametrize("digest", ["0A" * 32, "0a" * 31, "0a" * 33, "0a" * 32 + "\n", "0g" * 32])
def test_a_digest_has_one_spelling(digest: str) -> None:
    with pytest.raises(ProofError, match=r"^hash "):
        Fields({"hash": digest}).digest("hash")
