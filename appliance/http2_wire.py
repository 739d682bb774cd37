"""The frames of one HTTP/2 connection, read and written by the library h2: the server's side, within our limits.

In h2 (release pinned) a request that breaks the rules ends the connection, and with it the requests of others, where
the standard ends its stream alone (RFC 9113, section 8.1.1). Knows neither apps nor sockets.
"""

from collections.abc import Iterable

from h2.config import H2Configuration
from h2.connection import AllowedStreamIDs, ConnectionInputs, H2Connection, H2ConnectionStateMachine
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, StreamReset
from h2.exceptions import InvalidBodyLengthError, ProtocolError
from h2.settings import SettingCodes, Settings
from h2.stream import H2Stream, StreamInputs
from h2.utilities import HeaderValidationFlags, validate_headers
from hpack.struct import Header
from hyperframe.frame import Frame, HeadersFrame, PriorityFrame

STREAMS = 100
"""How many requests a client may have open at a time. Clients count on so many until they are told."""

HEADER_BYTES = 16 * 1024
"""The largest header, with 32 bytes more for each field (RFC 9113, section 6.5.2). HTTP/1.1 has the same limit here."""

_Outcome = tuple[list[Frame], list[Event]]
"""What a frame makes us send, and what it tells."""


class Wire(H2Connection):
    """The server's side of the frames. A `StreamReset` that it tells may be its own doing, for a malformed request."""

    def __init__(self) -> None:
        super().__init__(H2Configuration(client_side=False, validate_inbound_headers=False))  # a stream does it
        self.state_machine = _OpenEnded()
        limits: dict[SettingCodes, int] = {
            SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS,
            SettingCodes.MAX_HEADER_LIST_SIZE: HEADER_BYTES,
        }
        self.local_settings = Settings(client=False, initial_values=limits)
        self.decoder.max_header_list_size = HEADER_BYTES

    def clear_outbound_data_buffer(self) -> None:
        """Called when a GOAWAY comes, and for us no reason to drop what is to be sent."""

    def _begin_new_stream(self, stream_id: int, allowed_ids: AllowedStreamIDs) -> H2Stream:
        plain = super()._begin_new_stream(stream_id, allowed_ids)
        stream = _Stream(
            stream_id,
            config=self.config,
            inbound_window_size=self.local_settings.initial_window_size,
            outbound_window_size=self.remote_settings.initial_window_size,
        )
        stream.max_outbound_frame_size = plain.max_outbound_frame_size
        self.streams[stream_id] = stream
        return stream

    def _receive_priority_frame(self, frame: HeadersFrame | PriorityFrame) -> _Outcome:
        """Priorities are nothing to us (RFC 9113, section 5.3.2); h2 would look whether a stream depends on itself."""
        frame.depends_on = 0
        return super()._receive_priority_frame(frame)


class _OpenEnded(H2ConnectionStateMachine):
    """A client's GOAWAY says that no stream will follow, and ends none (RFC 9113, section 6.8). In h2 it ends all."""

    def process_input(self, input_: ConnectionInputs) -> list[Event]:
        return [] if input_ is ConnectionInputs.RECV_GOAWAY else super().process_input(input_)


class _Stream(H2Stream):
    """Resets itself where its request is malformed. By then its fields are decoded and its windows counted, so that the
    connection is none the worse for it.
    """

    def receive_headers(
        self, headers: Iterable[Header], end_stream: bool, header_encoding: bool | str | None
    ) -> _Outcome:
        fields = list(headers)
        try:
            self._check(fields, end_stream=end_stream)
        except ProtocolError:
            # Where no header may come at all, this says so, and that is no mere fault of the request.
            return self._refused(self.state_machine.process_input(StreamInputs.RECV_HEADERS))
        return super().receive_headers(fields, end_stream, header_encoding)

    def receive_data(self, data: bytes, end_stream: bool, flow_control_len: int) -> _Outcome:
        try:
            return super().receive_data(data, end_stream, flow_control_len)
        except InvalidBodyLengthError:
            # The data is for nobody, but all streams share the window that it took.
            taken = DataReceived(stream_id=self.stream_id, data=b"", flow_controlled_length=flow_control_len)
            return self._refused([taken])

    def _check(self, fields: list[Header], *, end_stream: bool) -> None:
        """Raises `ProtocolError` for a header, or a trailer, that h2 would take ill (RFC 9113, sections 8.1 to 8.3)."""
        is_trailer = bool(self.state_machine.headers_received)
        flags = HeaderValidationFlags(
            is_client=False, is_trailer=is_trailer, is_response_header=False, is_push_promise=False
        )
        for _ in validate_headers(fields, flags):
            pass
        if is_trailer and not end_stream:
            raise ProtocolError("A trailer does not end its stream.")
        self._track_content_length(0, end_stream)  # behind a trailer: of what the header announced
        self._initialize_content_length(fields)
        self._track_content_length(0, end_stream)

    def _refused(self, events: list[Event]) -> _Outcome:
        why = ErrorCodes.PROTOCOL_ERROR
        reset = StreamReset(stream_id=self.stream_id, error_code=why, remote_reset=False)
        return self.reset_stream(why), [*events, reset]
