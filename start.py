#!/usr/bin/env python3
"""The installed command: SIGINT ends it silently, until there may be temporary files to remove."""

import _signal  # type: ignore[import-not-found]

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # it is not ignored
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from gathercli.__main__ import run

run()
