"""What the documentation site does to a page."""

import re
from typing import Any

_ROLE = re.compile(r":(?:func|class|mod|data|meth):(?=<code>)")


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name each other by roles, such as :func:; on the site the name alone is enough."""
    return _ROLE.sub("", html)
