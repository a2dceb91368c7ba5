"""MoCoSE, momentum contrastive sentence embeddings: the method and its measures.

Cao et al. 2022, Exploring the Impact of Negative Samples of Contrastive Learning.
"""

from .encoder import Encoder
from .evaluation import evaluate
from .settings import InputError, Settings
from .train import train

__all__ = ["Encoder", "InputError", "Settings", "evaluate", "train"]
