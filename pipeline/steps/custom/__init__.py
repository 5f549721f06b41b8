"""Stages that users write in Python: start with `table`; `program` runs the file, `answers` checks what it returns."""
