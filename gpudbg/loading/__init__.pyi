from .foreign import call_plugin as call_plugin
from .foreign import known_plugins as known_plugins
