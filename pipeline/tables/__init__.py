"""Tables: their schema and files, and the conversion between answers and tables."""
