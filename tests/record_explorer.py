"""Record the animation of the README from the explorer: python tests/record_explorer.py docs/images/explore.gif"""

import io
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from browser import browser
from planted.pages import write_explorer

FRAMES, LAST, COLOURS = 28, 14, 32
WIDTH, HEIGHT = 860, 510


def record(out: Path) -> None:
    """A race of the squared loss and G from one start: one is trapped, the other ends at the teacher."""
    pictures = []
    with tempfile.TemporaryDirectory() as folder, browser(WIDTH, 900) as driver:
        driver.get(write_explorer(Path(folder) / "explore.html").as_uri())
        parts = "header, #controls, #bar, #work > .card, .grid, .axes, .facts span:nth-child(2)"
        hidden = f"{parts} {{ display: none !important }} main {{ padding-top: 1rem }}"
        driver.execute_script(f"document.head.append(make('style', {{}}, `{hidden}`))")
        driver.execute_script("Explorer.choose({loss: 'squared', rival: 'G', speed: 0.5})")
        driver.execute_script("Explorer.loadTrap('six perpendicular', 0.05); Explorer.running(true)")
        last = 0
        while last < 200 and driver.execute_script("return Explorer.state.running"):
            time.sleep(0.05)
            last = int(driver.execute_script("return Explorer.place('replay').max"))
        driver.execute_script("Explorer.running(false)")
        for frame in range(FRAMES):
            place = round((frame / (FRAMES - 1)) ** 2 * min(last, 200))
            driver.execute_script(
                "const r = Explorer.place('replay'); r.value = arguments[0]; r.dispatchEvent(new Event('input'))", place
            )
            time.sleep(0.3)
            pictures.append(_picture(driver))
        driver.execute_script("Explorer.settleAll()")
        time.sleep(0.3)
        pictures += [_picture(driver)] * LAST
    first, *others = pictures
    first.save(out, save_all=True, append_images=others, duration=120, loop=0, optimize=True)


def _picture(driver) -> Image.Image:
    image = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB").crop((0, 0, WIDTH, HEIGHT))
    return image.quantize(COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
