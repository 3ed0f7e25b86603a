"""What the keys of `--json` mean, once for every place they occur in; for the published schema."""

from __future__ import annotations

MAP_KEYS = frozenset(
    "adds by_mnemonic constant_banks coords details findings images lowering modifiers operands "
    "options outputs states variants_without_semantics without_semantics".split()
)
"""Keys whose object maps names (of the program, the machine or a plugin) to values."""

MAP_COMMANDS = frozenset(
    (
        "info args",
        "info checks",
        "info esr",
        "info locals",
        "info registers",
        "show",
        "show user",
        "trap option",
    )
)
"""Commands whose data is such an object."""

NULLABLE = frozenset(
    "file folder line max_threads other_branch pc reason target this_branch why".split()
)
"""Keys that can be null wherever they occur: there is no line table, no warp, no limit, …"""

_TEXT = """
access: load, store or atomic; null where the error is not about memory; in a log its own words
accesses: accesses of a finding, in the order in which they were made
active: lanes that execute the next instruction: a mask, bit n for lane n
address: byte address, in a log as hexadecimal text; of a sampler: how each coordinate is bounded
address_raw16bx2: byte address with the raw 16Bx2 order inside a GOB
address_vm: byte address as the memory unit orders a GOB
addresses: code addresses; empty while a breakpoint is pending
adds: what a plugin adds: kind -> names
again: it is shown elsewhere in the tree, with what it was computed from
agent: who made the access: thread, or what runs beside the threads
allocation: which memory, and where in or beside it
apart: warps whose control flow is stepped
arch: architecture, such as sm_50
area: address of the save area
arguments: arguments of the launch, in order
arrived_threads: threads that stand at the breakpoint that was met
arrived_warps: warps that do
asked: lanes that the place belongs to, or that named it: a mask
assembled: number of forms that the assembler makes
barriers: barriers that the kernel uses
base: first address
begin: first address of a section of code
begins_at: tick where a branch began, or null for the launch itself
bits: where the field lies in the word: [high, low]
block: blockIdx: [x, y, z]
blockIdx: blockIdx: [x, y, z]
block_bytes: bytes of a block of GOBs
block_depth_log2: GOBs of a block in z, as a power of two
block_height_log2: GOBs of a block in y, as a power of two
block_width_log2: GOBs of a block in x, as a power of two
block_xyz: the block of GOBs: [x, y, z]
blocks: basic blocks
blocks_x: blocks of GOBs in x
blocks_y: blocks of GOBs in y
blocks_z: blocks of GOBs in z
border: border colour, as words
breakpoints: numbers of the breakpoints that were met
by_mnemonic: mnemonic -> number of forms
byte_of_texel: which byte of its texel
bytes: size in bytes
bytes_per_layer: bytes of a layer
bytes_per_texel: bytes of a texel
card: what a fault, trap or deadlock shows, line by line; empty for other stops
cause: what took the warp to the handler
cc: whether the condition code is read or written
certain: numbers of the error table that the line fits for certain
certainty: documented, inferred or modelled
channel: number of the channel that a log line names, or null
channels: numbers of a texel
check: name of the check
checkpoints: states of the launch that are kept to go back to
children: values that it was computed from
clamp: IGN, NEAR or TRAP
cleared: whether everything was taken away
cleared_by: how the register is cleared
client: the unit that asked for an address, in the log's words, or null
cluster: blocks of a cluster of a launch, as text; empty where none was asked for
code: number in the error table
code_bytes: bytes of machine code
command: the command line
commands: lines carried out when a breakpoint stops the program
compiled: whether compiled code has been used
condition: the breakpoint's condition, or null
constant_banks: bank -> bytes
control: the instruction's 21 bits of the bundle's control word
control_text: the same in words
coords: coordinate -> value
cost: how runs look after a watchpoint; only of `info watchpoints`
count: how many
critical: whether the warp is in a critical section
cs2r: whether CS2R reads the register
ctas: resident blocks
current: whether this is the launched one
cut: it was computed from something that is not shown here
data: address of the handler's data
debug: whether the program carries debug information
decoded: the value in words; of an instruction set: number of forms
depth: extent in z
depth_compare: whether it compares depths
depth_function: how it compares them
descriptor: where a matrix is in shared memory; null of one in registers
detail: further lines; of what doctor looks for, where it is or what to install
details: other values that have a name in a log line, as printed
device: GPU number
did: what the clamp made of the access
dim: 1d, 2d, 3d, cube, …
disabled: addresses of a breakpoint, or clamps of a surface, that are switched off
disassembler: the register's name in SASS
diverges: why the lanes of a branch may go different ways; empty where they do not
dprintf: what it prints in place of stopping: a format and expressions; empty where it stops
dtype: element type
dual: issued together with its neighbour
edges: where control can go from here
elements: of each place of a matrix, the element in its register, low bits first
enabled: whether it stops the machine
end: the address behind its last one
ends: how the basic block ends
engine: step, run or auto; of a log line the unit whose access faulted, or null
entered: whether, or which, warps are in the handler
entries: how often the handler was entered
entry: address of its first instruction
errors: warp errors, the first in time first
events: stops, entries into the trap handler and bookmarks, by tick
exclusive: whether no other lanes may join the group
executed: number of forms with semantics
exited: lanes that have ended: a mask, bit n for lane n
exits: instructions without a compiled version, and how often they came up
expression: what was asked, as it was given
externs: symbols the program does not define
family: chip family
fault_type: why the MMU refused an access, in the log's words, or null
fields: the word's fields
file: source file or written file
files: files that were written; of the cache: how many there are
findings: hazards; of a run: check -> its findings
fingerprint: of a finding, the same across addresses, seeds and recompilation
first: the first instruction of the two
first_row: row of the whole matrix that the warp's first row is
fix: what would help; empty where nothing is known
focus: whether it has the focus
folder: where the cache of compiled code is; null where nothing is kept
form: name of the encoding
format: format of the texels
forms: number of encodings
from: first thread: [x, y, z]
function: the function's name
functions: functions of the program
given: whether it was given, not proposed
global_bits: bits that are set in the global error status
global_esr: the word of HWW_GLOBAL_ESR, or null
global_report_mask: the word of its report mask, or null
gob: the GOB in its block
gob_xy: the byte in its GOB: [x, y]
gpc: GPC number
gpu: PCI address of the GPU that a log line names, or null
grid: number of the grid; of a launch: its blocks, as text
group: the group it belongs to; of a lane from sm_70 on what the lanes with its pc do
groups: lanes of the warp by their pcs, from sm_70 on: that which runs next first; else empty
handle: the number a kernel is given
handler: the trap handler, or null
hang: whether a deadlock is of warps that run in circles, which nothing can end any more
dropped: wild accesses that the launch went on without, the first of each instruction
header: fields of the texture header
header_index: index in the table of headers
header_words: the header's words
height: extent in y, or lines
help: what it does
here: whether it is the next instruction
hex: the value in hexadecimal
hi: highest bit
hints: what the error is, and what to look at next
history: what is known of it by PTX version
hits: how often it was met
holds: what the file holds: cubins and PTX by architecture
ignore: how many more meetings pass without a stop
image: name of the texture or surface
images: name -> texture or surface reference
in_handler: whether the warp is in the handler
index: number of the warp in its block
inlined: whether the frame is an inlined call
inlined_at: calls that the compiler inlined on the way to the place, innermost first
instruction: the instruction
instructions: warp instructions issued so far; of code: its instructions
kernel: the kernel's name
kernels: kernels of the program
kind: what sort of thing it is
label: the name as the symbol table has it
lane: lane of the warp
lanes: lanes of the warp
last: last one
launch: number of the launch, from 0, in which a finding was first seen
launched: whether a kernel has been launched
layout: layout of memory, or of a log line
left_at: tick where something was changed and another branch began, or null
legal: whether the word is an instruction
level: frame number, 0 is the innermost
limit: most bytes
limits: what is not modelled
line: source line; of a log: the line itself
lines: source lines with code
lo: lowest bit
local_bytes: local memory of a thread
location: where it is
lod_bias: added to the level of detail
lod_range: least and greatest level of detail
log: what the host did at the port
look_at: what to read next
lowering: how the compiler makes it from machine registers
mag_filter: filter of enlarged texels
mark: a mark of certainty
mask: lanes: a mask, bit n for lane n
matrices: operands of a tensor-core instruction
max_mip_level: last mip level
max_threads: threads of a block the kernel was compiled for, or null
meaning: what it means
members: lanes that a convergence barrier or a WARPSYNC waits for, all of them: a mask
message: one line
min_filter: filter of reduced texels
mip_filter: filter between levels
missing: why a launch cannot begin; empty where it can; of a group of lanes: those it waits for
mnemonic: the instruction's first word
mnemonics: number of mnemonics
modifiers: modifier -> value
moves: calls that advanced the launch, single steps in a row counted once
name: name
names: the name, then its other names
nearest: where the address lies relative to the nearest memory, in words
never_written: bytes that nobody has written, as ranges or in words
new: value after the access
normalized: whether coordinates are 0 to 1
note: remark
notes: remarks
number: number
offset: byte offset in its function, kernel or object
offset_raw16bx2: byte offset with the raw 16Bx2 order inside a GOB
offset_vm: byte offset as the memory unit orders a GOB
old: value before the access
on: whether it is at work
op: mnemonic
operands: operand -> its text
operation: what a tensor-core instruction does, in a line
options: option -> value
ordinal: position
other_branch: value on the other branch, or null
out_of_bounds: what lies outside, and how
outcome: access, or what the clamp made of it
outputs: output buffer -> elements
outside: accesses outside, by lane
over: whether the call whose variable was watched has ended
parameter_bytes: bytes of all parameters
parameters: parameters
parent: branch that another one began on, or null
past: whether the launch stands before its present
path: file
paused: whether the warp waits for the host
pc: byte offset in the kernel
pid: process id in a log line, or null
place: the place, such as saxpy+0x48
places: the addresses with their function, such as saxpy+0x48
predicates: predicates
printed: what the device printed
process: name of the process in a log line, or null
ptx_isa: PTX version that introduced it
reads: what the instruction reads
ready: warps that can go on
reason: why
record: bytes of a warp's record; address of it
recorded: which recording was written where the launch failed; empty without one
recorded_from: first tick that was recorded, or null
recording: whether what warps execute is being recorded
register: register name
registers: registers
relation: of races: lanes, warps, blocks ... the two accesses are of; else null
remark: what the code says of lanes at an instruction (disassemble /u), or ""
reserved: whether the bits have no meaning
reserved_bits_set: reserved bits that are set
resource: what both use
returns: how often it returned
role: what a value is to the one above it: operand, address, data, guard, …; "" at the top
rule: what the model does
sampler_words: the sampler's words
saved_active: lanes that were active: a mask, bit n for lane n
saved_pc: where the warp was interrupted
scope: what the register belongs to
second: the other
section: ELF section
severity: error, warning or note
shaders: shader types that have it
shape: extents, slowest first
shared: bytes of dynamic shared memory, as text
shared_addresses: of each place of a matrix in shared memory, its address; null in registers
shared_bytes: shared memory of a block
shared_static_bytes: shared memory of a block that the code declares
shared_variables: variables in shared memory
short: by how many cycles
size: size in bytes; of an image: its extents
slots: of each place of a matrix, which of its registers holds it
sm: SM number
sms: SMs
source: where it comes from
source_files: files of the line table
sources: which channel each component comes from
spa: versions of the SPA that have it
space: address space
srgb: whether texels are sRGB
stack_depth: tokens on the divergence stack
stack_unknown: whether the need of stack is not known
start: first address
state: ready, barrier, trap, error or exited; of other things: how it stands
states: state -> number of warps
status: status word
stepped: why nothing runs in compiled code for now; empty: something does
steps: the computation, a line each
stop: how the run ended
strong: whether the memory model calls the access strong
summary: a line about it
suppressed: name of the rule that suppresses the finding, or null
target: where control goes, a byte offset; of a PTX register: the least architecture
temporary: whether it goes away when met
text: the text
texture_type: as the header has it
this_branch: value on the branch that is followed, or null
thread: threadIdx: [x, y, z]
threadIdx: threadIdx: [x, y, z]
tick: warp instructions of the launch before it
ticks: warp instructions of the launch so far
timeline: what the warp does, a character for each column: 1 to 8 four lanes each, = . ? and blank
to: last thread: [x, y, z]
toolkit: toolkit that made the program
totals: number of accesses outside, by instruction and clamp
tpc: TPC number
trapped: whether it stands at a trap
type: type
types: number format of each channel
uncertain: numbers of the error table that the line may fit
unit: bytes of an element
usage: how it is written
valid: lanes that exist: a mask, bit n for lane n
value: the value
values: the 32 lanes' values, or elements; null for a lane without one
variables: variables of the program
variants_without_semantics: mnemonic -> its variants that stop the machine with their name
version: version
view: the extents that count
waits_at: the convergence barrier, WARPSYNC or CTA barrier that lanes wait at; empty for none
warning: what is wrong with it, or null
warp: warp slot on its SM
warp_error: the warp error, or null
warp_esr: the word of HWW_WARP_ESR, or null
warp_report_mask: the word of its report mask, or null
warps: warps
watch: what watchpoints saw; of a breakpoint: what it watches, or null
what: the place that has the value: a register, memory or a constant
where: the place, such as saxpy+0x48
why: why it does not go on; empty when it does
width: extent in x, or bits
window: the ticks that are shown: [first, after the last]
without_semantics: mnemonic -> forms that stop the machine with their name
word: the 64 bits of the instruction
words: what the lanes do
works: whether what doctor looks for is here
writer: who wrote it last
writes: what the instruction writes
written: whether the instruction writes it
x_bytes: x in bytes
xid: number of the Xid, or null
zoom: pixels of a texel
"""

WORDS = dict(line.split(": ", 1) for line in _TEXT.strip().splitlines())
"""Key -> what it means."""
