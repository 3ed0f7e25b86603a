from .build import built_library as built_library
from .build import compilers as compilers
from .debugging import HostLaunches as HostLaunches
from .doctor import diagnoses as diagnoses
from .execution import Execution as Execution
