"""What the documentation site does to a page, and the pages it makes itself."""

import re
from pathlib import Path
from typing import Any

_ROLE = re.compile(r":(?:func|class|mod|data|meth):(?=<code>)")


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name each other by roles, such as :func:; on the site the name alone is enough."""
    return _ROLE.sub("", html)


def on_post_build(config: Any, **_: Any) -> None:
    """Write the explorer and the report of a small fit into the site."""
    from planted import PlantedRegressor, datasets
    from planted.pages import write_explorer

    site = Path(config["site_dir"])
    write_explorer(site / "explore.html")
    data = datasets.make_planted(3000, 5, 4, output="mixed", noise=0.1, random_state=0)
    names = ["age", "income", "rooms", "height", "distance"]
    est = PlantedRegressor(random_state=0).fit(data.X, data.y)
    est.report(site / "report.html", names=names, targets=["price"])
