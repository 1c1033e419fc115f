"""Declaration of the `pages` area."""

from skillwire.area import Area

AREA = Area(serve="skillwire.pages.serving:PagesServeFlags")
