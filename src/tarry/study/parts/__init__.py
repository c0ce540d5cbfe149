"""An audit by parts: slices of time that are counted one by one, and partial results that add up.

`partial` is what adds up, `engine` what an engine must do, and the other files say what is counted.
"""

__all__: list[str] = []
