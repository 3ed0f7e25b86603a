from .build import built_library as built_library
from .build import compilers as compilers
from .execution import Execution as Execution
