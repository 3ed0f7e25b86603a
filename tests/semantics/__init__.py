"""Instruction semantics against independent models."""
