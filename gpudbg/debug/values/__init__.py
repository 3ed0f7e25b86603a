"""What expressions read and write: names, registers, memory, call frames."""
