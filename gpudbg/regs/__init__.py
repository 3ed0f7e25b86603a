"""What register words mean: special registers, PTX registers, error status, debugger port."""
