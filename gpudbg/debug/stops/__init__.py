"""Why the machine stopped: stop records, fault cards, exceptions, proven hangs."""
