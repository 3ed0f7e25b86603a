"""Variables, frames and results of -G builds as a client of GDB/MI asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mi.client import Client
from tests.source.cases import cubin

FLAGS = "--kernel references --grid 1 --block 32 --arg i32[64]:arange --arg i32[64]:zeros"


@pytest.fixture
def inner() -> Iterator[Client]:
    """A client that stands in a function that the kernel calls, before it returns."""
    with Client("-q", "-i=mi3", str(cubin("references", "sm_52"))) as client:
        client.ok(f"-exec-arguments {FLAGS}")
        client.ok('-break-insert -c "threadIdx.x == 5" references.cu:15')
        client.go("-exec-run")
        yield client


def test_variable_objects_keep_their_frame(inner: Client) -> None:
    inner.ok("-var-create --thread 1 --frame 1 view * v")
    gone = inner.ok("-var-create --thread 1 --frame 1 later * arr[0]")
    assert gone["type"] == "int"
    rows = inner.ok("-var-list-children --all-values view")["children"]
    found = {row["exp"]: row["value"] for row in rows}
    assert (list(found), found["first"]) == (["first", "k", "p"], "9")
    assert inner.ok("-var-update --all-values view")["changelist"] == []
    gone = inner.ok("-var-create --thread 1 --frame 1 lost * t")
    assert gone["value"] == "<optimized out>"


def test_children_of_a_floating_object_are_of_the_frame_it_was_looked_at_in(inner: Client) -> None:
    """As gdb, which has the object's value; a client lists them with no frame."""
    made = inner.ok("-var-create --thread 1 --frame 1 view @ v")
    assert made["numchild"] == "3"
    rows = inner.ok("-var-list-children --all-values view")["children"]
    assert {row["exp"]: row["value"] for row in rows}["first"] == "9"
    inner.go("-exec-finish")
    inner.ok("-var-update --all-values view")
    assert inner.ok("-var-evaluate-expression view.first")["value"] == "9"


def test_what_a_function_returned_is_told(inner: Client) -> None:
    stop = inner.go("-exec-finish")
    assert (stop["gdb-result-var"], stop["return-value"]) == ("$1", "11")
    assert inner.ok("-data-evaluate-expression $1")["value"] == "11"


def test_a_function_returns_what_a_client_says(inner: Client) -> None:
    frame = inner.ok("-exec-return 77")["frame"]
    assert frame["func"].startswith("references")
    inner.go("-exec-next")
    assert inner.ok("-data-evaluate-expression t")["value"] == "77"


def test_a_watchpoint_ends_with_its_frame() -> None:
    """The records that gdb 13 gives, in its order."""
    with Client("-q", "-i=mi3", str(cubin("call_chain", "sm_52"))) as client:
        client.ok("-exec-arguments --grid 1 --block 32 --arg i32[32]:zeros")
        client.ok("-break-insert -t call_chain.cu:6")
        client.go("-exec-run")
        assert client.ok("-break-watch w")["wpt"] == {"number": "2", "exp": "w"}
        stop = client.go("-exec-continue")
        assert (stop["reason"], stop["wpnum"]) == ("watchpoint-scope", "2")
        assert (stop["frame"]["func"], stop["frame"]["line"]) == ("deep::middle", "11")
        client.ok("-break-list")
        text = "\n".join(client.lines())
        assert text.index('reason="watchpoint-scope"') < text.index('=breakpoint-deleted,id="2"')
