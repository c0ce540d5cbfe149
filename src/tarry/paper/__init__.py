"""The paper, reproduced: one script for each figure and table, read from top to bottom.

Goldberg, Fanti and Shah's results as printed, as their code has them, and corrected.
"""
