from gpudbg.regs.decoders import decode_esr as decode_esr
from gpudbg.regs.decoders import info_ptx as info_ptx
from gpudbg.regs.decoders import stream_xid as stream_xid
from gpudbg.regs.texheader_text import decode_texheader as decode_texheader
from gpudbg.regs.texheader_text import decode_texsampler as decode_texsampler

from .coverage import isa_answer as isa_answer
from .instruction_words import decode_insn as decode_insn
from .policies import policies_answer as policies_answer
from .register_names import decode_special as decode_special
from .registers import registers_answer as registers_answer
from .surfaces import decode_surface as decode_surface
