"""The documentation runs: every Python block of a page, in order, in one namespace."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted((DOCS / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, capsys):
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks
    namespace = {"__name__": page.stem}
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block.group(1), str(page), "exec"), namespace)
    assert "assert" in text, "a page checks what it shows"
    assert "Traceback" not in capsys.readouterr().out


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"\b([\w/]+\.md)$", (DOCS.parent / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
