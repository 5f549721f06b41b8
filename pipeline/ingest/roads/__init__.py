"""From the ways of an OpenStreetMap file to arcs: who may travel where (`profile`), and chains between crossings (`chains`)."""
