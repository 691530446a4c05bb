"""Everything enters."""

from tests.reference.admission import Open as Twin

__all__ = ["Twin"]
