"""Declaration of the `pages` area, which adds the pages to `serve` and to `bridge --http`."""

from skillwire.area import Area

AREA = Area(serve="skillwire.pages.serving:PagesServeFlags", bridge=True)
