"""Textures (grammar: `spec.py`).

`.T`/`.P` come from reuse bits 0 and 1 of the control word.  `.B` is bindless: the handle is the
first register of b (TXD, TXQ: of a) and the text shows 0x0 for the index.  Masks and component
codes decide how many registers d and d2 cover.
"""

# ruff: noqa: E501  (one instruction form per line)
from __future__ import annotations

OPTIONS = "noreuse var"

TABLE = """
TEX   c038:fc38           | .lod@57:55=LOD .aoffi@54 .dc@50 .ndv@35 .nodep@49 .hint! | d #mask, a #tex_a, b ?255 #tex_b, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=50
TEX   c000:f800           | .lod@57:55=LOD .lc@58 .aoffi@54 .dc@50 .ndv@35 .nodep@49 .hint! | p@53:51 ?, d #mask, a #tex_a, b ?255 #tex_b, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=52+
TEX   deb8:fff8,40=0           | .B .lod@39:37=LOD .aoffi@36 .dc@50 .ndv@35 .nodep@49 .hint! | d #mask, a #tex_a, b ?255 #tex_b, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=50 means=b
TEX   de80:ffc0           | .B .lod@39:37=LOD .lc@40 .aoffi@36 .dc@50 .ndv@35 .nodep@49 .hint! | p@53:51 ?, d #mask, a #tex_a, b ?255 #tex_b, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=52+ means=b
TLD   dc38:ff38           | .lod@55=TLDLOD .aoffi@35 .ms@50 .cl@54 .nodep@49 .hint! | d #mask, a #tex_a, b ?255 #tex_b, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=50
TLD   dc00:ff00           | .lod@55=TLDLOD .aoffi@35 .ms@50 .cl@54 .nodep@49 .hint! | p@53:51 ?, d #mask, a #tex_a, b ?255 #tex_b, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=52+
TLD   dd38:ff38           | .B .lod@55=TLDLOD .aoffi@35 .ms@50 .cl@54 .nodep@49 .hint! | d #mask, a #tex_a, b ?255 #tex_b, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=50 means=b
TLD   dd00:ff00           | .B .lod@55=TLDLOD .aoffi@35 .ms@50 .cl@54 .nodep@49 .hint! | p@53:51 ?, d #mask, a #tex_a, b ?255 #tex_b, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=52+ means=b
TLD4  c838:fc38           | .comp@57:56=COMP .aoffi+ptp@55:54=TLD4OFS .dc@50 .ndv@35 .nodep@49 .hint! | d #mask, a #tex_a, b ?255 #tex_b, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=50
TLD4  c800:fc00           | .comp@57:56=COMP .aoffi+ptp@55:54=TLD4OFS .dc@50 .ndv@35 .nodep@49 .hint! | p@53:51 ?, d #mask, a #tex_a, b ?255 #tex_b, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=52-53
TLD4  c800:fc00           | .comp@57:56=COMP .aoffi+ptp@55:54=TLD4OFS .dc@50 .nodep@49 .hint! | p@53:51 ?, d #mask, a #tex_a, b ?255 #tex_b, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=60+
TLD4  def8:fff8,40=0           | .comp@39:38=COMP .B .aoffi+ptp@37:36=TLD4OFS .dc@50 .ndv@35 .nodep@49 .hint! | d #mask, a #tex_a, b ?255 #tex_b, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=50 means=b
TLD4  dec0:ffc0,40=0           | .comp@39:38=COMP .B .aoffi+ptp@37:36=TLD4OFS .dc@50 .ndv@35 .nodep@49 .hint! | p@53:51 ?, d #mask, a #tex_a, b ?255 #tex_b, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=52-53 means=b
TLD4  dec0:ffc0,40=0           | .comp@39:38=COMP .B .aoffi+ptp@37:36=TLD4OFS .dc@50 .nodep@49 .hint! | p@53:51 ?, d #mask, a #tex_a, b ?255 #tex_b, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=60+ means=b
TXD   de38:fffc           | .aoffi@35 .nodep@49 .hint! | d #mask, a #txd_a, b #txd_b, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=50
TXD   de78:fffc           | .B .aoffi@35 .nodep@49 .hint! | d #mask, a #txd_a, b #txd_b, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=50 means=b
TXD   de00:ffc0           | .lc@50 .aoffi@35 .nodep@49 .hint! | p@53:51 ?, d #mask, a #txd_a, b #txd_b, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=52+
TXD   de40:ffc0           | .B .lc@50 .aoffi@35 .nodep@49 .hint! | p@53:51 ?, d #mask, a #txd_a, b #txd_b, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | arch=52+ means=b
TMML  df58:fff8           | .LOD .ndv@35 .nodep@49 .hint! | d #mask, a #tex_a, tex:u@48:36, dim:N=DIM@30:28, imm:u@34:31 =mask
TMML  df60:fff8           | .B .LOD .ndv@35 .nodep@49 .hint! | d #mask, a #tex_a, b ?255, '0x0, dim:N=DIM@30:28, imm:u@34:31 =mask | means=b
TXA   df40:fff8           | .ndv@35 .nodep@49 .hint! | d #mask, a, tex:u@48:36, imm:u@34:31 =mask
TXQ   df48:fff8           | .nodep@49 .hint! | d #mask, a, query:N=TXQ@27:22, tex:u@48:36, imm:u@34:31 =mask
TXQ   df50:fff8           | .B .nodep@49 .hint! | d #mask, a #2, query:N=TXQ@27:22, '0x0, imm:u@34:31 =mask | means=b
TEXS  d800:fe00,35:28=255 | .lod+dc@56:53=TEXSMODE .nodep@49 .hint! | d2@35:28, d #comps, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TEXSDIM@56:53, comps:N=COMPS1@52:50
TEXS  d800:fe00           | .lod+dc@56:53=TEXSMODE .nodep@49 .hint! | d2@35:28 #comps_2, d #2, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TEXSDIM@56:53, comps:N=COMPS2@52:50
TLDS  da00:fe00,35:28=255 | .lod+aoffi+ms@56:53=TLDSMODE .nodep@49 .hint! | d2@35:28, d #comps, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TLDSDIM@56:53, comps:N=COMPS1@52:50
TLDS  da00:fe00           | .lod+aoffi+ms@56:53=TLDSMODE .nodep@49 .hint! | d2@35:28 #comps_2, d #2, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TLDSDIM@56:53, comps:N=COMPS2@52:50
TLD4S df00:ffc0           | .comp@53:52=COMP .aoffi@51 .dc@50 .nodep@49 .hint! | d2@35:28 #2, d #2, a #tld4s_a, b #tld4s_b, tex:u@48:36
TEXS  d000:fe00,35:28=255 | .F16 .lod+dc@56:53=TEXSMODE .nodep@49 .hint! | d2@35:28, d #comps_h, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TEXSDIM@56:53, comps:N=COMPS1@52:50 | arch=52+
TEXS  d000:fe00           | .F16 .lod+dc@56:53=TEXSMODE .nodep@49 .hint! | d2@35:28, d, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TEXSDIM@56:53, comps:N=COMPS2@52:50 | arch=52+
TLDS  d200:fe00,35:28=255 | .F16 .lod+aoffi+ms@56:53=TLDSMODE .nodep@49 .hint! | d2@35:28, d #comps_h, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TLDSDIM@56:53, comps:N=COMPS1@52:50 | arch=52+
TLDS  d200:fe00           | .F16 .lod+aoffi+ms@56:53=TLDSMODE .nodep@49 .hint! | d2@35:28, d, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TLDSDIM@56:53, comps:N=COMPS2@52:50 | arch=52+
TLD4S df80:ffc0           | .F16 .comp@53:52=COMP .aoffi@51 .dc@50 .nodep@49 .hint! | d2@35:28, d, a #tld4s_a, b #tld4s_b, tex:u@48:36 | arch=52+
TEXS  d400:fe00,35:28=255 | .F16 .RTZ .lod+dc@56:53=TEXSMODE .nodep@49 .hint! | d2@35:28, d #comps_h, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TEXSDIM@56:53, comps:N=COMPS1@52:50 | arch=60+
TEXS  d400:fe00           | .F16 .RTZ .lod+dc@56:53=TEXSMODE .nodep@49 .hint! | d2@35:28, d, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TEXSDIM@56:53, comps:N=COMPS2@52:50 | arch=60+
TLDS  d600:fe00,35:28=255 | .F16 .RTZ .lod+aoffi+ms@56:53=TLDSMODE .nodep@49 .hint! | d2@35:28, d #comps_h, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TLDSDIM@56:53, comps:N=COMPS1@52:50 | arch=60+
TLDS  d600:fe00           | .F16 .RTZ .lod+aoffi+ms@56:53=TLDSMODE .nodep@49 .hint! | d2@35:28, d, a #texs_a, b ?255 #texs_b, tex:u@48:36, dim:N=TLDSDIM@56:53, comps:N=COMPS2@52:50 | arch=60+
TLD4S dfc0:ffc0           | .F16 .RTZ .comp@53:52=COMP .aoffi@51 .dc@50 .nodep@49 .hint! | d2@35:28, d, a #tld4s_a, b #tld4s_b, tex:u@48:36 | arch=60+
"""
