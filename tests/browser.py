"""Headless Chromium for the tests that need a real browser."""

import contextlib
import shutil
import tempfile

import pytest

needs_browser = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")), reason="no Chromium: see `make browser`"
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


@contextlib.contextmanager
def browser(width=1280, height=900, dark=False):
    """A driver whose window is `width` CSS pixels wide, with the colour scheme that a system may prefer."""
    from selenium import webdriver

    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        driver = webdriver.Chrome(options, service)
        # Bounds for what never ends, on a machine of any speed.
        driver.set_page_load_timeout(600)
        driver.set_script_timeout(600)
        try:
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
            yield driver
        finally:
            driver.quit()


_OPERATED = {"button", "link", "searchbox", "textbox", "combobox", "slider", "spinbutton", "application", "image"}


def operated(driver):
    """Role and name, as a screen reader has them, of everything that can be operated or is a picture.

    The browser makes the tree for screen readers some time after it was asked for the first time.
    """
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, 600).until(_operated)


def _operated(driver):
    nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    shown = [node for node in nodes if not node["ignored"] and node["role"]["value"] in _OPERATED]
    return [(node["role"]["value"], node["name"]["value"].strip()) for node in shown]
