"""NCCL is not installed here."""

available = False
