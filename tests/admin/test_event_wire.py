import orjson

from appliance.admin import wire
from appliance.admin.event_wire import Change, ChangeList, Event
from appliance.admin.node_wire import NodeList


def test_an_event_is_the_same_after_the_wire():
    event = Event(nodes=NodeList((), "id", ("a",), 2), last_change=7, problem="")
    assert wire.decode(Event, orjson.loads(orjson.dumps(wire.encode(event)))) == event


def test_an_empty_event_says_nothing():
    assert set(wire.encode(Event()).values()) == {None}


def test_a_page_of_changes_is_the_same_after_the_wire():
    page = ChangeList((Change(1, "2026-11-29T18:57:03.120Z", "rita", "shield.set", "mode", '"off"', None),), None)
    assert wire.decode(ChangeList, orjson.loads(orjson.dumps(wire.encode(page)))) == page
