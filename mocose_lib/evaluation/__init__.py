"""From `encode` and tables to numbers; no module here knows where benchmarks are."""

from .sts import evaluate as evaluate
