"""The laws, one file each, every one with its proof in `core/proofs/`.

A law is loaded when a policy first uses it. Laws of other packages join by the entry point `tarry.laws`.
"""

__all__ = ["LAWS"]

#: What `law = "..."` in a policy may say without any other package, and where the law is.
LAWS = {
    "zero-inflated-uniform": "tarry.core.laws.zero_inflated:zero_inflated_uniform",
    "uniform": "tarry.core.laws.uniform:uniform",
    "exponential": "tarry.core.laws.exponential:exponential",
    "staircase": "tarry.core.laws.staircase:staircase",
    "cosine": "tarry.core.laws.cosine:COSINE",
    "label-free": "tarry.core.laws.label_free:LABEL_FREE",
}
