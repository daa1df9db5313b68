"""A headless Chromium, controlled through a pipe.

    browser.py BOOK OUT [PAGE …]   # pictures of pages: light and dark, wide and narrow
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile

WIDTHS = (1280, 400)
THEMES = ("light", "dark")
SILENCE = 300  # seconds after which a test gives up


# What is wrong with a page's boxes, pictures and formulas.
PAGE_JS = """(() => {
  const shown = (x) => x.checkVisibility() && x.getBoundingClientRect().width > 0;
  const wide = (x) => x.scrollWidth > x.clientWidth + 1
    && ["auto", "scroll"].includes(getComputedStyle(x).overflowX);
  const boxes = [...document.querySelectorAll("article *")].filter(wide);
  return {
    width: document.documentElement.scrollWidth,
    broken: [...document.images].filter((x) => !x.naturalWidth).map((x) => x.src),
    formulas: [...document.querySelectorAll(".math")]
      .filter((x) => !x.querySelector(".mjx-chtml")).length,
    unreachable: boxes.filter((x) => x.tabIndex < 0).map((x) => x.className),
    sideways: boxes.filter((x) => shown(x) && !x.matches(".math-wrapper, .scrolls"))
      .map((x) => x.className || x.tagName),
    levels: [...document.querySelectorAll("[role=heading]:not([aria-level])")].length,
  };
})()"""

# The contrast of each text with its ground, by the formula of WCAG 2.
CONTRAST_JS = """(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = (c) => {
    const [r, g, b] = c.slice(0, 3).map((x) => x / 255)
      .map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (x) => {
    for (; x; x = x.parentElement) {
      const c = rgb(getComputedStyle(x).backgroundColor);
      if (c.length < 4 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  const low = {};
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const x = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !x.checkVisibility()
        || x.closest("svg, script, style, .visually-hidden, .copy, .headerlink")) {
      continue;
    }
    const style = getComputedStyle(x), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const a = luminance(rgb(style.color)), b = luminance(ground(x));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < (large ? 3 : 4.5)) {
      low[`${x.tagName} ${x.className}`] =
        `${ratio.toFixed(2)} ${texts.currentNode.data.trim().slice(0, 20)}`;
    }
  }
  return low;
})()"""


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """`with Browser() as browser: browser.open(url, 1280, "dark")`"""

    def __enter__(self):
        # Its child processes may still write there after it has ended.
        self.profile = tempfile.TemporaryDirectory(prefix="book-browser-",
                                                   ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.out, to_write = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", chromium(),
             "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.number, self.session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        self.loads = 0
        self.complaints = []  # of the current page: errors of scripts, missing files
        for part in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{part}.enable")
        return self

    def __exit__(self, *_):
        self.session = None
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            self.process.terminate()
        self.process.wait()
        os.close(self.to)
        os.close(self.out)
        self.profile.cleanup()

    def messages(self):
        while True:
            while b"\0" in self.rest:
                message, self.rest = self.rest.split(b"\0", 1)
                message = json.loads(message)
                self.note(message.get("method"), message.get("params", {}))
                yield message
            if not select.select([self.out], [], [], SILENCE)[0]:
                raise RuntimeError(f"the browser said nothing for {SILENCE} s")
            fresh = os.read(self.out, 1 << 20)
            if not fresh:
                raise RuntimeError("the browser has gone")
            self.rest += fresh

    def note(self, method, about):
        if method == "Page.loadEventFired":
            self.loads += 1
        elif method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(
                f"{details.get('exception', {}).get('description', details['text'])}")
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.complaints.append(
                f"{about['entry']['text']} {about['entry'].get('url', '')}")

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        for answer in self.messages():
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def resize(self, width, height=1000):
        """Sets the window's size, and waits until the page has that layout."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.value("""new Promise((done) => {
            const look = () => innerWidth === %d ? done() : requestAnimationFrame(look);
            requestAnimationFrame(() => requestAnimationFrame(look));
        })""" % width)

    def open(self, url, width, theme, height=1000):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": theme}])
        self.complaints, before = [], self.loads
        self.call("Page.navigate", url=url)
        self.wait_for_load(before)
        self.value("""new Promise((done) => {
            if (!window.MathJax?.Hub) return done();
            MathJax.Hub.Queue(() => done());
        })""")

    def wait_for_load(self, before):
        """Waits until more pages than `before` have been loaded."""
        messages = self.messages()
        while self.loads == before:
            next(messages)

    def press(self, key, leaves=False):
        """Presses a key; `leaves`: and waits for the page that it leads to."""
        code = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39}[key]
        words = {"text": "\r"} if key == "Enter" else {}
        before = self.loads
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key,
                  windowsVirtualKeyCode=code, **words)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key,
                  windowsVirtualKeyCode=code)
        if leaves:
            self.wait_for_load(before)

    def value(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def picture(self, whole=True, most=6000):
        clip = {}
        if whole:
            width, height = self.value("[innerWidth, document.body.scrollHeight]")
            clip = {"clip": {"x": 0, "y": 0, "width": width, "scale": 1,
                             "height": min(height, most)},
                    "captureBeyondViewport": True}
        return base64.b64decode(self.call("Page.captureScreenshot", **clip)["data"])


def pages(book):
    """The book's pages, except those that only Sphinx needs."""
    return sorted(page for folder in ("book", "lessons")
                  for page in (book / folder).rglob("*.html"))


def main(book, out, *names):
    book, out = pathlib.Path(book).resolve(), pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        for page in [book / name for name in names] or pages(book):
            for width in WIDTHS:
                for theme in THEMES:
                    browser.open(page.as_uri(), width, theme)
                    name = page.relative_to(book).as_posix()
                    name = name.replace("/", "-").removesuffix(".html")
                    file = out / f"{name}-{width}-{theme}.png"
                    file.write_bytes(browser.picture())
                    print(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
