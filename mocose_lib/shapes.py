"""The shapes that signatures name; tests check them at every call."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

Ids = Int[Tensor, "batch length"]  # of tokens, filled up at the end
Mask = Bool[Tensor, "batch length"]  # which tokens are real
Positions = Int[Tensor, "batch length"]  # of tokens, counted from 0
Words = Float[Tensor, "batch length width"]  # word embeddings
Vectors = Float[Tensor, "batch dim"]  # of sentences
Scalar = Float[Tensor, ""]  # a loss
