from .function_names import readable as readable
from .listing import CodeLine as CodeLine
from .listing import control_words as control_words
from .suggestions import known_names as known_names
