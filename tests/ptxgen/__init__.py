"""PTX instruction variants with expected results: generator, packed cubins, tests."""
