"""Sphinx's settings. Its source folder is the repository's root, so that a lesson's
chapter is in the same folder as its exercise, and all paths in the book are relative to
one folder."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "lockstep"
author = "the lockstep authors"
copyright = "the lockstep authors; MIT licence"
extensions = ["myst_parser", "sphinx.ext.mathjax", "literate"]
root_doc = "book/index"
include_patterns = ["book/**.md", "lessons/*/chapter.md"]
exclude_patterns = ["build", ".git", "book/README.md", "book/literate/README.md",
                    "book/output", "book/figures", "book/drawings"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
language = "en"
smartquotes = False
primary_domain = None  # `function` is ours, not Python's

html_theme = "furo"
html_title = "lockstep"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["book.css", "print.css"]
html_js_files = ["book.js"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # uses fetch, which fails on file:// pages
pygments_style = "literate.colours.Day"
pygments_dark_style = "literate.colours.Night"

if "LOCKSTEP_BOOK_ASSETS" in os.environ:  # MathJax and the fonts: see assets.bash
    html_static_path.append(os.environ["LOCKSTEP_BOOK_ASSETS"])
mathjax_path = "mathjax/MathJax.js?config=TeX-AMS_CHTML"
mathjax2_config = {
    "tex2jax": {"processClass": "tex2jax_process|mathjax_process|math"},
    "messageStyle": "none",
    "showMathMenu": False,
}


def colours(ground, panel, raised, hover, line, text, dim, faint, accent, told,
            link):
    """The viewer's colours (gui/ui/theme.cpp) as furo's variables. Words in `text`,
    `dim`, `faint`, `link` and `told`, the accent for words, have a contrast of at least
    4.5 with their ground."""
    return {
        "font-stack": "Inter, system-ui, sans-serif",
        "font-stack--monospace": "'JetBrains Mono', ui-monospace, monospace",
        "book-raised": raised, "book-hover": hover, "book-line": line,
        "book-text": text, "book-dim": dim, "book-faint": faint, "book-accent": accent,
        "color-foreground-primary": text, "color-foreground-secondary": dim,
        "color-foreground-muted": faint, "color-foreground-border": line,
        "color-background-primary": panel, "color-background-secondary": ground,
        "color-background-hover": hover,
        "color-background-hover--transparent": hover + "00",
        "color-background-border": line, "color-background-item": line,
        "color-brand-primary": told, "color-brand-content": link,
        "color-inline-code-background": raised,
        "color-sidebar-link-text--top-level": dim,
        "color-sidebar-item-background--current": raised,
        "color-toc-item-text--active": told, "color-link-underline": line,
        "color-link-underline--hover": link,
        "color-problematic": "#C0381F",
        "color-highlighted-background": accent + "44",
        "color-highlight-on-target": accent + "22",
        "color-admonition-background": raised,
        "color-card-background": raised, "color-card-marginals-background": hover,
        "color-guilabel-background": raised, "color-guilabel-border": line,
        "color-api-keyword": text, "color-announcement-text": text,
    }


html_theme_options = {
    "light_css_variables": colours(
        ground="#F5F7F9", panel="#FFFFFF", raised="#F5F7F9", hover="#E6EBF1",
        line="#D5DBE2", text="#171C22", dim="#55606C", faint="#606B76",
        accent="#B97400", told="#8F5A00", link="#2458C5"),
    "dark_css_variables": colours(
        ground="#0C1015", panel="#10151B", raised="#171E26", hover="#222C38",
        line="#27313D", text="#E2E8EE", dim="#A3AFBC", faint="#8794A1",
        accent="#F0A81C", told="#F0A81C", link="#82AAFF"),
}
