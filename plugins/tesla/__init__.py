"""Tesla (NV50 family, sm_10..sm_13): a working model of the machine its notes describe.

Pure modules, each usable alone: `hierarchy` and `physid` (who), `mangle` (stack and local
addresses, both directions), `stack` (entries, dumps, spilling), `constbuf`, `globalmem`,
`registers` and `flags`, `launch` (blocks, warps, lanes), `methods` and `machine` (the two objects
driven by method writes), `stream` (their text and pushbuffer forms).  `provenance` says of every
behaviour whether it is documented, inferred or modelled.
"""
