"""Faster forms of what an encoder does; `accelerate` puts them into one.

Each gives what the plain form gives, up to the rounding of sums. Dropout draws other
random numbers from the same distribution. `Config.fast = False` leaves them out.
"""

from .first_token import accelerate, states

__all__ = ["accelerate", "states"]
