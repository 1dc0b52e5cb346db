"""The gallery: one page that needs nothing else, looked at in a real browser; and its Markdown twin."""

import re

import pytest
from test_reproduce_runner import artificial, only

from browser import browser, needs_browser
from planted.reproduce import find
from planted.reproduce._claims import Claim
from planted.reproduce._gallery import write_html, write_markdown
from planted.reproduce._study import Study


def some_studies():
    first = find("soltanolkotabi2017/fig1")[0](quick=True)
    second = only(artificial())
    more = [
        Claim("a <b> claim", "1 & 2", "3", "fails", "by construction"),
        Claim("another", "x", "y", "explained", "see the errata"),
    ]
    claims = second.claims + more
    return [first, Study("fu2018/artificial", "a < b", second.config, second.table, claims, second.draw, 61.0, 5)]


@pytest.fixture(scope="module")
def studies():
    return some_studies()


@pytest.fixture(scope="module")
def page(studies, tmp_path_factory):
    return write_html(studies, tmp_path_factory.mktemp("gallery") / "gallery.html", quick=True)


def test_page_needs_nothing_else(page):
    text = page.read_text()
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert sources
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert "@import" not in text
    assert "url(" not in re.sub(r"base64,[^\"]*", "", text)


def visible(driver, selector):
    return [element for element in driver.find_elements("css selector", selector) if element.is_displayed()]


def claims_shown(driver):
    return [row.find_elements("css selector", "td")[1].text for row in visible(driver, "tbody tr")]


@needs_browser
def test_page_in_a_browser(page):
    from selenium.webdriver.support.ui import Select

    with browser() as driver:
        driver.get(page.as_uri())
        assert driver.get_log("browser") == []
        loaded = "return [...document.images].map((i) => i.complete && i.naturalWidth > 0)"
        assert driver.execute_script(loaded) == [True] * 4
        assert [image.get_attribute("class") for image in visible(driver, "img")] == ["light"] * 2

        before = claims_shown(driver)
        assert len(before) == 7
        head = driver.find_elements("css selector", "th")[1]
        head.click()
        assert claims_shown(driver) == sorted(before, key=str.lower) != before
        head.click()
        assert claims_shown(driver) == sorted(before, key=str.lower, reverse=True)

        verdict = Select(driver.find_element("id", "verdict"))
        verdict.select_by_visible_text("fails")
        assert claims_shown(driver) == ["a <b> claim"]
        verdict.select_by_visible_text("every verdict")
        driver.find_element("id", "search").send_keys("softplus")
        assert len(claims_shown(driver)) == 3
        assert driver.find_element("id", "shown").text == "3 of 7"
        driver.find_element("id", "search").clear()
        assert len(claims_shown(driver)) == 7

        driver.find_element("css selector", 'tbody a[href="#errata-fu2018"]').click()
        assert driver.find_element("id", "errata-fu2018").get_attribute("open")

        driver.execute_script("scrollTo(0, 0)")
        driver.find_element("id", "theme").click()
        assert [image.get_attribute("class") for image in visible(driver, "img")] == ["dark"] * 2
        assert driver.get_log("browser") == []


@needs_browser
def test_page_on_a_dark_phone(page):
    with browser(390, 800, dark=True) as driver:
        driver.get(page.as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 29)"
        assert [image.get_attribute("class") for image in visible(driver, "img")] == ["dark"] * 2
        assert driver.get_log("browser") == []


def test_markdown_has_every_figure_and_claim(studies, tmp_path):
    text = write_markdown(studies, tmp_path, quick=False).read_text()
    for study in studies:
        picture = tmp_path / "gallery" / f"{study.name.replace('/', '-')}.png"
        assert f"(gallery/{picture.name})" in text
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 40_000
        assert all(claim.statement in text for claim in study.claims)
    assert "[explained](errata.md#fu2018)" in text
    assert "`planted reproduce fu2018/artificial --full --seed 5`" in text
    assert "Not run yet" not in text
    assert all(study.made in text for study in studies)


def test_entries_that_were_not_run_are_named(studies, tmp_path):
    page = write_html(studies[1:], tmp_path / "page.html", True, ["ge2017/fig1"]).read_text()
    text = write_markdown(studies[1:], tmp_path, True, ["ge2017/fig1"]).read_text()
    assert all("Not run yet, and so not here: ge2017/fig1." in each for each in (page, text))
