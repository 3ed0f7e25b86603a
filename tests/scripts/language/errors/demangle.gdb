demangle plain
