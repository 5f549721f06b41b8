"""Three people who try graphmill with files of their own: a terminal, its commands, a browser, and no line of Python."""
