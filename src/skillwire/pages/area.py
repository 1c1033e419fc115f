"""Declaration of the `pages` area, which adds the pages to `serve`."""

from skillwire.area import Area

AREA = Area(serve="skillwire.pages.serving:PagesServeFlags")
