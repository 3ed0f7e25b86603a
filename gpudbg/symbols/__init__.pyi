from .listing import CodeLine as CodeLine
from .listing import control_words as control_words
