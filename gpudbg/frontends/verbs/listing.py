"""The verbs of the command line, and the variables of the environment that it reads."""

from __future__ import annotations

VERBS: dict[str, str] = {
    "tui": "open a program in the terminal UI (the default)",
    "run": "run a kernel to its end and show its outputs",
    "record": "run a kernel and write a recording of the launch",
    "check": "run kernels and look for races and other mistakes",
    "dis": "disassemble a program or raw words",
    "asm": "assemble SASS text",
    "info": "what a program contains",
    "decode": "explain a register, instruction or log word",
    "repl": "a Python prompt on a session",
    "exec": "run a CUDA program with the emulated GPU",
    "doctor": "what is here for programs, what is missing",
    "script": "run a Python program on the debugger",
    "demo": "open a shipped program and its story",
    "serve": "the terminal UI in a browser",
    "dap": "a debug adapter for VS Code and other editors",
    "mcp": "the debugger as tools for assistants (stdio)",
    "export": "run a kernel and write a surface to a file",
    "plugins": "list plugins",
    "cache": "show or clear what is kept of compiled kernels",
    "help": "read the manual: tutorials, how-tos, reference",
    "completion": "completions for bash, zsh or fish",
}
"""Verb -> what it does; `gpudbg.cli` has their modules."""

ENVIRONMENT: dict[str, tuple[str, str]] = {
    "GPUDBG_THEME": (
        "dark light contrast 256 16 mono", "colours of the terminal UI",
    ),
    "NO_COLOR": ("anything", "no colours, in the terminal UI and in texts"),
    "GPUDBG_ASCII": ("1", "the terminal UI draws with ASCII marks only"),
    "GPUDBG_KEYMAP": ("vscode gdb x64dbg vim", "which keys the terminal UI has"),
    "GPUDBG_CACHE": (
        "FOLDER, or off", "where compiled kernels are kept; off: nowhere (see `gpudbg cache`)",
    ),
    "GPUDBG_NO_CACHE": ("1", "compile everything anew, keep nothing"),
    "GPUDBG_CACHE_MB": ("N", "megabytes of compiled kernels that are kept (default 128)"),
    "GPUDBG_CODE_EFFORT": (
        "least plain", "compile kernels with the least effort, whatever is asked",
    ),
    "GPUDBG_PLUGIN_PATH": ("FOLDER:FOLDER", "folders where plugins are looked for"),
    "GPUDBG_NVRTC": ("FILE", "the NVRTC library that compiles CUDA C++"),
    "GPUDBG_PTXAS": ("FILE", "the ptxas that compiles PTX"),
    "GPUDBG_TRACEBACK": ("1", "a mistake of gpudbg's own is shown with Python's traceback"),
    "GPUDBG_AS": ("cuda-gdb", "behave as the cuda-gdb that Nsight starts (`gpudbg info nsight`)"),
}  # fmt: skip
"""Variable -> (its values, what it does)."""
