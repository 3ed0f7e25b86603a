"""Messages between host programs and the process that has the device.

A program inherits one socket, the broker.  Each of its processes makes a channel of its own at its
first call, and hands one end over through the broker: no name and no port is there to find.
"""

from __future__ import annotations

import array
import os
import socket
import struct
from contextlib import suppress

REQUEST = struct.Struct("<IIQQ")
"""ApiFunction, thread of the host, current context, bytes that follow."""
ANSWER = struct.Struct("<iIQ")
"""Status, bytes that the device printed, bytes that follow with them."""
FACTS = struct.Struct("<5Q")
"""Where device memory and shared memory lie, and the primary context: `struct host_facts`."""
_PID = struct.Struct("<I")
MOST = 1 << 40
"""Bytes of a message, at most."""


class Broker:
    """Where the processes of a host program announce themselves.

    Attributes:
        mine: its end here; `theirs` is inherited.
    """

    def __init__(self) -> None:
        self.mine, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        os.set_inheritable(self.theirs.fileno(), True)

    def take(self) -> tuple[socket.socket, int] | None:
        """The channel of one more process, and its number; None after the last one has ended."""
        size = socket.CMSG_SPACE(array.array("i").itemsize)
        data, control, _, _ = self.mine.recvmsg(_PID.size, size)
        if len(data) < _PID.size:
            return None
        for level, kind, content in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                (number,) = array.array("i", content[:4])
                return socket.socket(fileno=number), _PID.unpack(data)[0]
        return None

    def close(self) -> None:
        """Take no more."""
        for end in (self.mine, self.theirs):
            end.close()


class HostChannel:
    """Calls of one process.

    Attributes:
        pid: its number.
    """

    def __init__(self, end: socket.socket, pid: int) -> None:
        self._end = end
        self.pid = pid
        self._head = bytearray(REQUEST.size)

    def fileno(self) -> int:
        """For selectors."""
        return self._end.fileno()

    def tell(self, facts: bytes, file: int) -> None:
        """The facts, and the file of shared memory."""
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))
        self._end.sendmsg([facts], [rights])

    def next(self) -> tuple[int, int, bytearray] | None:
        """ApiFunction, current context and arguments of the next call; None: the process ended."""
        if not self._fill(memoryview(self._head)):
            return None
        function, _thread, context, size = REQUEST.unpack(self._head)
        if size > MOST:
            return None
        data = bytearray(size)
        if size and not self._fill(memoryview(data)):
            return None
        return function, context, data

    def _fill(self, view: memoryview) -> bool:
        while view:
            try:
                got = self._end.recv_into(view, 0, socket.MSG_WAITALL)
            except (ConnectionError, OSError):
                return False
            if not got:
                return False
            view = view[got:]
        return True

    def answer(self, status: int, data: bytes = b"", printed: bytes = b"") -> None:
        """What a call gives back, and what the device printed; a process that has ended gets
        nothing."""
        with suppress(OSError):
            head = ANSWER.pack(status, len(printed), len(printed) + len(data))
            self._end.sendall(head + printed + data)

    def close(self) -> None:
        """No more calls."""
        self._end.close()
