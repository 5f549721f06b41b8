"""The backend in use and the memory that is free on it."""
