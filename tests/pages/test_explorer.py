"""The explorer in a real browser: drag, run, race, traps, links, tours, and the look on a dark phone."""

import re
import time

import numpy as np
import pytest

from browser import browser, needs_browser, operated
from planted import ConvNetwork, Network, certify
from planted.objectives import PopulationConv, PopulationLandscape
from planted.pages import write_explorer

STATE = (
    "return Explorer.runners.map((run) => [run.name, run.steps, run.done, Array.from(run.x), run.loss.value(run.x)])"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_explorer(tmp_path_factory.mktemp("explore") / "explore.html")


@pytest.fixture(scope="module")
def window():
    with browser() as started:
        yield started


@pytest.fixture
def driver(window, page):
    """The page as it is when it is opened, in one browser for all tests."""
    window.get("about:blank")
    window.get(page.as_uri())
    yield window
    assert window.get_log("browser") == []


def press(driver, name):
    driver.execute_script("document.getElementById(arguments[0]).click()", name)


def setting(driver, **values):
    driver.execute_script("Explorer.choose(arguments[0]); Explorer.readControls(); Explorer.restart()", values)


def run_to_the_end(driver, seconds=600):
    # A bound for runs that never end, on a machine of any speed.
    driver.execute_script("Explorer.place('speed').value = 3; Explorer.running(true)")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not driver.execute_script("return Explorer.state.running"):
            return driver.execute_script(STATE)
        time.sleep(0.1)
    raise AssertionError("the run did not end")


def kinds(driver):
    return [badge.text for badge in driver.find_elements("css selector", "#spectrum .badge")]


def test_page_needs_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    assert all(source.startswith(("data:", "#")) for source in re.findall(r'(?:src|href)="([^"]*)"', text))
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert "<!--" not in text


@needs_browser
def test_a_race_ends_in_a_trap_and_at_the_teacher(driver):
    driver.execute_script(
        "Explorer.choose({loss: 'squared', rival: 'G'}); Explorer.loadTrap('six perpendicular', 0.05)"
    )
    squared, designed = run_to_the_end(driver)
    assert squared[4] == pytest.approx(0.025080, abs=1e-5)
    weights = np.reshape(designed[3], (6, 6))
    assert certify(PopulationLandscape(Network(np.eye(6), np.ones(6))), weights).kind == "global minimum"
    assert kinds(driver) == ["local minimum", "global minimum"]


@needs_browser
def test_everything_has_a_name(driver):
    names = operated(driver)
    assert {"button", "combobox", "slider", "spinbutton"} <= {role for role, _ in names}
    assert all(name for _, name in names), [role for role, name in names if not name]


@needs_browser
def test_step_replay_and_back_to_start(driver):
    start = driver.execute_script(STATE)[0]
    for _ in range(3):
        press(driver, "step")
    after = driver.execute_script(STATE)[0]
    assert after[1] == 3
    assert after[4] < start[4]
    driver.execute_script("const r = Explorer.place('replay'); r.value = 0; r.dispatchEvent(new Event('input'))")
    facts = driver.find_element("css selector", ".facts").text
    assert "steps 0" in facts.replace("\n", " ")
    press(driver, "reset")
    assert driver.execute_script(STATE)[0][1:] == start[1:]


@needs_browser
def test_a_neuron_is_dragged_on_the_circle_and_moved_by_keys(driver):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    setting(driver, shape="orthonormal", neurons=2, inputs=2, students=2)
    before = np.reshape(driver.execute_script(STATE)[0][3], (2, 2))
    dot = driver.find_element("css selector", '.student[data-neuron="0"] .dot')
    ActionChains(driver).click_and_hold(dot).move_by_offset(60, 35).release().perform()
    after = np.reshape(driver.execute_script(STATE)[0][3], (2, 2))
    assert np.linalg.norm(after[0]) == pytest.approx(np.linalg.norm(before[0]))
    assert np.linalg.norm(after[0] - before[0]) > 0.1
    np.testing.assert_array_equal(after[1], before[1])
    driver.find_element("css selector", '.student[data-neuron="1"]').send_keys(Keys.ARROW_LEFT)
    turned = np.reshape(driver.execute_script(STATE)[0][3], (2, 2))
    assert np.arccos(turned[1] @ after[1] / (after[1] @ after[1])) == pytest.approx(0.08)


@needs_browser
def test_settling_at_the_spurious_filter(driver):
    driver.execute_script("Explorer.loadTrap('conv', 0.2)")
    press(driver, "settle")
    point = np.array(driver.execute_script(STATE)[0][3])
    loss = PopulationConv(ConvNetwork([1.0, 0.0], [1.0, -1.0, 0.5]))
    assert certify(loss, {"filter": point[:2], "output": point[2:]}).kind == "local minimum"
    assert kinds(driver) == ["local minimum"]


@needs_browser
@pytest.mark.parametrize("loss", ["squared", "f'", "G", "F", "L", "conv"])
@pytest.mark.parametrize("inputs", [2, 3, 6])
def test_every_loss_finds_the_teacher_from_near(driver, loss, inputs):
    setting(driver, shape="orthonormal", neurons=inputs, inputs=inputs, students=inputs, loss=loss, begin="near")
    run_to_the_end(driver)
    press(driver, "settle")
    assert kinds(driver) == ["global minimum"]
    facts = driver.find_element("css selector", ".facts").text.replace("\n", " ")
    angle = float(facts.split("teacher ")[1].rstrip("°").replace("−", "-"))
    # Those of G, F and L are the teacher's directions, those of f' too.
    assert angle < 0.01


@needs_browser
def test_the_score_loss_with_both_signs_is_not_called_global(driver):
    setting(driver, shape="orthonormal", neurons=3, inputs=3, students=3, loss="L", shift=1.4)
    assert "both signs" in driver.find_element("id", "message").text
    run_to_the_end(driver)
    assert "global minimum" not in kinds(driver)


@needs_browser
def test_a_loss_that_cannot_see_the_neurons_says_so(driver):
    setting(driver, activation="tanh", loss="G")
    assert "cannot see the weights" in driver.find_element("id", "message").text
    assert driver.execute_script(STATE)[0][0] == "squared"


@needs_browser
def test_a_link_carries_the_state(driver, page):
    setting(driver, shape="random", neurons=3, inputs=4, students=2, loss="squared", rival="F", shift=0.5)
    link, before = driver.execute_script("return Explorer.link()"), driver.execute_script(STATE)
    driver.get("about:blank")
    driver.get(page.as_uri() + link)
    after = driver.execute_script(STATE)
    assert [run[0] for run in after] == ["squared", "F"]
    np.testing.assert_allclose(after[0][3], before[0][3], atol=1e-6)
    assert after[1][4] == pytest.approx(before[1][4], rel=1e-4)
    driver.get("about:blank")
    driver.get(page.as_uri() + "#bm9uc2Vuc2U")
    assert len(driver.execute_script(STATE)) == 1


@needs_browser
def test_every_tour_runs_to_its_end(driver):
    tours = driver.find_elements("css selector", "#tours button")
    assert len(tours) == 5
    for tour in tours:
        tour.click()
        texts = []
        while driver.find_element("id", "tour").is_displayed():
            texts.append(driver.find_element("css selector", "#tour p").text)
            buttons = driver.find_elements("css selector", "#tour button")
            assert [buttons[0].text, buttons[3].text] == ["back", "leave"]
            assert driver.switch_to.active_element == buttons[1]
            buttons[1].click()
        assert len(set(texts)) == 5
        # Read at 200 words a minute, a tour takes about a minute.
        assert 100 < sum(len(text.split()) for text in texts) < 260


@needs_browser
def test_page_on_a_dark_phone(page):
    with browser(390, 800, dark=True) as driver:
        driver.get(page.as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 29)"
        labels = "return [...document.querySelectorAll('select, input')].every((i) => i.labels.length || i.ariaLabel)"
        assert driver.execute_script(labels)
        press(driver, "theme")
        assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 249)"
        assert driver.get_log("browser") == []
