"""docs/certificates.md explains every field and every word that a certificate can hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from appliance.proofs.certificate import Certificate, payload
from appliance.proofs.profile import Ending, ShieldMode, Tier, Trust

PAGE = Path(__file__).parents[2] / "docs" / "certificates.md"


def paths(value: object, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield from paths(value[0], path)
    else:
        yield path


def test_every_field_is_explained(certificate: Certificate, local_certificate: Certificate) -> None:
    page = PAGE.read_text("utf-8")
    said = [payload(one, origin="office-1/synapse", index=413) for one in (certificate, local_certificate)]
    for path in {path for one in said for path in paths(one)} | {"recovered", "address.agent", "address.memory"}:
        parent, _, name = path.rpartition(".")
        assert f"`{path}`" in page or (f"`{parent}`" in page and f"`{name}`" in page), path


@pytest.mark.parametrize("words", [Ending, ShieldMode, Tier, Trust])
def test_every_word_is_explained(words: object) -> None:
    page = PAGE.read_text("utf-8")
    assert [word for word in get_args(words) if f"`{word}`" not in page] == []
