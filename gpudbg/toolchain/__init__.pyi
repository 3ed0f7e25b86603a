from .options import CompileOptions as CompileOptions
from .options import flag_options as flag_options
from .options import is_source as is_source
from .signatures import known as known
from .signatures import parameters as parameters
