from .contents import contents_answer as contents_answer
from .contents import launch_template as launch_template
from .files import listed_functions as listed_functions
from .files import listed_texts as listed_texts
from .files import offset_range as offset_range
from .sections import ListingOptions as ListingOptions
