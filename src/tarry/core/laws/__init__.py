"""The laws, one file each, every one with its proof in `core/proofs/`."""

from tarry.core.laws.exponential import exponential
from tarry.core.laws.label_free import label_free
from tarry.core.laws.staircase import staircase
from tarry.core.laws.uniform import uniform
from tarry.core.laws.zero_inflated import zero_inflated_uniform
from tarry.core.mechanism import Family

__all__ = [
    "FAMILIES",
    "exponential",
    "label_free",
    "staircase",
    "uniform",
    "zero_inflated_uniform",
]

#: What `law = "..."` in a policy may say.
FAMILIES: dict[str, Family] = {
    "zero-inflated-uniform": zero_inflated_uniform,
    "uniform": uniform,
    "exponential": exponential,
    "staircase": staircase,
    "label-free": label_free,
}
