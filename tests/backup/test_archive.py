import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from appliance.backup import archive, container
from appliance.backup.archive import DATABASE, KEY, MANIFEST, Manifest, Member
from appliance.backup.container import Content, Head
from appliance.errors import StateError

AT = datetime(2026, 11, 29, 18, 57, 3, 120_000, tzinfo=UTC)
HEAD = Head("0.1.0", 7, AT, True, bytes(32), cost=2)
FILES = {KEY: b"k" * 32, DATABASE: b"SQLite" * 200_000}


def manifest(files: dict[str, bytes] = FILES) -> Manifest:
    return Manifest(
        "0.1.0", 7, AT, "office", {name: archive.measured(io.BytesIO(content)) for name, content in files.items()}
    )


def content(tar: bytes) -> Content:
    file = io.BytesIO(b"".join(container.sealed(HEAD, "passphrase", [tar])))
    return Content(file, container.read_head(file), "passphrase")


def whole(given: Manifest, files: dict[str, bytes] = FILES) -> bytes:
    return b"".join(archive.pieces(given, files.get(KEY), io.BytesIO(files[DATABASE])))


def taken(tar: bytes) -> tuple[Manifest, dict[str, bytes]]:
    found: dict[str, bytes] = {}

    def keep(name: str, pieces: Iterator[bytes]) -> None:
        found[name] = b"".join(pieces)

    return archive.read(content(tar), keep), found


@pytest.mark.parametrize("files", [FILES, {DATABASE: b""}, {DATABASE: b"x" * 512}, {KEY: b"k", DATABASE: b"x" * 513}])
def test_what_was_put_in_comes_out(files: dict[str, bytes]):
    told = manifest(files)
    tar = whole(told, files)
    assert len(tar) == archive.size_of(told)
    assert taken(tar) == (told, files)


def test_tar_reads_it():
    with tarfile.open(fileobj=io.BytesIO(whole(manifest()))) as tar:
        assert tar.getnames() == [MANIFEST, KEY, DATABASE]
        assert {member.mode for member in tar.getmembers()} == {0o600}
        database = tar.extractfile(DATABASE)
        assert database is not None
        assert database.read() == FILES[DATABASE]


def test_a_database_of_more_than_8_gib_has_a_size_that_tar_reads():
    head = archive._entry(DATABASE, 9 * 2**30, manifest())
    assert tarfile.TarInfo.frombuf(head, "utf-8", "strict").size == 9 * 2**30


def test_hashes_and_sizes_are_told():
    assert archive.measured(io.BytesIO(b"abc")) == Member(3, hashlib.sha256(b"abc").hexdigest())


def test_a_database_that_became_shorter_is_an_error():
    with pytest.raises(OSError, match="shorter"):
        whole(manifest(), FILES | {DATABASE: b"short"})


def tar_of(*entries: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, held in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(held)
            tar.addfile(entry, io.BytesIO(held))
    return out.getvalue()


TOLD = manifest().encoded()
FIRST, SECOND = (KEY, FILES[KEY]), (DATABASE, FILES[DATABASE])


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ((), "its content cannot be read|does not begin with its manifest"),
        ((FIRST, SECOND), "does not begin with its manifest"),
        (((MANIFEST, b"{}"), FIRST, SECOND), "its manifest cannot be read"),
        (((MANIFEST, b"[]"), FIRST, SECOND), "its manifest cannot be read"),
        (((MANIFEST, b" " * 70_000), FIRST, SECOND), "does not begin with its manifest"),
        (((MANIFEST, TOLD.replace(b'"format": 1', b'"format": 2')), FIRST, SECOND), "names what this version"),
        (((MANIFEST, TOLD.replace(b"secret.key", b"../../etcc")), FIRST, SECOND), "names what this version"),
        (((MANIFEST, TOLD), FIRST), "synapse.db is not in it"),
        (((MANIFEST, TOLD), SECOND, FIRST), "secret.key is not in it"),
        (((MANIFEST, TOLD), (KEY, b"short"), SECOND), "secret.key is not in it"),
        (((MANIFEST, TOLD), (KEY, b"K" * 32), SECOND), "secret.key has another hash"),
        (((MANIFEST, TOLD), FIRST, (DATABASE, b"X" + FILES[DATABASE][1:])), "synapse.db has another hash"),
        (((MANIFEST, TOLD), FIRST, SECOND, ("more", b"")), "more in it than it says"),
    ],
)
def test_what_is_not_as_the_manifest_says_is_refused(entries: tuple[tuple[str, bytes], ...], what: str):
    with pytest.raises(StateError, match=what):
        taken(tar_of(*entries))


def test_a_link_is_no_member():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        told = tarfile.TarInfo(MANIFEST)
        told.size = len(TOLD)
        tar.addfile(told, io.BytesIO(TOLD))
        link = tarfile.TarInfo(KEY)
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/shadow"
        tar.addfile(link)
    with pytest.raises(StateError, match="The backup is damaged"):
        taken(out.getvalue())


def test_a_file_that_is_cut_after_its_last_member_is_noticed():
    file = b"".join(container.sealed(HEAD, "passphrase", [whole(manifest()), bytes(container.CHUNK * 2)]))
    cut = io.BytesIO(file[: -container.CHUNK - 2 * container.TAG])
    stream = Content(cut, container.read_head(cut), "passphrase")
    with pytest.raises(StateError, match="changed or is missing"):
        archive.read(stream, archive.nowhere)


def test_a_manifest_says_what_it_holds():
    assert replace(manifest(), version="0.2.0").encoded() != TOLD
    assert b'"created": "2026-11-29T18:57:03.120Z"' in TOLD
