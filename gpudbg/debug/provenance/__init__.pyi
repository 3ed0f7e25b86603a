from gpudbg.debug.provenance.causes import Derivation as Derivation
from gpudbg.debug.provenance.causes import tree_lines as tree_lines
from gpudbg.debug.provenance.queries import Provenance as Provenance
from gpudbg.debug.provenance.touches import PlaceTouch as PlaceTouch
