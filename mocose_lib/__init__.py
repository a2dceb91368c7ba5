"""The MoCoSE study: the method in the foreground, well-kept libraries for the rest.

Read `config` (every number), `sections` (what every section runs, and its claims) and `train` (the loop) first.
"""
