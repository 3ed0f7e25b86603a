"""Image instructions of PTX as kernels: how each is compiled, and what it is launched with.

    python -m tests.images.wide_forms         write data/wide_forms.zip, cubins by architecture

Needs ptxas 12.8 or later (path in GPUDBG_PTXAS); the test does not.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

ARCHS = ("sm_52", "sm_70", "sm_75", "sm_90", "sm_120", "sm_75-G")
"""The first one's results are what the others' are compared with; `-G`: as ptxas -g compiles, with
handles behind the coordinates (TEX.SCR.B)."""
CUBINS = Path(__file__).parent / "wide_forms.zip"
_FLOATS = "{%r0,%r1,%r2,%r3}"
_WORDS = "{%i4,%i5,%i6,%i7}"
FETCHES = {
    "tex_2d": f"tex.2d.v4.f32.f32 {_FLOATS},[%t,{{%x,%y}}];",
    "tex_1d_red": f"tex.1d.v4.f32.f32 {_FLOATS},[%t,{{%x}}]; mov.f32 %r1,%r0; "
                  "mov.f32 %r2,%r0; mov.f32 %r3,%r0;",
    "tex_3d": f"tex.3d.v4.f32.f32 {_FLOATS},[%t,{{%x,%y,%z,%z}}]; mov.f32 %r3,%r0;",
    "tex_2d_array": f"tex.a2d.v4.f32.f32 {_FLOATS},[%t,{{%i0,%x,%y,%y}}];",
    "tex_1d_array": f"tex.a1d.v4.f32.f32 {_FLOATS},[%t,{{%i0,%x}}];",
    "tex_cube": f"tex.cube.v4.f32.f32 {_FLOATS},[%t,{{%x,%y,%z,%z}}];",
    "tex_cube_array": f"tex.acube.v4.f32.f32 {_FLOATS},[%t,{{%i0,%x,%y,%z}}];",
    "tex_2d_level": f"tex.level.2d.v4.f32.f32 {_FLOATS},[%t,{{%x,%y}}],%l;",
    "tex_2d_grad": f"tex.grad.2d.v4.f32.f32 {_FLOATS},[%t,{{%x,%y}}],{{%l,%z}},{{%y,%x}};",
    "tex_2d_array_grad": f"tex.grad.a2d.v4.f32.f32 {_FLOATS},[%t,{{%i0,%x,%y,%y}}],"
                         "{%l,%z},{%y,%x};",
    "tld_2d": f"tex.2d.v4.f32.s32 {_FLOATS},[%t,{{%i0,%i1}}];",
    "tld_2d_level": f"tex.level.2d.v4.f32.s32 {_FLOATS},[%t,{{%i0,%i1}}],%i3;",
    "tld_3d": f"tex.3d.v4.f32.s32 {_FLOATS},[%t,{{%i0,%i1,%i2,%i2}}];",
    "tex_2d_offset": f"tex.2d.v4.f32.f32 {_FLOATS},[%t,{{%x,%y}}],{{%o0,%o1}};",
    "tld4_2d_r": f"tld4.r.2d.v4.f32.f32 {_FLOATS},[%t,{{%x,%y}}];",
    "tld4_2d_g": f"tld4.g.2d.v4.f32.f32 {_FLOATS},[%t,{{%x,%y}}];",
    "tld4_2d_b": f"tld4.b.2d.v4.f32.f32 {_FLOATS},[%t,{{%x,%y}}];",
    "tld4_2d_a_offset": f"tld4.a.2d.v4.f32.f32 {_FLOATS},[%t,{{%x,%y}}],{{%o0,%o1}};",
    "txq_2d": "txq.width.b32 %i4,[%t]; txq.height.b32 %i5,[%t]; txq.depth.b32 %i6,[%t]; "
              "mov.b32 %r0,%i4; mov.b32 %r1,%i5; mov.b32 %r2,%i6; mov.b32 %r3,%i6;",
}  # fmt: skip
_FOUR = "mov.b32 %r0,%i4; mov.b32 %r1,%i5; mov.b32 %r2,%i6; mov.b32 %r3,%i7;"
_ONE = "mov.b32 %r0,%i4; mov.b32 %r1,%i4; mov.b32 %r2,%i4; mov.b32 %r3,%i4;"
ACCESSES = {
    "suld_2d_v4": f"shl.b32 %i0,%i0,4; suld.b.2d.v4.b32.trap {_WORDS},[%s,{{%i0,%i1}}]; {_FOUR}",
    "suld_3d": f"shl.b32 %i0,%i0,2; suld.b.3d.b32.clamp %i4,[%s,{{%i0,%i1,%i2,%i2}}]; {_ONE}",
    "suld_1d_array_b16": "shl.b32 %i1,%i1,1; suld.b.a1d.b16.zero %h,[%s,{%i0,%i1}]; "
                         f"cvt.u32.u16 %i4,%h; {_ONE}",
    "suld_2d_array_b8": "suld.b.a2d.b8.zero %h,[%s,{%i0,%i1,%i2,%i2}]; "
                        f"cvt.u32.u16 %i4,%h; {_ONE}",
    "sust_2d_v2": f"shl.b32 %i0,%i0,3; sust.b.2d.v2.b32.trap [%s,{{%i0,%i1}}],{{%i2,%i1}}; {_ONE}",
    "sust_1d_b16": "shl.b32 %i0,%i0,1; cvt.u16.u32 %h,%i2; "
                   f"sust.b.1d.b16.clamp [%s,{{%i0}}],%h; {_ONE}",
    "sust_2d_p_v4": f"sust.p.2d.v4.b32.trap [%s,{{%i0,%i1}}],{{%i0,%i1,%i2,%i2}}; {_ONE}",
    "sust_2d_p_red": f"sust.p.2d.b32.zero [%s,{{%i0,%i1}}],%i2; {_ONE}",
    "sured_2d_add": f"shl.b32 %i0,%i0,2; sured.b.add.2d.u32.trap [%s,{{%i0,%i1}}],%i2; {_ONE}",
    "sured_2d_p_max": "mul.lo.u32 %i2,%i2,90; "
                      f"sured.p.max.2d.b32.trap [%s,{{%i0,%i1}}],%i2; {_ONE}",
    "sured_1d_u64": "shl.b32 %i0,%i0,3; cvt.u64.u32 %w,%i2; "
                    f"sured.b.add.1d.u64.clamp [%s,{{%i0}}],%w; {_ONE}",
}  # fmt: skip
FORMS = FETCHES | ACCESSES
_KERNEL = """.visible .entry {name}(.param .u64 p,.param .u64 q,.param .u64 tx,.param .u64 sf)
{{
.reg .u64 %p,%q,%t,%s,%w; .reg .f32 %x,%y,%z,%l,%r<4>; .reg .b32 %i<8>,%o<2>,%n; .reg .b16 %h;
ld.param.u64 %p,[p]; ld.param.u64 %q,[q]; ld.param.u64 %t,[tx]; ld.param.u64 %s,[sf];
mov.u32 %n,%tid.x; mad.wide.u32 %p,%n,48,%p; mad.wide.u32 %q,%n,16,%q; mov.u32 %i4,0;
ld.global.f32 %x,[%p]; ld.global.f32 %y,[%p+4]; ld.global.f32 %z,[%p+8]; ld.global.f32 %l,[%p+12];
ld.global.b32 %i0,[%p+16]; ld.global.b32 %i1,[%p+20]; ld.global.b32 %i2,[%p+24]; mov.u32 %i3,0;
ld.global.b32 %o0,[%p+28]; ld.global.b32 %o1,[%p+32];
{body}
st.global.v4.f32 [%q],{{%r0,%r1,%r2,%r3}};
ret;
}}
"""


def module(arch: str) -> str:
    """The PTX of all forms."""
    head = f".version {'8.7' if arch == 'sm_120' else '8.0'}\n.target {arch}\n.address_size 64\n"
    return head + "".join(_KERNEL.format(name=n, body=b) for n, b in FORMS.items())


def inputs() -> np.ndarray:
    """Coordinates of 32 lanes: four floats, three integers, two offsets."""
    rng = np.random.default_rng(17)
    words = np.zeros((32, 12), np.uint32)
    words[:, :4] = rng.uniform(-0.3, 1.4, (32, 4)).astype(np.float32).view(np.uint32)
    words[:, 4:7] = rng.integers(0, 3, (32, 3))
    words[:, 4] = np.arange(32) % 3
    words[:, 7:9] = rng.integers(-3, 4, (32, 2)).astype(np.int32).view(np.uint32)
    return words.reshape(-1)


def objects(device: Any, name: str) -> tuple[Any, Any]:
    """The texture and the surface of a form, the same on every architecture."""
    rng = np.random.default_rng(23)
    kind = "2d"
    for word, dim in (("cube_array", "cube_array"), ("cube", "cube"), ("2d_array", "2d_array"),
                      ("1d_array", "1d_array"), ("3d", "3d"), ("1d", "1d")):  # fmt: skip
        if f"_{word}" in name:
            kind = dim
            break
    shapes = {"1d": (16,), "2d": (8, 16), "3d": (4, 8, 16), "1d_array": (3, 16),
              "2d_array": (3, 8, 16), "cube": (6, 8, 8), "cube_array": (12, 8, 8)}  # fmt: skip
    shape = shapes[kind]
    texels = rng.normal(size=(*shape, 4)).astype(np.float32)
    exact = name.startswith("tld_")
    texture = device.texture(
        texels if name in FETCHES else texels[..., :1].copy(),
        dim=kind, filter="point" if exact else "linear", normalized=not exact,
    )  # fmt: skip
    small = {"b16": np.int16, "b8": np.int8}.get(name.rsplit("_", 1)[-1], np.int32)
    channels = {"v4": 4, "v2": 2}.get(name.rsplit("_", 1)[-1], 1)
    if kind.startswith("cube") or name in FETCHES:
        kind, shape = "2d", shapes["2d"]
    if name == "sured_1d_u64":
        channels = 2
    full = (*shape, channels) if channels > 1 else shape
    return texture, device.surface(rng.integers(0, 99, full).astype(small), dim=kind)


def main() -> None:
    """Compile all forms for every architecture."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(CUBINS, "w") as archive:
        source, result = Path(folder) / "in.ptx", Path(folder) / "out.cubin"
        for arch in ARCHS:
            target, _, debug = arch.partition("-")
            source.write_text(module(target))
            command = [os.environ["GPUDBG_PTXAS"], f"-arch={target}", "in.ptx", "-o", str(result)]
            subprocess.run([*command, *(["-g"] if debug else [])], check=True, cwd=folder)
            info = zipfile.ZipInfo(f"{arch}.cubin", (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_LZMA
            archive.writestr(info, result.read_bytes())


if __name__ == "__main__":
    main()
