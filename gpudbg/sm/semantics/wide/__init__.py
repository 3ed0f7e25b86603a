"""What the instructions of sm_70 and later do, written once against `WideMachine`.

Slots and modifiers: `gpudbg.isa.volta.operands`.  An instruction of the uniform datapath is the
same function as its sibling: registers of either file are read and written by `operands`.

Certainty as in `gpudbg.sm.semantics`; rules without a mark are *inferred* from what ptxas emits for
a PTX instruction whose meaning is documented.
"""
