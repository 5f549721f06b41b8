"""The nineteen algorithms of Table 5 of the Vector Graph Library's document, with the graph operators only.

Begin with `paths/top_down.py`; docs/abstractions.md explains the operators.
"""
