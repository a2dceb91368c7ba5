"""From `encode` and tables to numbers; no module here knows where a benchmark lies."""

from .sts import evaluate as evaluate
