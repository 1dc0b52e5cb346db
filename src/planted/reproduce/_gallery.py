"""Everything that was reproduced on one page: figures, claims, configurations, versions, timings, commands."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from re import sub
from string import Template
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from planted.reproduce._runner import duration, versions
from planted.reproduce._store import write_atomically
from planted.reproduce._study import Study

_PAPERS = {
    "ge2017": "Ge, Lee, Ma (2017), Learning one-hidden-layer neural networks with landscape design",
    "gao2018": "Gao, Makkuva, Oh, Viswanath (2018), Learning one-hidden-layer neural networks under general input "
    "distributions",
    "du2017": "Du, Lee, Tian, Póczos, Singh (2017), Gradient descent learns one-hidden-layer CNN",
    "fu2018": "Fu, Chi, Liang (2018), Guaranteed recovery of one-hidden-layer neural networks via cross entropy",
    "soltanolkotabi2017": "Soltanolkotabi, Javanmard, Lee (2017), Theoretical insights into the optimization landscape "
    "of over-parameterized shallow neural networks",
    "spurious": "Spurious minima of the squared loss, after Safran and Shamir (2018)",
}
_SIZE = (9.0, 3.6)
_INK = {"light": "#1c2330", "dark": "#dfe4ee"}


def picture(study: Study, theme: str = "light", kind: str = "svg", dpi: int = 100) -> bytes:
    """The study's figure, on a transparent ground with ink that suits a light or a dark page.

    >>> from planted.reproduce import find
    >>> picture(find("ge2017/appendix-d")[0](quick=True))[:5]
    b'<?xml'
    """
    ink = _INK[theme]
    colours = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    style: dict[str, Any] = dict.fromkeys(colours, ink) | {
        "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none", "legend.facecolor": "none",
        "svg.hashsalt": study.name, "axes.spines.top": False, "axes.spines.right": False, "font.size": 9,
    }  # fmt: skip
    buffer = io.BytesIO()
    with rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        study.draw(figure)
        figure.savefig(buffer, format=kind, dpi=dpi, **({"metadata": {"Date": None}} if kind == "svg" else {}))
    return buffer.getvalue()


def command(study: Study, quick: bool) -> str:
    """The command that makes this study again.

    >>> command(Study("a/b", "title", {}, [], [], print, 0.0, seed=3), True)
    'planted reproduce a/b --quick --seed 3'
    """
    return f"planted reproduce {study.name} {'--quick' if quick else '--full'} --seed {study.seed}"


def write_html(studies: Sequence[Study], path: Path, quick: bool) -> Path:
    """Write one self-contained page: no network, pictures inside, light and dark.

    >>> import tempfile
    >>> from planted.reproduce import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_html([find("soltanolkotabi2017/fig1")[0](quick=True)], Path(folder) / "g.html", True)
    ...     page.read_text().count("<img")
    2
    """
    template = Template(files("planted.reproduce").joinpath("gallery.html").read_text(encoding="utf-8"))
    claims = [(study, claim) for study in studies for claim in study.claims]
    verdicts = [claim.verdict for _, claim in claims]
    papers = list(dict.fromkeys(_paper(study) for study in studies))
    sections = []
    for paper in papers:
        mine = [study for study in studies if _paper(study) == paper]
        cards = "\n".join(_card(study, quick) for study in mine)
        sections.append(f'<h2 id="{paper}">{_text(_PAPERS.get(paper, paper))}</h2>\n{cards}')
    page = template.substitute(
        size="quick" if quick else "full",
        figures=len(studies),
        holds=verdicts.count("holds"),
        explained=verdicts.count("explained"),
        fails=verdicts.count("fails"),
        seconds=duration(sum(study.seconds for study in studies)),
        contents="".join(f'<a href="#{paper}">{paper}</a>' for paper in papers),
        rows="\n".join(_claim_row(study, claim) for study, claim in claims),
        options="".join(f"<option>{paper}</option>" for paper in papers),
        sections="\n".join(sections),
        errata="\n".join(
            f'<details id="errata-{paper}"><summary>{paper}</summary><pre>{_text(text)}</pre></details>'
            for paper, text in errata().items()
            if paper in papers
        ),
        versions=_text(", ".join(f"{name} {number}" for name, number in versions().items())),
        all_command=_text(f"planted reproduce --all {'--quick' if quick else '--full'} --out results --gallery"),
    )
    write_atomically(path, page.encode())
    return path


def errata() -> dict[str, str]:
    """The errata of each paper as Markdown, from docs/errata.md or the copy that the package carries.

    >>> "Eq. 6.4" in errata()["soltanolkotabi2017"]
    True
    """
    carried, original = files("planted").joinpath("errata.md"), Path(__file__).parents[3] / "docs" / "errata.md"
    text = carried.read_text(encoding="utf-8") if carried.is_file() else original.read_text(encoding="utf-8")
    sections = (section.split("\n", 1) for section in text.split("\n## ")[1:])
    return {title.split()[0]: body.strip() for title, body in sections}


def _text(value: Any) -> str:
    return html.escape(str(value))


def _claim_row(study: Study, claim: Any) -> str:
    cells = (
        f'<td data-label="Figure"><a href="#{_anchor(study)}">{_text(study.name)}</a></td>',
        f'<td data-label="Claim">{_text(claim.statement)}</td>',
        f'<td data-label="Paper">{_text(claim.paper)}</td>',
        f'<td data-label="Here">{_text(claim.ours)}{_note(study, claim)}</td>',
        f'<td data-label="Verdict"><span class="verdict {claim.verdict}">{claim.verdict}</span></td>',
    )
    return f'<tr data-verdict="{claim.verdict}" data-paper="{_paper(study)}">{"".join(cells)}</tr>'


def _note(study: Study, claim: Any) -> str:
    """What is said about a claim, with a way to the errata where it names them or where they explain it."""
    link = f'<a href="#errata-{_paper(study)}">errata</a>'
    text = sub(r"\berrata\b", link, _text(claim.note))
    if claim.verdict == "explained" and link not in text:
        text = f"{text} ({link})" if text else link
    return f"<small>{text}</small>" if text else ""


def _paper(study: Study) -> str:
    return study.name.split("/")[0]


def _anchor(study: Study) -> str:
    return study.name.replace("/", "-")


def _card(study: Study, quick: bool) -> str:
    images = "".join(
        f'<img class="{theme}" alt="{_text(study.name)}: {_text(study.title)}" '
        f'src="data:image/svg+xml;base64,{base64.b64encode(picture(study, theme)).decode()}">'
        for theme in ("light", "dark")
    )
    claims = "".join(
        f'<li><span class="verdict {c.verdict}">{c.verdict}</span> {_text(c.statement)}: paper {_text(c.paper)}, '
        f"here {_text(c.ours)}{_note(study, c)}</li>"
        for c in study.claims
    )
    return (
        f'<article id="{_anchor(study)}"><h3>{_text(study.name)}<span>{_text(study.title)}</span></h3>'
        f"<figure>{images}</figure><ul>{claims}</ul>"
        f"<details><summary>seed {study.seed}, {duration(study.seconds)} of computing, {len(study.table)} rows"
        f"</summary><pre>{_text(command(study, quick))}</pre>"
        f"<pre>{_text(json.dumps(study.config, ensure_ascii=False))}</pre></details></article>"
    )


def write_markdown(studies: Sequence[Study], folder: Path, quick: bool) -> Path:
    """Write folder/gallery.md and its pictures folder/gallery/*.png.

    >>> import tempfile
    >>> from planted.reproduce import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_markdown([find("soltanolkotabi2017/fig1")[0](quick=True)], Path(folder), True)
    ...     sorted(path.name for path in Path(folder).rglob("*.*"))
    ['gallery.md', 'soltanolkotabi2017-fig1.png']
    """
    size = "--quick" if quick else "--full"
    verdicts = [claim.verdict for study in studies for claim in study.claims]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in ("holds", "explained", "fails") if v in verdicts)
    lines = [
        "# Gallery",
        "",
        f"Every figure and reported number of the five papers, run again at {size[2:]} size, and its claims: {counts}.",
        "What is *explained* differs from the paper for a reason given in the [errata](errata.md). Made by",
        "",
        f"    planted reproduce --all {size} --jobs 2 --out results --gallery --markdown docs",
        "",
    ]
    paper = ""
    for study in studies:
        if _paper(study) != paper:
            paper = _paper(study)
            lines += [f"## {_PAPERS.get(paper, paper)}", ""]
        write_atomically(folder / "gallery" / f"{_anchor(study)}.png", _small_png(study))
        lines += [
            f"### {study.name}: {study.title}",
            "",
            f"![{study.title}](gallery/{_anchor(study)}.png)",
            "",
            "| claim | paper | here | verdict |",
            "|---|---|---|---|",
            *(_markdown_row(study, claim) for claim in study.claims),
            "",
            f"`{command(study, quick)}`, {duration(study.seconds)} of computing.",
            "",
        ]
    write_atomically(folder / "gallery.md", "\n".join(lines).encode())
    return folder / "gallery.md"


def _markdown_row(study: Study, claim: Any) -> str:
    note = f" ({claim.note})" if claim.note else ""
    link = f"[explained](errata.md#{_paper(study)})"
    cells = (claim.statement, claim.paper, claim.ours + note, link if claim.verdict == "explained" else claim.verdict)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*").replace("\n", " ") for cell in cells) + " |"


def _small_png(study: Study) -> bytes:
    """A PNG on white with few colours: a fifth of the bytes, no difference to the eye."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture(study, "light", "png", 110))).convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    flat = Image.alpha_composite(ground, image).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    flat.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
