"""Everything that was reproduced on one page: figures, claims, configurations, versions, timings, commands."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from re import sub
from string import Template
from typing import Any

from matplotlib import rc_context
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from planted.reproduce._claims import counted, counts
from planted.reproduce._runner import duration, versions
from planted.reproduce._store import write_atomically
from planted.reproduce._study import Study

_PAPERS = {
    "ge2017": "Ge, Lee, Ma (2017), Learning one-hidden-layer neural networks with landscape design",
    "gao2018": "Gao, Makkuva, Oh, Viswanath (2018), Learning one-hidden-layer neural networks under general input "
    "distributions",
    "du2017": "Du, Lee, Tian, Póczos, Singh (2017), Gradient descent learns one-hidden-layer CNN",
    "fu2018": "Fu, Chi, Liang (2018), Local geometry of one-hidden-layer neural networks for logistic regression",
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
    colours = (
        *("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "lines.color"),
        *(f"boxplot.{part}props.color" for part in ("box", "whisker", "cap", "flier")),
        "boxplot.flierprops.markeredgecolor",
    )
    style: Any = dict.fromkeys(colours, ink) | {
        "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none", "legend.facecolor": "none",
        "svg.hashsalt": study.name, "axes.spines.top": False, "axes.spines.right": False, "font.size": 9,
    }  # fmt: skip
    buffer = io.BytesIO()
    with rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        study.draw(figure)
        for line in figure.findobj(Line2D):
            if to_hex(line.get_color()) == "#000000":
                line.set_color(ink)
        figure.savefig(buffer, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()


def command(study: Study, quick: bool) -> str:
    """The command that makes this study again.

    >>> command(Study("a/b", "title", {}, [], [], print, 0.0, seed=3), True)
    'planted reproduce a/b --quick --seed 3'
    """
    return f"planted reproduce {study.name} {'--quick' if quick else '--full'} --seed {study.seed}"


def write_html(studies: Sequence[Study], path: Path, quick: bool, left_out: Sequence[str] = ()) -> Path:
    """Write one self-contained page: no network, pictures inside, light and dark; it names entries that were left out.

    >>> import tempfile
    >>> from planted.reproduce import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_html([find("soltanolkotabi2017/fig1")[0](quick=True)], Path(folder) / "g.html", True)
    ...     page.read_text().count("<img")
    2
    """
    template = Template(files("planted.reproduce").joinpath("gallery.html").read_text(encoding="utf-8"))
    claims = [(study, claim) for study in studies for claim in study.claims]
    papers = list(dict.fromkeys(_paper(study) for study in studies))
    sections = []
    for paper in papers:
        mine = [study for study in studies if _paper(study) == paper]
        cards = "\n".join(_card(study, quick) for study in mine)
        sections.append(f'<h2 id="{paper}">{_text(_PAPERS.get(paper, paper))}</h2>\n{cards}')
    page = template.substitute(
        size="quick" if quick else "full",
        figures=len(studies),
        **counts(claim for _, claim in claims),
        date=date.today().isoformat(),
        seconds=duration(sum(study.seconds for study in studies)),
        left_out=_text(_left_out(left_out)),
        contents="".join(f'<a href="#{paper}">{paper}</a>' for paper in papers),
        rows="\n".join(_claim_row(study, claim) for study, claim in claims),
        options="".join(f"<option>{paper}</option>" for paper in papers),
        sections="\n".join(sections),
        errata="\n".join(
            f'<details id="errata-{paper}"><summary>{paper}</summary><pre>{_text(text)}</pre></details>'
            for paper, text in errata().items()
            if paper in papers
        ),
        versions=_text(_listed(versions())),
        all_command=_text(f"planted reproduce --all {'--quick' if quick else '--full'} --out results --gallery"),
    )
    write_atomically(path, page.encode())
    return path


@cache
def errata() -> dict[str, str]:
    """The errata of each paper, from docs/errata.md or the copy that the package carries, without Markdown's escapes.

    >>> "Eq. 6.4" in errata()["soltanolkotabi2017"]
    True
    >>> any("\\\\" in text for text in errata().values())
    False
    """
    carried, original = files("planted").joinpath("errata.md"), Path(__file__).parents[3] / "docs" / "errata.md"
    text = carried.read_text(encoding="utf-8") if carried.is_file() else original.read_text(encoding="utf-8")
    sections = (section.split("\n", 1) for section in text.split("\n## ")[1:])
    return {title.split()[0]: re.sub(r"\\([*_|])", r"\1", body.strip()) for title, body in sections}


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
    here = _paper(study) if _paper(study) in errata() else ""
    link = f'<a href="#errata{here and "-"}{here}">errata</a>'
    text = sub(r"\berrata\b", link, _text(claim.note))
    if claim.verdict == "explained" and link not in text:
        text = f"{text} ({link})" if text else link
    return f"<small>{text}</small>" if text else ""


def _paper(study: Study) -> str:
    return study.name.split("/")[0]


def _listed(numbers: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items())


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
        f"<figure>{images}</figure><ul>{claims}</ul>{_settings(study)}"
        f"<details><summary>seed {study.seed}, {duration(study.seconds)} of computing, {len(study.table)} rows, "
        f"{_text(study.made)}"
        f"</summary><pre>{_text(command(study, quick))}</pre>"
        f"<pre>{_text(json.dumps(study.config, ensure_ascii=False))}</pre>"
        f"<pre>{_text(_listed(study.versions))}</pre></details></article>"
    )


def _settings(study: Study) -> str:
    """The table "paper / here", folded away."""
    if not study.settings:
        return ""
    head = "".join(f"<td>{word}</td>" for word in ("setting", "paper", "here", ""))
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in (row.label, row.paper, row.here, row.remark)) + "</tr>"
        for row in study.settings
    )
    deviations = sum(row.remark != "as printed" for row in study.settings)
    summary = f"settings: {len(study.settings) - deviations} as printed, {deviations} not"
    return f"<details><summary>{summary}</summary><table><tr>{head}</tr>{rows}</table></details>"


def _left_out(names: Sequence[str]) -> str:
    """One sentence about entries that have not been run, or nothing.

    >>> _left_out(["a/b"])
    'Not run yet, and so not here: a/b.'
    """
    return f"Not run yet, and so not here: {', '.join(names)}." if names else ""


def write_markdown(studies: Sequence[Study], folder: Path, quick: bool, left_out: Sequence[str] = ()) -> Path:
    """Write folder/gallery.md and its pictures folder/gallery/*.png; the page names entries that were left out.

    >>> import tempfile
    >>> from planted.reproduce import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_markdown([find("soltanolkotabi2017/fig1")[0](quick=True)], Path(folder), True)
    ...     sorted(path.name for path in Path(folder).rglob("*.*"))
    ['gallery.md', 'soltanolkotabi2017-fig1.png']
    """
    size = "--quick" if quick else "--full"
    claims = [claim for study in studies for claim in study.claims]
    lines = [
        "# Gallery",
        "",
        f"{len(studies)} figures and reported numbers of the five papers, run again at {size[2:]} size, and their",
        f"claims: {counted(claims)}. What is *explained* differs from the paper for a reason that was measured too and",
        "that the [errata](errata.md) give. Each figure has a table of the paper's settings and those used here, and",
        f"says when and by which code it was computed. Put together on {date.today().isoformat()} by",
        "",
        f"    planted reproduce --all {size} --jobs 2 --out results --gallery --markdown docs",
        "",
        *([_left_out(left_out), ""] if left_out else []),
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
            *_markdown_settings(study),
            f"`{command(study, quick)}`, {duration(study.seconds)} of computing, {study.made}.",
            "",
        ]
    write_atomically(folder / "gallery.md", "\n".join(lines).encode())
    return folder / "gallery.md"


def _markdown_settings(study: Study) -> list[str]:
    if not study.settings:
        return []
    rows = [(row.label, row.paper, row.here, row.remark) for row in study.settings]
    return ["| setting | paper | here | |", "|---|---|---|---|", *map(_markdown_cells, rows), ""]


def _markdown_cells(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*").replace("\n", " ") for cell in cells) + " |"


def _markdown_row(study: Study, claim: Any) -> str:
    note = f" ({claim.note})" if claim.note else ""
    link = f"[explained](errata.md#{_paper(study)})"
    cells = (claim.statement, claim.paper, claim.ours + note, link if claim.verdict == "explained" else claim.verdict)
    return _markdown_cells(cells)


def _small_png(study: Study) -> bytes:
    """A PNG on white with few colours: a fifth of the bytes, no difference to the eye."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture(study, "light", "png", 110))).convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    flat = Image.alpha_composite(ground, image).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    flat.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
