"""128-bit instruction words against nvdisasm's recorded answers."""
