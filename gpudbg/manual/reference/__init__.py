"""Makers of reference pages, a theme a module; `gpudbg.manual.generated` lists the pages."""
