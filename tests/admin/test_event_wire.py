import orjson

from appliance.admin import wire
from appliance.admin.event_wire import Change, ChangeList, Event
from appliance.admin.node_wire import NodeList
from appliance.admin.pull_wire import Pull, PullList


def test_an_event_is_the_same_after_the_wire():
    pull = Pull("pull_1", "qwen3:8b", "desk", "m", "running", "", 1, 9, "2026-11-29T18:57:03.120Z", None)
    event = Event(nodes=NodeList((), "id", ("a",), 2), pulls=PullList((pull,)), last_change=7, problem="")
    assert wire.decode(Event, orjson.loads(orjson.dumps(wire.encode(event)))) == event


def test_an_empty_event_says_nothing():
    assert set(wire.encode(Event()).values()) == {None}


def test_a_page_of_changes_is_the_same_after_the_wire():
    page = ChangeList((Change(1, "2026-11-29T18:57:03.120Z", "rita", "shield.set", "mode", '"off"', None),), None)
    assert wire.decode(ChangeList, orjson.loads(orjson.dumps(wire.encode(page)))) == page
