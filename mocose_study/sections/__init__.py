"""The sections of the study in their order: what each runs, and which claims it judges."""

from types import MappingProxyType

from mocose_study.sections import (
    augmentation,
    batch,
    collapse,
    distance,
    ema,
    encoders,
    geometry,
    heads,
    main_results,
    published,
    queue,
    s_simcse,
    search,
    selection,
    simcse,
    simcse_supervised,
    start,
)

_FILES = (start, encoders, search, ema, heads, augmentation, batch, queue, distance, geometry,
          selection, collapse, published, main_results, simcse, simcse_supervised, s_simcse,
)  # fmt: skip
GRIDS = MappingProxyType({name: grid for file in _FILES for name, grid in file.GRIDS.items()})
