import logging

import pytest

from appliance import logs
from appliance.errors import ConfigError


@pytest.fixture(autouse=True)
def restore():
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers, _ = handlers, root.setLevel(level)


def test_one_line_an_event(capsys: pytest.CaptureFixture[str]):
    logs.configure(level="INFO", under_journal=False)
    logging.getLogger("appliance.x").info("ready: %s", "here")
    logging.getLogger("appliance.x").debug("not shown")
    assert capsys.readouterr().err == "INFO appliance.x: ready: here\n"


def test_the_journal_gets_a_priority_on_every_line(capsys: pytest.CaptureFixture[str]):
    logs.configure(level="INFO", under_journal=True)
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("x").exception("it failed")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 2
    assert all(line.startswith("<3>") for line in lines)


def test_of_an_exception_the_place_and_kind_are_logged_and_nothing_that_it_says(capsys: pytest.CaptureFixture[str]):
    logs.configure(level="INFO", under_journal=False)
    try:
        try:
            raise ValueError(f"wrong: {'secret'.upper()}")
        except ValueError as error:
            raise RuntimeError(f"no: {'secret'.upper()}") from error
    except RuntimeError:
        logging.getLogger("x").exception("it failed")
    said = capsys.readouterr().err
    assert "SECRET" not in said
    assert [line for line in said.splitlines() if line in {"ValueError", "RuntimeError"}] == [
        "RuntimeError",
        "ValueError",
    ]
    assert "test_logs.py" in said


def test_statements_of_the_database_are_never_logged(capsys: pytest.CaptureFixture[str]):
    logs.configure(level="DEBUG", under_journal=False)
    logging.getLogger("aiosqlite").debug("executing a statement with its values")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("level", ["DEBUG", "debug", "Info", "warning", "ERROR"])
def test_a_level_is_known_in_any_case(level: str):
    logs.configure(level=level, under_journal=False)
    assert logging.getLevelName(logging.getLogger().level) == level.upper()


@pytest.mark.parametrize("level", ["", "loud", "10"])
def test_a_level_that_there_is_not_is_refused_and_changes_nothing(level: str):
    before = logging.getLogger().handlers
    with pytest.raises(ConfigError) as caught:
        logs.configure(level=level, under_journal=False)
    assert str(caught.value) == f"SYNAPSE_LOG is {level!r}. It must be one of: DEBUG, INFO, WARNING, ERROR."
    assert logging.getLogger().handlers is before
