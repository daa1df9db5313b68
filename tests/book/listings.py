"""Reads the listings of a built page."""

import html.parser


class ListingReader(html.parser.HTMLParser):
    """Runs of listings without a word between them: (lines, whether their section
    begins with them, its heading)."""

    def __init__(self, text):
        super().__init__()
        self.runs, self.lines, self.heading = [], 0, ""
        self.first = self.at_start = False
        self.inside = {"article": 0, "fold": 0, "figure": 0, "pre": 0, "h": 0}
        self.details = []
        self.feed(text)

    def end_run(self):
        if self.lines:
            self.runs.append((self.lines, self.first, self.heading.strip("\n #")))
        self.lines = 0

    def handle_starttag(self, tag, attributes):
        kind = (dict(attributes).get("class") or "").split()
        if tag == "details":
            self.details.append("fold" in kind)
            self.inside["fold"] = sum(self.details)
        elif tag in ("h1", "h2", "h3"):
            self.end_run()
            self.heading, self.inside["h"], self.at_start = "", 1, True
        elif tag == "figure":
            self.inside["figure"] = int("listing" in kind)
        elif tag == "pre" and self.inside["figure"] and not self.inside["fold"]:
            self.first = self.at_start if not self.lines else self.first
            self.inside["pre"] = 1
        elif tag in ("p", "li", "td") and not self.inside["figure"]:
            self.end_run()
            self.at_start = False

    def handle_endtag(self, tag):
        if tag == "details":
            self.details.pop()
            self.inside["fold"] = sum(self.details)
        elif tag in ("h1", "h2", "h3"):
            self.inside["h"] = 0
        elif tag in ("figure", "pre"):
            self.inside[tag] = 0
        elif tag == "article":
            self.end_run()

    def handle_data(self, text):
        if self.inside["h"]:
            self.heading += text
        if self.inside["pre"]:
            self.lines += text.count("\n")
