"""The named policies of traps, error status, the debugger port and special registers."""

from __future__ import annotations

from gpudbg.sm.policy_types import Policy

TRAP_POLICIES: tuple[Policy, ...] = (
    Policy(
        "trap-without-handler",
        "modelled",
        "Without a trap handler a warp error, BPT.TRAP, BPT.PAUSE and BPT.CAL stop the debugger; "
        "running on continues after a BPT, and the launch cannot go on after an error.",
        "A driver without a debugger ends the launch; with one, its handler pauses.",
    ),
    Policy(
        "built-in-handler",
        "modelled",
        "Without a handler every warp of a stopped SM counts as paused in it: SM_IN_TRAP_MODE is "
        "set and the pause mask equals the valid mask.",
        "So the driver's test for a full stop holds; contexts of real debuggers run with a "
        "handler that ends in a pause (inferred from logged status words).",
    ),
    Policy(
        "trap-handlers-from-sm_70",
        "modelled",
        "On sm_70 and later the group of lanes that trapped enters the handler; the warp's other "
        "groups stand where they are until it returns, with their convergence barriers. The "
        "handler's own BSSY barriers begin empty. RTT sends all lanes that entered, but those that "
        "ended, to the record's pc; where they waited at a barrier they wait on. A record that "
        "names other lanes is STACK_ERROR. When the handler's last lanes EXIT, the others go on. "
        "On sm_89 and later RTT is the word 0x...94f, given as .word.",
        "Public tools print RTT on sm_70 to sm_86, without operands, accept its word without a "
        "text on sm_89 and later, and know BPT.PAUSE on sm_70 and sm_75 alone; which lanes enter, "
        "and what RTT restores of their groups, is not public.",
    ),
    Policy(
        "trap-entry",
        "inferred",
        "A warp that enters the handler has all its live lanes active (from sm_70 on: those of a "
        "group), a TRAP token closes off its divergence stack, and its local addresses 0 to 0xfff "
        "are the handler's own.",
        "Patent US 8,522,000 gives halting, the error status and the new pc. Where state is "
        "saved is not public; STL [n] is the only store that needs no free register.",
    ),
    Policy(
        "trap-record",
        "modelled",
        "At entry the machine writes pc, masks, status words and cause to the warp's record in "
        "the save area, whose address is at c[0x11][0x0]; RTT goes on with the pc and the active "
        "mask that the record then holds.",
        "How hardware hands over the interrupted state is not public; a driver binds a constant "
        "bank of its own.",
    ),
    Policy(
        "trap-handler-address",
        "modelled",
        "The handler's code lies above the program's, at a multiple of 0x10000.",
        "Method 0x260c (SET_TRAP_HANDLER, documented) takes an offset whose base is not public.",
    ),
    Policy(
        "trap-constants",
        "modelled",
        "Inside the handler c[0x0] is the interrupted kernel's, other banks are the handler "
        "file's own.",
        "A handler needs literals of its own and the interrupted launch's words.",
    ),
    Policy(
        "trap-scope",
        "modelled",
        "A trap takes its own warp into the handler; with DBGR_CONTROL0.STOP_ON_ANY_WARP the SM's "
        "others too, with STOP_ON_ANY_SM on an SM also that SM's. Those that it takes along read "
        "its status bits even after it has left.",
        "Patent US 8,522,000 halts all groups of an SM; drivers keep both bits off in debug mode.",
    ),
    Policy(
        "trap-barrier",
        "modelled",
        "A warp that waits at a barrier enters the handler and keeps its place; after RTT it waits "
        "on, or goes on if the barrier has been completed.",
        "The same patent takes groups off the barrier; whether they arrive again is not public.",
    ),
    Policy(
        "rtt",
        "modelled",
        "RTT returns to the record's pc; .TERMINATE ends the warp; .FALLTHROUGH leaves the handler "
        "and goes on behind the RTT with the interrupted mask; .PREEMPTED stops the machine with "
        "the context saved and continues at the record's pc when run on. RTT by some of the "
        "lanes is DIVERGENT, outside the handler ILLEGAL_INSTR_PARAM.",
        "The names are the disassembler's; their effects are not public.",
    ),
    Policy(
        "exit-in-handler",
        "modelled",
        "EXIT inside the handler ends its lanes, as in a kernel.",
        "Handlers end warps with RTT.TERMINATE; what EXIT does there is not public.",
    ),
    Policy(
        "error-in-trap",
        "modelled",
        "A warp error or BPT.TRAP inside the handler stops the machine and sets ERROR_IN_TRAP on "
        "Pascal; the option error-in-trap=terminate ends the warp instead.",
        "The bit's name is documented from Volta on; Pascal drivers enable it.",
    ),
    Policy(
        "bpt-trap",
        "inferred",
        "BPT.TRAP n enters the handler with the pc behind it as return address, and n's low 3 bits "
        "in SR_WarpErrorStatus; trap and brkpt are the same instruction.",
        "Compilers emit BPT.TRAP 1 for both; the field has 3 bits (documented).",
    ),
    Policy(
        "bpt-pause",
        "documented",
        "BPT.PAUSE sets the warp's pause bit and BPT_PAUSE, and stops the debugger; the warp waits "
        "until it is resumed. BPT.PAUSE_QUIET (sm_60 and later) waits without the event: the "
        "machine stops when nothing else can run.",
        "Drivers read both masks and events; what QUIET leaves out is modelled from its name.",
    ),
    Policy(
        "bpt-int",
        "documented",
        "BPT.INT sets BPT_INT for the host and the warp goes on; S2R never shows it.",
        "A driver posts the event without locking the SM down.",
    ),
    Policy(
        "bpt-call",
        "modelled",
        "BPT.CAL enters the handler without an error, a trap immediate or a trap mask bit; RTT "
        "returns behind it.",
        "By its name it calls the handler.",
    ),
    Policy(
        "bpt-drain",
        "modelled",
        "BPT.DRAIN waits for the warp's memory accesses, which are never late here. "
        "BPT.DRAIN_ILLEGAL does the same and is then ILLEGAL_INSTR_ENCODING.",
        "By their names; mode 0, which an erased word would have, is DRAIN_ILLEGAL.",
    ),
    Policy(
        "assert",
        "modelled",
        "A failed assert prints and traps as BPT.TRAP 1 inside the driver's function; when a "
        "handler returns, the warp goes on behind the call. Without one, running on asserts again.",
        "Debuggers report it as the one recoverable exception.",
    ),
    Policy(
        "ide",
        "modelled",
        "IDE opens a section in which completed steps, stop requests and other warps' traps wait; "
        "IDE.EN ends it and takes what waits. The warp's own errors and traps do not wait. The "
        "immediate has no effect. EXIT inside is WARP_EXIT.",
        "The status bit 'IDE critical section' is documented; the rest follows the name.",
    ),
    Policy(
        "warp-pointers",
        "modelled",
        "SETCRSPTR and SETLMEMBASE set words of the warp that GETCRSPTR and GETLMEMBASE read back; "
        "by some of the lanes they are DIVERGENT. They move nothing.",
        "They hold addresses of spill areas, which do not exist here.",
    ),
    Policy(
        "warp-error-numbers",
        "inferred",
        "SR_WarpErrorStatus uses the numbers of the host register HWW_WARP_ESR.",
        "Its 8 bits hold every code; no public text says so.",
    ),
    Policy(
        "later-error-registers",
        "inferred",
        "From sm_70 on two SMs share a TPC, registers lie where the headers of gv11b, tu104 and "
        "ga10b have them, from sm_90 on where log lines show them; report masks are those of "
        "NVRM's log lines, SM_ARCH has the warps of the SM. Names and numbers of errors stay those "
        "of sm_50: RET_EMPTY_STACK_ERROR, MISALIGNED_IMMC_ADDR, INVALID_CONST_ADDR, "
        "ILLEGAL_INSTR_PARAM2 and DIVERGENT, which those headers no longer have, and MMU_FAULT in "
        "place of MMU_NACK, too.",
        "One vocabulary of error records on every architecture. ADDR_ERROR_TYPE is 0: its values "
        "are not public. SR_GlobalErrorStatus and SR_WarpErrorStatus are taken to be the same.",
    ),
    Policy(
        "single-multiple-errors",
        "modelled",
        "SR_GlobalErrorStatus bit 9 is set with one or more erring warps, bit 7 with two or more; "
        "the option error-bits=exclusive clears bit 9 then.",
        "The bits' names are documented, their conditions are not.",
    ),
    Policy(
        "warp-trap-bits",
        "modelled",
        "Bits 10 and 11 tell one trapping warp from several; the option warp-trap-bits=immediate "
        "makes them tell immediate 1 from others.",
        "Both readings fit the names 'Warp Trap 1' and 'Warp Trap 2+'.",
    ),
    Policy(
        "preemption-values",
        "modelled",
        "SR_GlobalErrorStatus.Preemption is 1 for a context save and 2 for a restore.",
        "The enumeration is not public; patents speak of a handler that tells the two apart.",
    ),
    Policy(
        "warp-error-status-clear",
        "modelled",
        "SR67 reads zero; the option status-clear=clear makes it read SR_WarpErrorStatus and "
        "clear it.",
        "The table calls it reserved, the disassembler SR_WARPERRORSTATUSCLEAR.",
    ),
    Policy(
        "status-lifetime",
        "modelled",
        "SR_WarpErrorStatus, the pause and the trap bit of a warp are cleared when it leaves the "
        "handler, or is resumed without one. The host's words stay until the host clears them.",
        "Only the host's way of clearing is documented.",
    ),
    Policy(
        "first-error-latched",
        "inferred",
        "HWW_WARP_ESR holds the first error's code and warp until it is cleared; an error of "
        "another warp sets MULTIPLE_WARP_ERRORS.",
        "The register names one warp; logs show both together.",
    ),
    Policy(
        "report-masks",
        "modelled",
        "Report masks decide whether an error is pending in TPC_EXCEPTION; traps and stops do not "
        "depend on them. They begin with the driver's values for the chip.",
        "The masks' bits are documented, what a masked error does to its warp is not.",
    ),
    Policy(
        "imprecise-errors",
        "modelled",
        "With the option precision=imprecise a bad global access counts as done without effect "
        "and is reported up to `skid` instructions later, before any EXIT, BAR or BPT.",
        "Debuggers' manuals call these exceptions not precise; the distance is not public.",
    ),
    Policy(
        "single-step",
        "documented",
        "In single-step mode an instruction outside the handler sets SINGLE_STEP_COMPLETE and "
        "enters the handler where there is one. `stepi` holds the other warps paused; `set "
        "step-handler enter` stops at the handler's first instruction.",
        "The bit and the mode are documented; that instructions of the handler are not stepped "
        "is modelled.",
    ),
    Policy(
        "debugger-stop",
        "modelled",
        "Breakpoints, limits and interrupts freeze the SMs between two instructions without "
        "entering a handler; `trap stop` is a stop request that warps see, until those that it "
        "took into the handler have left.",
        "The emulator can look without disturbing.",
    ),
    Policy(
        "several-errors",
        "modelled",
        "`stepi sm` and `stepi all` let every warp execute its instruction and report all errors "
        "of the step; a free run without a handler stops at the first.",
        "Which errors hardware collects before it halts depends on timing.",
    ),
    Policy(
        "pc-wrap",
        "modelled",
        "A relative branch, call or push below address 0 is PC_WRAP at the instruction; a pc "
        "outside the program's code is PC_OVERFLOW when it is fetched.",
        "The names are public, their conditions are not.",
    ),
    Policy(
        "null-function-pointer",
        "inferred",
        "A call through a pointer that is 0 goes where the code says: to the first instruction of "
        "the kernel where pointers are offsets in its section (functions that ptxas compiled into "
        "it), to address 0, which is PC_OVERFLOW, where they are relocated addresses "
        "(-rdc=true).",
        "The table of pointers and the call's constant are in the cubin; no relocation changes "
        "them.",
    ),
    Policy(
        "api-stack-error",
        "modelled",
        "With the option call-limit=N, call N+1 at once is API_STACK_ERROR.",
        "A method limits API-visible calls (documented); its value is the driver's.",
    ),
    Policy(
        "graphics-instructions",
        "modelled",
        "Attribute and pixel instructions in a compute launch are ILLEGAL_SPH_INSTR_COMBO; OUT in "
        "a geometry shader is GEOMETRY_SM_ERROR, as no output stage exists.",
        "The shader program header does not allow them; the pipeline is not emulated.",
    ),
    Policy(
        "shader-types",
        "inferred",
        "SM_SHADER_TYPE reads 0 vertex A, 1 vertex B, 2 tessellation init, 3 tessellation, "
        "4 geometry, 5 pixel, 6 compute.",
        "The binding methods number the first six so; compute's number is modelled.",
    ),
    Policy(
        "shader-views",
        "documented",
        "A special register that is not valid in the launch's shader type reads zero.",
        "The register table says in which shader types each is valid.",
    ),
    Policy(
        "floorsweeping",
        "modelled",
        "SR_VirtId counts SMs and CTA slots without holes; GPC and TPC of an SM, and with them its "
        "port's addresses, SM_CFG and SR_AFFINITY, leave out the places that `swept` lists.",
        "The table calls the fields virtual after floorsweeping.",
    ),
    Policy(
        "live-thread-count",
        "documented",
        "SR_NTid starts at the CTA's threads and loses 32 for each completed warp; SR_NLATC is 32 "
        "for each warp that lives.",
        "The register table; its remark on their difference contradicts this rule and is not used.",
    ),
    Policy(
        "performance-counters",
        "modelled",
        "PM0 counts warp instructions of the sub-partition, PM1 global and local and PM2 shared "
        "accesses, PM3 warps; PM4 barrier arrivals of the SM, PM5 atomics, PM6 traps and errors, "
        "PM7 CTAs. All but PM0 count in launches whose program or trap handler reads a counter, "
        "or where a debugger reads one before the first instruction.",
        "Real ones are configured by methods; low words wrap and high parts saturate as "
        "documented.",
    ),
    Policy(
        "hardware-task",
        "modelled",
        "SR_HwTaskId is the launch's number modulo 32 unless the launch table gives it.",
        "The distributor's choice is not public.",
    ),
    Policy(
        "circular-queue",
        "modelled",
        "CTA n of a queue launch reads entry index + n * increment, at address + entry * bytes.",
        "The registers are documented; how entries are handed to CTAs is not.",
    ),
)
"""What stands where public texts leave traps and special registers open."""
