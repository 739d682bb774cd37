import platform
import tomllib
from pathlib import Path

from appliance.commands import version


def test_it_is_that_of_the_project():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    outcome = version.show()
    assert project["name"] == version.DISTRIBUTION
    assert outcome.document["version"] == project["version"]
    assert outcome.lines[0].startswith(f"synapse {project['version']} (Python {platform.python_version()}, ")
