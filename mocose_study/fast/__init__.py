"""Faster forms of what an encoder does; `accelerate` puts them into one.

Their results are those of the plain forms, up to the rounding of sums. Dropout draws
other random numbers, from the same distribution. `Config.fast = False` turns them off.
"""

from .first_token import accelerate, hidden_states
