"""The nineteen algorithms of Table 5 of the Vector Graph Library's document, with operators only. Arrays in, arrays out."""
