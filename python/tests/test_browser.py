"""What people look at, in a real browser: reports of the command and the book, on a desk and on a
phone, in light and in dark."""

import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import threading

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = os.environ.get("MINORANT_COMMAND")
BOOK = ROOT / "target" / "book"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
SCREENS = {"desk": (1280, 900), "phone": (390, 844)}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

needs_command = pytest.mark.skipif(COMMAND is None, reason="MINORANT_COMMAND names no command")


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None:
        pytest.skip("there is no Chromium on this machine")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(params=[(size, scheme) for size in SCREENS for scheme in ("light", "dark")])
def page(browser, request):
    """A page that must not complain, and must not be wider than the screen."""
    size, scheme = request.param
    width, height = SCREENS[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    complaints = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"not loaded: {request.url}"))
    page.scheme = scheme
    yield page
    assert not complaints
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    context.close()


def run(*arguments, cwd):
    done = subprocess.run([COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """One report of each kind."""
    folder = tmp_path_factory.mktemp("reports")
    run("demo", "--dir", folder / "demo", cwd=folder)
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, np.pi, 60)
    moons = np.column_stack([np.cos(angles), np.sin(angles)])
    moons[30:] = [1.0, 0.5] - moons[30:]
    rows = moons + 0.08 * rng.normal(size=moons.shape)
    labels = np.zeros(60, dtype=int)
    labels[[0, 30]] = [1, -1]
    lines = [f"{y} 1:{x[0]:.6f} 2:{x[1]:.6f}" for x, y in zip(rows, labels, strict=True)]
    (folder / "moons.svm").write_text("\n".join(lines) + "\n")
    kernel = ["--kernel", "rbf", "--sigma", "0.35", "--balance", "29:31"]
    out = ["--out", folder / "moons.safetensors", "--report", folder / "moons.html"]
    run("train", "s3vm", folder / "moons.svm", *kernel, *out, cwd=folder)
    data = folder / "demo" / "train.svm"
    asked = ["--lambdas", "1:0.01:3", "--report", folder / "path.html"]
    run("path", "svm", data, *asked, cwd=folder)
    return {
        "demo": folder / "demo" / "report.html",
        "moons": folder / "moons.html",
        "path": folder / "path.html",
    }


@needs_command
@pytest.mark.parametrize("name", ["demo", "moons", "path"])
def test_reports(page, reports, name):
    page.goto(reports[name].as_uri())
    assert page.locator("h1").count() == 1
    assert page.title()
    charts = page.locator("svg.chart")
    assert charts.count() >= 1
    for chart in charts.all():
        box = chart.bounding_box()
        assert box["width"] > 200 and box["height"] > 100
        # Something is drawn in it, and those who cannot see it are told what.
        assert chart.locator("path, polyline, circle").count() >= 1
        named = chart.get_attribute("aria-labelledby").split()
        assert all(page.locator(f"[id='{part}']").count() == 1 for part in named)
    assert page.locator("table").count() >= 1
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in ground.strip("rgb()").split(",")) > 3 * 128
    assert light == (page.scheme == "light")


@pytest.fixture(scope="module")
def site():
    if not (BOOK / "index.html").exists():
        pytest.skip("the book is not built: cargo xtask docs")
    handler = functools.partial(QuietHandler, directory=BOOK)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    "name",
    ["index.html", "start/command.html", "start/python.html", "certificates.html", "reproduction.html"],
)
def test_book(page, site, name):
    page.goto(f"{site}/{name}")
    assert page.locator("main h1").count() == 1
    assert page.locator("main img").count() == page.evaluate(
        "[...document.querySelectorAll('main img')].filter(i => i.naturalWidth > 0).length"
    )
    # Every page is reachable from every other.
    assert page.locator("nav a, mdbook-sidebar-scrollbox a").count() > 10


def test_book_can_be_searched(page, site):
    page.goto(f"{site}/index.html")
    page.locator("#mdbook-search-toggle, #search-toggle").first.click()
    bar = page.locator("#mdbook-searchbar:enabled, #searchbar:enabled").first
    bar.press_sequentially("certificate", delay=20)
    page.locator("#mdbook-searchresults a, #searchresults a").first.wait_for()
