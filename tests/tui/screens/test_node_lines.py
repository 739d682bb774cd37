from dataclasses import replace

from appliance.admin.client import node_wire
from tui.screens import node_lines

DESK = node_wire.Node(
    id="empngy7wfn5pqezdaaaa",
    name="desk",
    state="active",
    trust="pinned",
    kind="ollama",
    url="https://192.168.1.20:11435",
    engine="ollama/0.32.15",
    models=("qwen3:8b", "smollm2"),
    slots=4,
    in_flight=3,
    words=("cart", "walk", "suggest", "unable", "response", "lab", "erode", "harvest"),
    way="words",
    roles=("full",),
)
CANDIDATE = replace(DESK, id="candidate", name="", state="candidate", models=(), in_flight=0, way=None, roles=())
GATEWAY = node_wire.NodeList((), "id", ("exchange", "nerve"), 0)


def test_what_waits_for_a_decision_is_first_and_what_was_put_out_last():
    out, other = replace(DESK, id="1", state="revoked"), replace(DESK, id="2", name="Attic")
    assert [node.id for node in node_lines.in_order((out, DESK, other, CANDIDATE))] == ["candidate", "2", DESK.id, "1"]


def test_a_line():
    assert node_lines.row(DESK).cells == ("desk", "● active", "pinned", "3/4", "2", "")
    assert node_lines.row(CANDIDATE).cells[-1] == "a admits it"
    why = replace(CANDIDATE, why="it has not\nanswered yet")
    assert node_lines.row(why).cells == ("candidate", "? candidate", "pinned", "–", "–", "it has not\\nanswered yet")


def test_the_detail_tells_all():
    text = "\n".join(node_lines.details(replace(DESK, why="no call goes there")))
    for said in (DESK.id, "● active", "no call goes there.", " ".join(DESK.words), "by its words", DESK.url):
        assert said in text
    for said in ("3 running, of 4 at a time", "ollama/0.32.15", "full", "qwen3:8b, smollm2", "by its key"):
        assert said in text
    assert "by the settings" in "\n".join(node_lines.details(replace(DESK, listed=True, way=None)))


def test_what_stands_above():
    assert node_lines.above(GATEWAY, hidden=0).plain.splitlines()[1:] == ["  exchange nerve", "No call waits."]
    busy = replace(GATEWAY, waiting=3, discovery="it is switched\x1b off")
    assert node_lines.above(busy, hidden=2).plain.splitlines()[-1] == (
        "3 calls wait. 2 put out or rejected: h shows them. No machines are discovered: it is switched\\x1b off."
    )
    assert (
        "1 call waits. 1 put out or rejected: h shows it."
        in node_lines.above(replace(GATEWAY, waiting=1), hidden=1).plain
    )


def test_the_last_two_words_are_never_told_to_who_is_to_type_them():
    text = "\n".join(node_lines.to_compare(replace(DESK, why="it has another key!")))
    assert "cart walk suggest unable response lab …" in text
    assert "erode" not in text
    assert "harvest" not in text
    assert "! it has another key!" in text


def test_one_without_a_key():
    text = "\n".join(node_lines.keyless(replace(CANDIDATE, words=(), trust="open", why="it does not answer")))
    assert "https://192.168.1.20:11435" in text
    assert "! it does not answer." in text
