"""C++ names against what c++filt says of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudbg.formats.names import plain_name, shown_names

NAMES = {
    "hist": "hist",
    "_Z7softmaxPKfPfi": "softmax",
    "_ZN2ns3fibEi": "ns::fib",
    "_ZNK2ns1A3fibEi": "ns::A::fib",
    "_Z6reduceILi256EEvPKfPf": "reduce<256>",
    "_Z6reduceILi256EfEvPT0_": "reduce<256, float>",
    "_Z4axpyIdEvPT_S1_S0_i": "axpy<double>",
    "_Z1fILb1ELj3ELin4ExEvv": "f<true, 3u, -4, long long>",
    "_ZN3cub6KernelINS_6PolicyEEEvv": "_ZN3cub6KernelINS_6PolicyEEEvv",
    "_ZN2ns6KernelI6PolicyPKfEEvv": "_ZN2ns6KernelI6PolicyPKfEEvv",
    "_ZN2ns6KernelI6PolicyPfEEvv": "ns::Kernel<Policy, float*>",
    "_ZN2ns1AIiE3runEv": "ns::A<int>::run",
    "_ZplRK1AS1_": "_ZplRK1AS1_",
    "_ZN2ns1fB2v1B4c_3dEi": "ns::f",
    "_ZN2ns1fB9v1Ei": "_ZN2ns1fB9v1Ei",
    "_ZN6cudapy8__main__1A12_3clocals_3e4axpyB2v1B4c_3dE5ArrayIiLi1E1C7mutableE": "axpy",
    "_Z9": "_Z9",
    "_Z3ab": "_Z3ab",
    "_Z1aI": "_Z1aI",
    "_ZN1a": "_ZN1a",
    "_Z99999999999999999999a": "_Z99999999999999999999a",
}


@pytest.mark.parametrize(("label", "name"), NAMES.items())
def test_names(label: str, name: str) -> None:
    assert plain_name(label) == name


def test_the_same_name_twice_stays_mangled() -> None:
    labels = ["_Z1fi", "_Z1ff", "_Z1gi"]
    assert shown_names(labels) == {"_Z1fi": "_Z1fi", "_Z1ff": "_Z1ff", "_Z1gi": "g"}


@given(st.text(alphabet="_ZNKIELPabfi0123456789", max_size=40))
def test_nothing_breaks_it(rest: str) -> None:
    assert plain_name("_Z" + rest)
    assert plain_name("_ZN1a" + rest)


def test_long_and_deep_names_are_left_alone() -> None:
    deep = "_Z1f" + "I1a" * 90 + "E" * 90
    assert plain_name(deep).startswith("f<a<")
    assert plain_name("_Z1fI" + "P" * 300 + "iE") == "f<int" + "*" * 300 + ">"
    assert plain_name("_Z1f" + "I1a" * 5000) == "_Z1f" + "I1a" * 5000
