"""Parquet files as other programs write them: every type, in every file that a user names."""
