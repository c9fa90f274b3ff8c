"""Pages in HTML: one file each, without a network, a server or an external file."""

from slmtok.pages.view_page import View, view

__all__ = ["View", "view"]
