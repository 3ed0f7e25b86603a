"""From a launch table, flags or a form to a launch with its arguments checked."""
