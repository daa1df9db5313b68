"""Code styles in the viewer's colours (gui/ui/theme.cpp), light and dark."""

from pygments.style import Style
from pygments.token import (Comment, Error, Generic, Keyword, Literal, Name, Number,
                            Operator, Punctuation, String, Token)


def styles(text, comment, keyword, kind, number, string, call, prompt):
    return {
        Token: text, Punctuation: text, Operator: text, Error: text,
        Comment: f"italic {comment}", Comment.Preproc: f"noitalic {comment}",
        Comment.PreprocFile: f"noitalic {string}",
        Keyword: keyword, Keyword.Type: kind, Keyword.Constant: number,
        Name: text, Name.Class: kind, Name.Namespace: kind, Name.Builtin: kind,
        Name.Function: call, Name.Tag: call, Name.Attribute: call,
        Number: number, String: string, Literal: number,
        Generic.Prompt: f"bold {prompt}", Generic.Output: text,
    }


class Day(Style):
    background_color = "#F5F7F9"
    styles = styles("#171C22", "#626D78", "#8A3FBF", "#0C7C70", "#B5500F", "#3F7A14",
                    "#2458C5", "#B97400")


class Night(Style):
    background_color = "#131920"
    styles = styles("#EAEFF4", "#8390A0", "#C792EA", "#66D0C0", "#F2905A", "#A5D075",
                    "#82AAFF", "#F0A81C")
