"""Traps: error status, the debugger's registers of an SM, and the trap handler's entry and exit.

state          registers of an SM, causes of entry, options
instructions   what BPT, RTT, IDE and the per-warp pointers do
handler        a handler's code, constants and memory
unit           status words, entering and leaving
"""
