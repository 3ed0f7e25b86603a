"""LLVM IR: a text builder, lane values as IR operands, integer and floating-point operations."""
