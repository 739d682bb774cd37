import dataclasses
import inspect

from appliance.doctor import facts

SECRETS = {"key", "secret", "passphrase", "password", "sealed"}


def test_no_fact_has_a_place_for_a_secret():
    shapes = [one for _, one in inspect.getmembers(facts, dataclasses.is_dataclass) if one.__module__ == facts.__name__]
    assert len(shapes) > 10
    names = {field.name for shape in shapes for field in dataclasses.fields(shape)}
    assert not names & SECRETS
