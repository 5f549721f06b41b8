"""What all tests share."""

from __future__ import annotations

import signal

# In the background of a shell Ctrl-C is ignored, and whatever is started there inherits that; tests interrupt processes.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
