# SPDX-License-Identifier: Apache-2.0
"""What one client may take: numbers that no real client meets."""

import dataclasses

# Kept of a request whose body nobody will read, so that its connection can be used again.
UNWANTED_BODY_SIZE = 64 << 10
# Bytes that chunks may spend on their framing beyond what they carry.
MAX_CHUNK_FRAMING = 64 << 10
# Handed to the parser at a time: it does not stop between two requests that came together.
PARSER_SLICE = 4 << 10
# Written at a time, so that the event loop does not copy what a slow client has not read yet.
WRITE_SLICE = 256 << 10
# Bytes of an answer for which a client is given one more second to read it.
READ_RATE = 64 << 10
# Seconds in which a client can read the answer to a request that it is still sending, and the
# bytes that are read from it meanwhile.
LINGER_SECONDS = 2.0
LINGER_SIZE = 1 << 20
# Seconds for requests that were sent before the server stopped, and not read yet.
STOP_SETTLE_SECONDS = 0.25


@dataclasses.dataclass(frozen=True)
class Limits:
    """Bounds of one server; sizes are in bytes, times in seconds."""

    # At this number the connection that has waited longest for its client makes room.
    max_connections: int = 5000
    # Request line and headers together, as they are sent.
    max_header_size: int = 32 << 10
    # A larger body reaches the application cut off one byte beyond the bound.
    max_body_size: int = 16 << 20
    # Bodies of all connections together; beyond, the oldest incomplete one is given up.
    max_buffered_size: int = 256 << 20
    header_timeout: float = 20.0
    body_timeout: float = 60.0
    # For a connection between two requests.
    keep_alive_timeout: float = 120.0
    # For an answer to be read, besides one second for each `READ_RATE` bytes of it.
    answer_timeout: float = 60.0
    # For requests to be answered after the server was told to stop.
    stop_timeout: float = 20.0
