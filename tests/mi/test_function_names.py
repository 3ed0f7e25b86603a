"""Functions that share a name: across kernels, in GDB/MI, and mangled names as c++filt has them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpudbg
from gpudbg.debug.session import DebugSession
from gpudbg.symbols.function_names import named_by
from gpudbg.symbols.mangled import function_name
from tests.mi.client import KERNELS, Client

OVERLOADS = KERNELS / "overloads.cubin"

MANGLED = {
    "_Z1fii": "f(int, int)",
    "_ZN2ns1fEf": "ns::f(float)",
    "_ZNK2ns1S3getEi": "ns::S::get(int) const",
    "_ZN2ns1gIiLi4EEET_S1_": "ns::g<int, 4>(int)",
    "_ZN35_INTERNAL_00000000_5_ov_cu_7e23a4202stEii": "st(int, int)",
    "_ZN12_GLOBAL__N_12anEi": "(anonymous namespace)::an(int)",
    "_ZN1a1b1VIfLi4EE3addIdEERS2_RKT_PKfPS2_": (
        "a::b::V<float, 4>::add<double>(double const&, float const*, a::b::V<float, 4>*)"
    ),
    "_ZN1a1b1VIfLi4EED1Ev": "a::b::V<float, 4>::~V()",
    "_ZNK1a1b1VIfLi4EEixEi": "a::b::V<float, 4>::operator[](int) const",
    "_Z1hPFifdERA3_iPVKiPKPiz": (
        "h(int (*)(float, double), int (&) [3], int const volatile*, int* const*, ...)"
    ),
    "_Z2pkIJEEvDpT_": "pk<>()",
    "_Z2pkIJifEEvDpT_": "pk<int, float>(int, float)",
    "_Z2pkIJZ3usevEUliE_EEvDpT_": "pk<use()::{lambda(int)#1}>(use()::{lambda(int)#1})",
    "saxpy": None,
    # Instances whose types have arguments of their own; `auto` parameters of lambdas.
    "_Z1fIiEv3BoxIfET_": "f<int>(Box<float>, int)",
    "_ZN3lib6unwrapINS_4WrapEiEET0_RT_IS2_E": "lib::unwrap<lib::Wrap, int>(lib::Wrap<int>&)",
    "_ZZ3runENKUlT_iE_clIS0_EEiS_i": (
        "run::{lambda(auto:1, int)#1}::operator()<{lambda(auto:1, int)#1}>"
        "({lambda(auto:1, int)#1}, int) const"
    ),
    "_Z7composeIZ3runEUlT_E_EDaS0_": ("compose<run::{lambda(auto:1)#1}>(run::{lambda(auto:1)#1})"),
    "_Z4callIRiEDTclfp_fp_EEOT_": "call<int&>(int&)",
    "_ZN4NodeUt0_E": "Node::{unnamed type#2}",
    "_ZTV5Shape": "vtable for Shape",
    "_ZThn8_NK5Shape4nameEv": "non-virtual thunk to Shape::name() const",
    # Constructors are called by the class, whatever its arguments are; they return nothing.
    "_ZN2ns4ringISt4pairIiN2kb3keyEEEC2IfvEET_i": (
        "ns::ring<std::pair<int, kb::key> >::ring<float, void>(float, int)"
    ),
    "_ZN2ns4ringISt4pairIiN2kb3keyEEED1Ev": "ns::ring<std::pair<int, kb::key> >::~ring()",
    "_ZN3logB2v1C1ENSt7__cxx116stringE": "log[abi:v1]::log(std::__cxx11::string)",
    # A pattern is written for each element of a pack.
    "_ZN2cu7combineIJPNS_4NodeES2_jEEEiDpRKT_": (
        "cu::combine<cu::Node*, cu::Node*, unsigned int>"
        "(cu::Node* const&, cu::Node* const&, unsigned int const&)"
    ),
    "_Z4sizeIJifEEvSt5tupleIJDpPT_EE": "size<int, float>(std::tuple<int*, float*>)",
    "_Z4noneIJEEvDpRKT_i": "none<>(int)",
    # What a return type depends on.
    "_Z3maxIfENSt9enable_ifIXsr3std17is_floating_pointIT_EE5valueES1_E4typeES1_S1_": (
        "max<float>(float, float)"
    ),
    "_Z3getILi3EEN3boxIXplT_Li1EEE4typeEv": "get<3>()",
    "_ZN1alsIiEERS_T_": "a::operator<< <int>(int)",
    "_ZNO1a4takeEv": "a::take() &&",
    "_Z1gSt8functionIFivEE": "g(std::function<int ()>)",
    "_Z1kRKA4_f": "k(float const (&) [4])",
    "_Z9": None,
    "_Z1fS_": None,
    "_ZN1a": None,
}
"""As c++filt answers, without return types."""


@pytest.mark.parametrize("label", MANGLED)
def test_mangled_functions(label: str) -> None:
    assert function_name(label) == MANGLED[label]


@pytest.mark.parametrize(
    ("label", "means", "not_"),
    [
        ("_ZN2ns1fEf", "f ns::f ::ns::f f(float) 'ns::f(float)'", "f(int) s::f ns::f()"),
        ("_Z1fii", "f f(int,int) f(signed,int)", "ns::f f(int) f()"),
        ("_ZN2ns1gIiLi4EEET_S1_", "g ns::g g<int,4> g<int,4>(int) g<int,4u>", "g<int> g<float,4>"),
        ("_Z1fPKfm", "f(const|float*,unsigned|long) f(float|const|*,long|unsigned|int)", "f(int)"),
        ("saxpy", "saxpy saxpy(int)", "sax ns::saxpy"),
    ],
)  # fmt: skip
def test_what_a_name_means(label: str, means: str, not_: str) -> None:
    for text in means.split():
        assert named_by(label, text.replace("|", " ")), text
    for text in not_.split():
        assert not named_by(label, text.replace("|", " ")), text


@pytest.fixture
def session() -> Iterator[DebugSession]:
    """At the entry of k<int>, which calls each function once."""
    with gpudbg.open(OVERLOADS) as session:
        yield session


def test_a_name_stops_in_every_function_that_it_means(session: DebugSession) -> None:
    point = session.break_at("f")
    # k<float> and `other` have copies of their own.
    assert set(point.functions) == {"f(int, int)", "ns::f(int)", "ns::f(float)"}
    assert len(point.addresses) == 7
    assert "f(int, int) (k<int>+0xd0), ns::f(float)" in point.announce()
    stops = [session.cont() for _ in range(4)]
    assert [s.function for s in stops[:3]] == ["ns::f", "f", "ns::f"]
    assert stops[3].kind == "exited"


@pytest.mark.parametrize(
    ("location", "functions", "stops"),
    [
        ("ns::f", {"ns::f(int)", "ns::f(float)"}, 2),
        ("f(int,int)", {"f(int, int)"}, 1),
        ("overloads.cu:f(float)", {"ns::f(float)"}, 1),
        ("overloads.cu:ns::S::get", {"ns::S::get(int) const"}, 1),
        ("g<int, 4>", {"ns::g<int, 4>(int)"}, 1),
        ("g", {"ns::g<int, 4>(int)", "ns::g<float, 4>(float)"}, 1),
        ("k", {"k<int>(int*)", "k<float>(float*)"}, 1),
        ("st", {"st(int, int)"}, 1),
        ("(anonymous namespace)::anon", {"(anonymous namespace)::anon(int, int)"}, 1),
        ("-qualified f", {"f(int, int)"}, 1),
        ("-source overloads.cu -function ns::f", {"ns::f(int)", "ns::f(float)"}, 2),
    ],
)
def test_locations(session: DebugSession, location: str, functions: set[str], stops: int) -> None:
    assert set(session.break_at(location).functions) == functions
    count = 0
    while session.cont().kind == "breakpoint":
        count += 1
    assert count == stops


def test_mi_sets_one_breakpoint_with_locations() -> None:
    with Client("-q", "-i=mi3", str(OVERLOADS)) as client:
        row = client.ok("-break-insert ns::f")["bkpt"]
        assert row["addr"] == "<MULTIPLE>"
        assert [p["number"] for p in row["locations"]] == ["1.1", "1.2", "1.3", "1.4"]
        # As gdb: with their parameters in breakpoints, without them in frames.
        assert sorted({p["func"] for p in row["locations"]}) == ["ns::f(float)", "ns::f(int)"]
        listed = client.ok("-symbol-info-functions --name ^ns::f")["symbols"]["debug"]
        assert {f["name"] for f in listed[0]["symbols"]} == {"ns::f(float)", "ns::f(int)"}
        both = client.ok("-break-insert --source overloads.cu --function other")["bkpt"]
        assert (both["func"], both["original-location"]) == (
            "other", "-source overloads.cu -function other",
        )  # fmt: skip
        assert client.ok("-break-insert --qualified f")["bkpt"]["addr"] == "<MULTIPLE>"
        stop = client.go("-exec-run")
        assert (stop["bkptno"], stop["frame"]["line"]) == ("1", "3")
        assert stop["frame"]["func"] == "ns::f"
        client.ok('-interpreter-exec console "info breakpoints"')
        assert any("in ns::f(int) at " in line for line in client.lines())
        assert client.go("-exec-continue")["bkptno"] == "3"
