"""Models as Hugging Face folders, and back: `hf.py` writes and reads them by the tables in `targets.py`."""

from slmmodel.export.targets import architecture, exports

__all__ = ["architecture", "exports"]
