"""What is told to whoever watches, a terminal or a notebook."""

import sys


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
