"""The GGUF reader. Source: the GGUF specification (magic, version 3, little-endian, typed values, tensor infos)."""

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from appliance.engine.gguf import MAX_ITEMS, MAX_TEXT, Tensor, read_header, shortest_float32
from appliance.errors import EngineError
from tests.engine.ggufs import gguf_file, gguf_text, small_header


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(small_header())
    return path


def test_values_of_every_kind(file: Path):
    metadata = read_header(file, arrays=True).metadata
    assert {key: metadata[key] for key in metadata if key.startswith("v.")} == {
        "v.u8": 255,
        "v.i8": -1,
        "v.u16": 0x0201,
        "v.i16": -2,
        "v.u32": 7,
        "v.i32": -7,
        "v.f32": 1e-5,
        "v.bool": True,
        "v.u64": 2**40,
        "v.i64": -(2**40),
        "v.f64": 0.1,
        "v.texts": ["a", "bc"],
        "v.numbers": [1, -2, 3],
    }


def test_arrays_are_left_out_unless_asked_for(file: Path):
    header = read_header(file)
    assert header.metadata["v.texts"] is None
    assert header.metadata["v.numbers"] is None
    assert header.metadata["tokenizer.chat_template"] == "{{ messages }}"


def test_tensors_and_the_number_of_parameters(file: Path):
    header = read_header(file)
    assert header.tensors == (
        Tensor("token_embd.weight", "Q8_0", (64, 100)),
        Tensor("output_norm.weight", "F32", (64,)),
    )
    assert header.parameter_count == 64 * 100 + 64


def test_text_and_number_are_typed(file: Path):
    header = read_header(file)
    assert header.text("general.architecture") == "tiny"
    assert header.text("tiny.context_length") == ""
    assert header.number("tiny.context_length") == 2048
    assert header.number("v.bool") is None
    assert header.number("absent") is None


def test_an_unknown_tensor_type_is_only_a_name(tmp_path: Path):
    path = tmp_path / "new.gguf"
    path.write_bytes(gguf_file({}, [("t", (1,), 4711)]))
    assert read_header(path).tensors[0].type == "unknown"


def test_every_truncation_is_an_error_with_advice(tmp_path: Path):
    whole = small_header()
    path = tmp_path / "cut.gguf"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(EngineError) as caught:
            read_header(path)
        assert caught.value.advice
        assert str(path) in caught.value.message


HUGE = 2**63


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"GGML" + bytes(40), "is not a GGUF file"),
        (b"", "ends before"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version"),
        (b"GGUF" + struct.pack("<IQQ", 3, HUGE, 0), "tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, HUGE), "metadata entries"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", HUGE), "string"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", MAX_TEXT), "ends before"),
        (gguf_file({"k": (13, b"")}, []), "unknown type 13"),
        (gguf_file({"k": (9, struct.pack("<IQ", 4, HUGE))}, []), "array items"),
        (gguf_file({"k": (9, struct.pack("<IQ", 12, MAX_ITEMS))}, []), "ends before"),
        (gguf_file({"k": (9, struct.pack("<IQ", 9, 1))}, []), "unknown type 9"),
        (gguf_file({}, [("t", (1,) * 9, 0)]), "9 dimensions"),
        (gguf_file({}, [("t", (2**32, 2**31), 0)]), "weights"),
    ],
)
def test_hostile_files_are_refused(tmp_path: Path, content: bytes, reason: str):
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(EngineError, match=reason):
        read_header(path)


@given(position=st.integers(0, len(small_header()) - 1), value=st.integers(0, 255))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_changed_byte_is_read_or_refused_and_nothing_else(tmp_path: Path, position: int, value: int):
    content = bytearray(small_header())
    content[position] = value
    path = tmp_path / "fuzzed.gguf"
    path.write_bytes(content)
    with contextlib.suppress(EngineError):
        read_header(path, arrays=True)


def test_an_absent_file_and_a_directory(tmp_path: Path):
    for path in (tmp_path / "absent.gguf", tmp_path):
        with pytest.raises(EngineError, match="cannot be read"):
            read_header(path)


def test_text_that_is_not_utf8_does_not_stop_reading(tmp_path: Path):
    path = tmp_path / "odd.gguf"
    path.write_bytes(gguf_file({"k": (8, gguf_text("ab").replace(b"ab", b"\xff\xfe"))}, []))
    assert read_header(path).metadata["k"] == "��"


@pytest.mark.parametrize("value", [0.0, 1e-5, 0.1, 100000.0, 1 / 3, float("inf")])
def test_a_32_bit_float_keeps_its_value_and_loses_its_tail(value: float):
    single = struct.unpack("<f", struct.pack("<f", value))[0]
    short = shortest_float32(single)
    assert struct.pack("<f", short) == struct.pack("<f", single)
    assert len(repr(short)) <= len(repr(single))


def test_the_recorded_epsilon():
    assert shortest_float32(9.999999747378752e-06) == 0.00001  # as Ollama shows it (recording 07)
