"""The systems of the papers' tables, all behind one function signature.

`METHODS[name](config, checkpoint, device, bar)` trains (or only loads) the system and returns a
`Fitted`; the caller measures it through `encode` alone, so that rows differ by method only.
"""

from . import mocose, untrained

METHODS = {"mocose": mocose.fit, "untrained": untrained.fit}
