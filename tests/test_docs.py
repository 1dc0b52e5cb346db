"""The documentation runs: every Python block of a page, in order, in one namespace and a folder of its own."""

import re
from pathlib import Path

import markdown
import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Pages with large fits, or a cluster.
LONG = {"README.md", "docs/index.md", "docs/scaling.md"}
GUIDES = ("tutorials", "howto")


def pages():
    for path in sorted([ROOT / "README.md", *DOCS.rglob("*.md")]):
        if BLOCK.search(path.read_text()):
            name = path.relative_to(ROOT).as_posix()
            yield pytest.param(path, id=name, marks=[pytest.mark.slow] * (name in LONG))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", list(pages()))
def test_the_code_of_a_page_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    namespace = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block.group(1), str(page), "exec"), namespace)
    assert "assert" in text or page.parent.name not in GUIDES, "a guide checks what it shows"
    assert "Traceback" not in capsys.readouterr().out


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"\b([\w/-]+\.md)$", (DOCS.parent / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def test_no_star_of_a_formula_begins_emphasis():
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        page = markdown.markdown(path.read_text(), extensions=["tables", "fenced_code"])
        assert not re.findall(r"<em>[\W_].{0,40}", page), path


def test_guides_have_code():
    for guide in GUIDES:
        for path in (DOCS / guide).glob("*.md"):
            assert BLOCK.search(path.read_text()), path
