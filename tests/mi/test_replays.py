"""What other clients send, line by line: each answer is one that the client can go on from.

The lines were read in the clients' sources and logs (MIEngine's CommandFactories and
DebuggedProcess, code-debug's mi2.ts, gdbgui's page, CDT's FinalLaunchSequence, KDevelop's
debugsession, Qt Creator's gdbengine, Seer's SeerGdbWidget, a log of CLion's driver, kdbg's
gdbdriver); the clients themselves are not run here.  `WALK` and `SRC` stand for the kernel's file
and source, `*` goes up to the next stop, `!` is a line that the client knows may fail.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.mi.client import KERNELS, Client, command, console_text

WALK, SOURCE = str(KERNELS / "walk.cubin"), str(KERNELS / "walk.cu")

MIENGINE = """\
1001-gdb-set mi-async on
1002-interpreter-exec console "set pagination off"
1003-gdb-set auto-solib-add on
1004-gdb-set solib-search-path /
!1005-interpreter-exec console "set debuginfod enabled off"
1006-environment-cd /tmp
1007-file-exec-and-symbols WALK
1008-interpreter-exec console "show architecture"                  | ~The target architecture is
1009-enable-pretty-printing
1010-gdb-set disassembly-flavor intel
!1011-interpreter-exec console "python print(1)"
1012-list-features                                                  | frozen-varobjs
!1013-break-insert -f main                                          | func="walk"
1014-break-insert -f SRC:28                                         | line="28"
1015-break-insert -f -c "threadIdx.x == 3" --function digits        | func="digits(int)"
*1016-exec-run                                                      | bkptno="1"
1017-thread-info                                                    | id="4"
1018-stack-list-frames 0 1000                                       | func="walk"
1019-stack-info-depth --thread 1 1000                               | depth="1"
1020-thread-select 2                                                | new-thread-id="2"
1021-stack-list-arguments 0 0 0                                     | args=
1022-stack-select-frame 0
1023-stack-list-variables 0                                         | name="in@entry"
1024-var-create --thread 2 --frame 0 - * "threadIdx"                | numchild="3"
1025-var-list-children --simple-values "var1" 0 1000                | var1.x
1026-var-evaluate-expression var1.x                                 | value="32"
1027-var-set-format "var1.x" hexadecimal                            | 0x20
1028-var-show-attributes "var1.x"                                   | attr=
1029-var-info-path-expression var1.x                                | threadIdx.x
1030-var-delete var1
1031-data-list-register-names                                       | "R0"
1032-data-list-register-values x                                    | number="0"
1033-data-disassemble -s 0x1008 -e 0x1048 -- 2                      | opcodes=
1034-data-read-memory-bytes -o 0 &counter 4                         | contents="05000000"
1035-data-write-memory-bytes 0x705101000 "07"
*1036-exec-next
*1037-exec-step
*1038-exec-continue                                                 | bkptno="2"
1039-break-delete 2
*1040-exec-continue                                                 | bkptno="3"
*1040-exec-finish                                                   | function-finished
1041-interpreter-exec console "info line SRC:28"                    | ~Line 28 of
!1042-exec-jump SRC:31                                              | running
!1043kill
1044-gdb-exit
"""

NATIVE_DEBUG = """\
1-gdb-set target-async on
2-environment-directory "/tmp"
3-environment-cd "/tmp"
4-file-exec-and-symbols "WALK"
5-enable-pretty-printing
6-break-insert -f "SRC:28"                                          | number="1"
7-break-condition 1 threadIdx.x < 40
8-break-insert -f "digits"                                          | number="2"
*9-exec-run                                                         | breakpoint-hit
10-thread-info                                                      | current-thread-id
11-stack-list-frames --thread 1 0 20                                | level="0"
12-stack-list-variables --thread 1 --frame 0 --simple-values        | name="in@entry"
13-var-create --frame 0 --thread 1 var_in * "in"                    | name="var_in"
14-var-update --all-values var_in                                   | changelist
15-data-list-register-names                                         | "pc"
16-data-list-register-values --skip-unavailable N                   | number="0"
17-data-evaluate-expression --thread 1 --frame 0 counter            | value="5"
18-stack-info-depth --thread 1                                      | depth
19-gdb-set var counter = 9
*20-exec-continue                                                   | bkptno="2"
*21-exec-step
22-break-delete 2
23-interpreter-exec console "info registers R1"                     | ~R1
24-gdb-exit
"""

GDBGUI = """\
-list-features
-file-exec-and-symbols WALK
-file-list-exec-source-files                                        | walk.cu
-break-insert walk                                                  | bkpt=
-break-list                                                         | BreakpointTable
*-exec-run                                                          | breakpoint-hit
-stack-list-frames
-stack-list-variables --simple-values                               | variables
-thread-info
-var-create --thread 1 --frame 0 - * blockDim                       | dim3
-var-list-children --all-values "var1"                              | has_more
-data-list-register-names
-data-list-register-values x
-data-disassemble -s 0x1008 -e 0x1108 -- 4                          | src_and_asm_line
-data-read-memory-bytes 0x705101000 16                              | contents
info threads
complete info re                                                    | ~info registers
-inferior-tty-show
-target-detach
-gdb-exit
"""

ECLIPSE = """\
1-gdb-version                                                       | ~GNU gdb (GDB) 13.1
2-environment-cd "/tmp"
3-gdb-set breakpoint pending on
4-enable-pretty-printing
5-gdb-set print object on
6-gdb-set print sevenbit-strings on
7-gdb-set host-charset UTF-8
8-gdb-set target-charset UTF-8
9-gdb-set target-wide-charset UTF-32
10-gdb-set dprintf-style call
11-gdb-set auto-solib-add on
12-gdb-set detach-on-fork on
13-list-thread-groups --available                                   | groups
14-list-thread-groups                                               | i1
15-file-exec-and-symbols --thread-group i1 "WALK"
16-list-features
17-gdb-show --thread-group i1 language                              | value
18-break-insert -t -f walk                                          | disp="del"
19-inferior-tty-set --thread-group i1 /dev/null
*20-exec-run --thread-group i1                                      | breakpoint-hit
21-list-thread-groups i1                                            | threads
22-thread-info 1                                                    | CUDA block
23-stack-info-depth --thread 1 11                                   | depth="1"
24-stack-list-frames --thread 1 0 0                                 | frame=
25-stack-list-arguments --thread 1 0 0 0                            | stack-args
26-stack-list-locals --thread 1 --frame 0 0                         | locals=[]
27-var-create --thread 1 --frame 0 - * counter                      | value="5"
28-var-update 1 var1                                                | changelist=[]
29-data-evaluate-expression --thread 1 --frame 0 "sizeof (void*)"   | value="8"
30-data-list-register-values --thread 1 --frame 0 x 0 1             | number="1"
31-data-read-memory --thread 1 705101000 x 1 1 4 !
32-break-insert --thread-group i1 -f SRC:31                         | number="2"
*33-exec-next --thread 1 1
*34-exec-continue --thread 1                                        | bkptno="2"
35-list-thread-groups --recurse 1                                   | threads
36-interpreter-exec console "kill"
37-gdb-exit
"""

QT_CREATOR = """\
show version                                                        | ~GNU gdb
show debug-file-directory                                           | ~directory
set print object on
set breakpoint pending on
set print elements 10000
set overload-resolution off
handle SIGSEGV nopass stop print
set unwindonsignal on
set width 0
set height 0
set substitute-path /build /src
!python import sys
-file-exec-and-symbols "WALK"
-break-insert -f "SRC:28"                                           | line="28"
*-exec-run                                                          | breakpoint-hit
-thread-info                                                        | threads
-stack-select-frame 0
-data-list-register-names
-data-list-register-values r                                        | 0x00000
-data-read-memory 0x705101000 x 1 1 16                              | 0x05
-data-write-memory 0x705101000 d 1 9 0
-data-evaluate-expression counter                                   | value="9"
set disassembly-flavor att
disassemble /rm 0x1008                                              | ~Dump of assembler code for
disassemble /r 0xff0,0x1064                                         | ~Dump of assembler code from
-exec-next
"""

CLION = """\
-list-thread-groups                                                 | i1
inferior 1                                                          | ~inferior 1
-gdb-set print elements 1000
-gdb-set print repeats 0
-gdb-set print max-depth 20
-interpreter-exec console "set confirm off"
-file-exec-and-symbols WALK
-break-insert -f "SRC:28"
-break-condition 1 "threadIdx.x == 0"
*-exec-run --thread-group i1                                        | breakpoint-hit
-stack-list-frames --thread 1 0 50
-stack-list-variables --thread 1 --frame 0 --no-frame-filters 0     | variables
-var-create --thread 1 --frame 0 * * "counter" !
-interpreter-exec console "frame function walk" !
-thread-list-ids                                                    | number-of-threads="4"
-symbol-info-functions --name digits                                | digits
-symbol-info-variables --max-results 2
-complete "print cou"                                               | print counter
-exec-abort
-gdb-exit
"""

SESSIONS = {
    "miengine": MIENGINE,
    "native-debug": NATIVE_DEBUG,
    "gdbgui": GDBGUI,
    "eclipse": ECLIPSE,
    "qt-creator": QT_CREATOR,
    "clion": CLION,
}


def one(client: Client, line: str, found: str, may_fail: bool, stops: bool) -> None:
    """Send a line; its answer (and what came before it) has what the client looks for."""
    begin = len(client.records)
    client.send(line)
    token = re.match(r"\d*", line)
    assert token is not None
    result = client.until(lambda r: r.kind == "^")[-1]
    assert result.token == token[0]
    if result.name == "error":
        assert may_fail, (line, result.fields)
        return
    if stops:
        assert result.name == "running", line
        client.stop()
    elif result.name != "exit":
        client.until(lambda r: r.kind == "prompt")
    if found.startswith("~"):
        assert found[1:] in console_text(client.records[begin:]), line
    elif found:
        text = "\n".join(client.lines(begin))
        assert found in text, (line, text)


@pytest.mark.parametrize("name", SESSIONS)
def test_replay(name: str) -> None:
    with Client("-q", "-i=mi") as client:
        for row in SESSIONS[name].splitlines():
            row, _, found = (p.strip() for p in row.partition("|"))
            may_fail = "!" in (row[0], row[-1])
            line = row.strip("!* ") if not row.startswith("-") else row.rstrip("! ")
            line = line.replace("WALK", WALK).replace("SRC", SOURCE)
            one(client, line, found, may_fail, row.startswith("*"))


KDBG = """\
set editing off
set confirm off
set print static-members off
set print asm-demangle on
define kdbg__alllocals
info locals
info args
end
set prompt (kdbg)
tty /dev/null
file "WALK"
info line main
break SRC:28
tbreak *0x1218
info breakpoints
run
bt
kdbg__alllocals
info all-registers
x /8xb &counter
x /4i $pc
whatis counter
print counter
info sharedlibrary
thread 2
info threads
condition 1 threadIdx.x == 4
ignore 1 3
until SRC:31
frame 0
delete 1
cont
kill
"""


def test_kdbg() -> None:
    lines = KDBG.replace("WALK", WALK).replace("SRC", SOURCE)
    done = subprocess.run(
        command("--fullname", "--nx"), input=lines, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    out = done.stdout
    assert re.search(r"\nGDB \d+\.\d+|GNU gdb \(GDB\) 13\.1", out)
    answers = out[out.index("(kdbg)") :].split("(kdbg)")[1:]
    asked = lines.splitlines()[9:]
    said = dict(zip(asked, answers, strict=False))
    assert re.search(r"\x1a\x1a.*walk.cu:\d+:\d+:beg:0x", said["info line main"])
    row = r"Breakpoint \d+ at 0x\w+: file .*/walk\.cu, line 28\."
    assert re.match(row, said[f"break {SOURCE}:28"])
    assert re.search(r"\x1a\x1a/.*/walk\.cu:\d+:\d+:(beg|middle):0x\w+\n", said["run"])
    assert re.match(r"No locals\.\nin@entry = 0x\w+\n", said["kdbg__alllocals"])
    assert said["x /8xb &counter"].startswith("0x705101000 <counter>:\t0x05\t0x00\t")
    assert said["whatis counter"] == "type = int\n"
    assert "Will ignore next 3 crossings of breakpoint 1." in said["ignore 1 3"]
