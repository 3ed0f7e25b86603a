from .build import built_library as built_library
from .build import compilers as compilers
from .checking import CheckedRuns as CheckedRuns
from .debugging import HostLaunches as HostLaunches
from .debugging import open_host_program as open_host_program
from .doctor import diagnoses as diagnoses
from .execution import Execution as Execution
from .program import found_program as found_program
