"""What the values of a source mean: numbers and texts as written in many places, directions, and rows that are refused."""
