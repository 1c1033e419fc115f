"""The pages as a product area."""

from skillwire.area import Area

AREA = Area(serve="skillwire.pages.serving:PagesServeFlags")
