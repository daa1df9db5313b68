"""Joins all pages of a built book into one, in order, for printing. Answers go to the
back, so that they cannot be read before their questions.

    python3 -m literate.one_page BOOK FILE.html
"""

import html
import pathlib
import re
import sys
import urllib.parse

ARTICLE = re.compile(r'<article role="main"[^>]*>(.*)</article>', re.S)
NEXT = re.compile(r'<link rel="next"[^>]* href="([^"]+)"')
LINK = re.compile(r'(\s(?:href|src))="([^"]*)"')
TITLE = re.compile(r"<h1>(.*?)<a ", re.S)
ANSWER = re.compile(r'<details class="answer">\s*<summary>Answer</summary>(.*?)'
                    r'<!-- answer ends --></details>', re.S)
ID = re.compile(r'(\sid)="([^"]*)"')


def pages_in_order(book):
    """Follows the `next` links from the first page."""
    page, seen = (book / "book/index.html").resolve(), []
    while page.is_file() and page not in seen:
        seen.append(page)
        found = NEXT.search(page.read_text(encoding="utf-8"))
        if not found:
            break
        page = (page.parent / urllib.parse.unquote(found.group(1))).resolve()
    return seen


def anchor(book, page, fragment=""):
    name = page.relative_to(book).with_suffix("").as_posix().replace("/", "--")
    return f"{name}--{fragment}" if fragment else name


def article(book, page, known):
    """Returns a page's text with unique ids and links within the joined page."""
    text = ARTICLE.search(page.read_text(encoding="utf-8")).group(1)
    text = ID.sub(lambda hit: f'{hit[1]}="{anchor(book, page, hit[2])}"', text)

    def link(hit):
        parts = urllib.parse.urlsplit(html.unescape(hit[2]))
        if parts.scheme or parts.netloc:
            return hit[0]
        target = page if not parts.path else (page.parent / parts.path).resolve()
        if target in known:
            return f'{hit[1]}="#{anchor(book, target, parts.fragment)}"'
        return f'{hit[1]}="{target.as_uri()}"'

    text = LINK.sub(link, text).replace('<details class="answer">', "<answer>")
    text = text.replace("<details ", "<details open ").replace(
        "<answer>", '<details class="answer">')
    return f'<article class="sheet" id="{anchor(book, page)}">{text}</article>'


def answers_at_the_back(articles):
    """Returns the articles with a link in place of each answer, and the answers."""
    answers = []

    def move(page, hit):
        number = len(answers) + 1
        title = TITLE.search(page).group(1)
        answers.append(
            f'<h2 id="answer-{number}">{number}. {title}</h2>{hit[1]}'
            f'<p><a href="#question-{number}">Back to the question</a></p>')
        return (f'<p class="answered" id="question-{number}">'
                f'<a href="#answer-{number}">Answer {number}, at the back</a></p>')

    pages = [ANSWER.sub(lambda hit, page=page: move(page, hit), page)
             for page in articles]
    if answers:
        pages.append(f'<article class="sheet" id="answers"><h1>Answers</h1>'
                     f'{"".join(answers)}</article>')
    return pages


def main(book, out):
    book = pathlib.Path(book).resolve()
    pages = pages_in_order(book)
    head = (book / "book/index.html").read_text(encoding="utf-8").split("<body>")[0]
    math = next((re.search(r"<script[^>]*MathJax.*?</script>", text, re.S)
                 for text in (page.read_text(encoding="utf-8") for page in pages)
                 if "MathJax.js" in text), None)
    config = "".join(found for page in pages[:12] for found in re.findall(
        r'<script type="text/x-mathjax-config">.*?</script>',
        page.read_text(encoding="utf-8"), re.S)[:1])
    head = head.replace('href="../', f'href="{book.as_uri()}/')
    scripts = (config + (math.group(0) if math else "")).replace(
        'src="../', f'src="{book.as_uri()}/')
    body = "".join(answers_at_the_back(
        [article(book, page, set(pages)) for page in pages]))
    pathlib.Path(out).write_text(
        f'{head}<body data-theme="light" class="printed">{scripts}{body}</body></html>',
        encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
