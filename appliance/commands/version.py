"""`synapse version`: of Synapse, and of what it runs on."""

import platform
from importlib.metadata import version

from appliance import DISTRIBUTION
from appliance.commands.outcome import Outcome


def show() -> Outcome:
    found = {
        "version": version(DISTRIBUTION),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    return Outcome(found, (f"synapse {found['version']} (Python {found['python']}, {found['platform']})",))
