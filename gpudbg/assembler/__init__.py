"""The assembler of SASS files: text in, code and cubins out.

    program = assemble_file(text, path="saxpy.sass")
    program.functions[0].code()          # bytes: bundles with control words
    program.cubin()                      # an ELF file that gpudbg and cuobjdump read

A .sass file
============

**Instructions** are written as nvdisasm, cuobjdump and `gpudbg dis` print them; the listings of
all three are such files.  One ends at `;` or at the line's end:

    @!P0 IADD R2.CC, -R3.reuse, R4 ;      /*0048*/ MOV R1, c[0x0][0x20] ; /* 0x4c98078000870001 */
    { FFMA R0, R1, R2, R0 ;  LDS R3, [R4] ; }      .word 0x50b0000000070f00   (a bare word)

**Comments** are `// ...` and `/* ... */`.  Three kinds of them mean something: `/*0048*/` before an
instruction is the address it had, `/* 0x<16 digits> */` alone on a line is the control word of the
next three instructions, and the same after an instruction is its word, which is not used.

**Control words** come from such comments, or from a notation beside an instruction, before or
after it, in brackets or not:

    [B0-----:R-:W1:-:S02:----] LDG.E R0, [R2] ;

waits for scoreboards 0, sets scoreboard 1 when written, reads (R) none, no yield (Y), stall 2,
reuse bits none; the last part may be left out.  Instructions with neither get what the default
scheduler gives them: stall counts, barriers and waits without hazards, and no dual issue.  Where
some instructions of a function have control words, those stay as written even if they do not wait
for the others; `gpudbg asm --check` says so.

From sm_70 on, every instruction's word holds its scheduling bits.  A listing shows a word as two
comments, `/* 0x<low half> */` behind the instruction and the other half on the next line: from
them come the scheduling bits where no notation gives them, and the bits that the text does not
show (as long as it is the same form).  Without the words such bits stand as notes:
`LDG.E R2, [R2.64] &37:32=6`.

**Labels** are `L1:`, `.L_1:` or `.L_x_1:`; targets name them as `L1` or `` `(L1) ``.  A target that
is a number is an address.  Where addresses are given in comments, a number means the instruction
that had it, so that instructions can be added to a listing.

**Names** stand for numbers: `.equ N, 0x20` makes `N` and `N+4` usable as operands and inside
`c[0x0][N]`.

**Directives**, those of a kernel after its `.kernel`:

    .arch sm_50                 architecture
    .kernel NAME                an entry point begins
    .func NAME                  a device function in a section of its own begins
    .registers N                registers of a thread (default: those used)
    .barriers N                 CTA barriers (default: those used)
    .shared N                   bytes of static shared memory
    .local N                    bytes of local memory (the frame) of a thread
    .crs N                      bytes of the call and return stack
    .param SIZE, SIZE...        parameters, at their natural alignment
    .param NAME SIZE            one parameter; NAME is its offset in c[0x0]
    .const BANK                 the data that follow are this kernel's constant bank, or, before
                                the first kernel, that of all kernels
    .section NAME               the data that follow are this section's: .nv.constant3,
                                .nv.global.init, .nv.global; labels there are its variables
    .byte .short .word .dword N, N...   .zero N       data; N may be a variable's or function's
                                name (+ a number) in .word and .dword: its address
    .reloc OFFSET, TYPE, NAME   a place in the function that needs an address, by R_CUDA_* number
                                (NAME `-`: the relocation has no symbol)
    .extern NAME, NAME...       functions the kernel calls that the loader brings: vprintf, malloc
    .targets OFFSET, TARGET...  where the indirect branch at OFFSET can go
    .text                       instructions again

A call of a function in another section is `JCAL `(NAME)`, halves of an address are `32@lo(NAME)`
and `32@hi(NAME)`.  `gpudbg dis --directives` writes all of this for an existing program,
and beside it the rest of the file (`.elf`, `.part`, `.symbol`, ...: `gpudbg.assembler.frame`), so
that the listing assembles to the identical file while code keeps its size and its resources.

Known directives of nvdisasm (`.headerflags`, `.sectioninfo`, `.sectionflags`, `.type`, `.size`...)
are read for architecture, registers and barriers.  A file without `.kernel` is one kernel.
"""

from gpudbg.doors import door

__getattr__, __dir__ = door(__name__, __file__)
