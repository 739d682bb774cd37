"""How the tree is laid out: every module has its test, says what it is for and stays short enough to read.

Source: the project's own conventions (tests mirror the packages, modules stay under about 400 lines).
"""

import ast
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("appliance", "tui")
MAX_LINES = 400

# Written in pieces, since no tracked file may hold one of these: a build takes packages from whatever index
# the machine is set up for.
REGISTRY_HOSTS = tuple(
    ".".join(pieces)
    for pieces in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
    )
)


def modules(root: Path) -> list[Path]:
    """Every Python file of the packages under `root`, relative to it."""
    return sorted(
        path.relative_to(root)
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
        if "__pycache__" not in path.parts
    )


def has_test(root: Path, module: Path) -> bool:
    """Whether `a/b/c.py` has `tests/b/test_c.py` or `tests/b/test_c_*.py`."""
    if module.name in ("__init__.py", "__main__.py"):
        return True
    package, *inside = module.parent.parts
    below = Path(*inside) if package == "appliance" else Path(package, *inside)
    folder = root / "tests" / below
    return (folder / f"test_{module.stem}.py").is_file() or any(folder.glob(f"test_{module.stem}_*.py"))


def opens_with_docstring(source: str) -> bool:
    return bool((ast.get_docstring(ast.parse(source)) or "").strip())


def tracked_files(root: Path) -> list[Path]:
    """The files of the commit to come: tracked ones, and new ones that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=False,
        text=True,
    )
    if listed.returncode != 0 and "CI" not in os.environ:
        pytest.skip(f"not a git checkout: {listed.stderr.strip()}")
    assert listed.returncode == 0, listed.stderr
    return [root / name for name in listed.stdout.split("\0") if name and (root / name).is_file()]


def hosts_in(content: bytes) -> list[str]:
    lowered = content.lower()
    return [host for host in REGISTRY_HOSTS if host.encode() in lowered]


def idle_sources(root: Path, contracts: list[dict[str, list[str]]]) -> list[str]:
    """The sources `a.b.**` of import contracts, which take in what is below a package, where a.b is a plain module."""
    sources = [source for contract in contracts for source in contract.get("source_modules", [])]
    return [
        source
        for source in sources
        if source.endswith(".**") and (root / source.removesuffix(".**").replace(".", "/")).with_suffix(".py").is_file()
    ]


def test_there_are_modules():
    assert modules(ROOT)


def test_every_module_has_its_test():
    assert [str(module) for module in modules(ROOT) if not has_test(ROOT, module)] == []


def test_every_module_says_what_it_is_for():
    assert [str(module) for module in modules(ROOT) if not opens_with_docstring((ROOT / module).read_text())] == []


def test_every_module_is_short_enough_to_read():
    lengths = {str(module): len((ROOT / module).read_text().splitlines()) for module in modules(ROOT)}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_no_tracked_file_names_a_package_registry():
    found = {str(path.relative_to(ROOT)): hosts_in(path.read_bytes()) for path in tracked_files(ROOT)}
    assert {name: hosts for name, hosts in found.items() if hosts} == {}


def test_every_import_contract_has_something_to_check():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert idle_sources(ROOT, contracts) == []


class TestTheChecksThemselves:
    """Each can fail."""

    @pytest.mark.parametrize(
        ("module", "test"),
        [
            ("appliance/errors.py", "tests/test_errors.py"),
            ("appliance/calls/address.py", "tests/calls/test_address.py"),
            ("appliance/calls/address.py", "tests/calls/test_address_grammar.py"),
            ("appliance/dialects/openai/chat.py", "tests/dialects/openai/test_chat.py"),
            ("tui/app.py", "tests/tui/test_app.py"),
        ],
    )
    def test_a_mirrored_test_is_found(self, tmp_path: Path, module: str, test: str):
        for name in (module, test):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        assert modules(tmp_path) == [Path(module)]
        assert has_test(tmp_path, Path(module))

    @pytest.mark.parametrize(
        "test", ["tests/test_address.py", "tests/calls/test_addresses.py", "tests/calls/address.py", None]
    )
    def test_a_missing_one_is_noticed(self, tmp_path: Path, test: str | None):
        if test:
            (tmp_path / test).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / test).touch()
        assert not has_test(tmp_path, Path("appliance/calls/address.py"))

    @pytest.mark.parametrize("source", ["", "import os\n", "# a comment\n", '""" """\n', 'x = 1\n"""late"""\n'])
    def test_a_module_without_docstring_is_noticed(self, source: str):
        assert not opens_with_docstring(source)

    @pytest.mark.parametrize("host", REGISTRY_HOSTS)
    def test_a_host_is_noticed(self, host: str):
        assert hosts_in(f"--index-url HTTPS://Files.{host.title()}/simple".encode()) == [host]

    def test_an_idle_import_contract_is_noticed(self, tmp_path: Path):
        (tmp_path / "appliance/engine").mkdir(parents=True)
        (tmp_path / "appliance/errors.py").touch()
        contract = {"source_modules": ["appliance.engine.**", "appliance.errors.**", "appliance.errors"]}
        assert idle_sources(tmp_path, [contract, {"layers": ["a"]}]) == ["appliance.errors.**"]
