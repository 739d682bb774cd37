from pathlib import Path

from appliance.admin.client import Client
from tests.tui.seats import TOOLS
from tui.desk import Desk


def test_what_is_wanted_of_one_page_is_not_wanted_of_another():
    gone: list[str] = []
    one = Desk(Client(Path("x")), TOOLS, gone.append)
    other = Desk(Client(Path("x")), TOOLS, gone.append)
    one.wanted["certificates"] = "prf_1"
    one.go("certificates")
    assert (gone, other.wanted) == (["certificates"], {})
