"""The book's own directives: it quotes the actual sources, never copies of them.

    ```{region} path name           the lines between `// [name]` and `// [/name]`
    ```{function} path name …       whole functions or types, found by name
    ```{file} path                  a whole file
    ```{output} path                a program's output, captured by book/capture.sh
    ```{trace-figure} path          an image of a trace, rendered by book/figures.sh
    ```{drawing} path               a drawing in SVG, by day and by night
    ```{rosetta} path               a table PyTorch ⇄ lockstep, checked
    ```{equality} path              which ways of training are equal, as a test found
    :::{answer}                     an answer, hidden until clicked
    ```{coverage}                   the lines of the engine that no page shows
    ```{lessons}                    links to the existing chapters
    ```{lesson_table} path          what each lesson corrects, its thread, slot and gate
    {src}`path`                     the name of an existing file

Paths are relative to the repository's root. Anything missing, ambiguous, unclosed,
empty or unused is a warning, and warnings fail the build. README.md lists the options.
"""


def setup(app):
    # Imported here so that cxx and regions can be used without Sphinx.
    from . import answer, coverage, drawing, equality, evidence, lessons, pages
    from . import rosetta, show, shown

    for part in (shown, show, answer, evidence, drawing, equality, lessons, rosetta,
                 coverage, pages):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
