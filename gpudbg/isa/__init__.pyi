from .bound import BoundInstruction as BoundInstruction
from .bound import BoundWideInstruction as BoundWideInstruction
from .bound import assemble as assemble
from .bound import decode as decode
