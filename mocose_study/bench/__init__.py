"""How fast the study is: beside its peers, and beside the floor that its matrix products set.

`run.bench` measures and writes one file a benchmark; `tables` turns such files into ratios. All
that is compared is measured in turns, in one run, so that a busy machine slows all of it. Nothing
here changes a result.
"""
