"""The pages, as an area of the program."""

from skillwire.area import Area

AREA = Area(serve="skillwire.pages.serving:PagesServeFlags")
