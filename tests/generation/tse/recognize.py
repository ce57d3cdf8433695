"""Tells whether a grammar can make a sentence: follows the choices whose words stand there."""

from ucurve.generation.tse.suite import Suite


def recognizes(suite: Suite, condition: str, good: str, bad: str) -> bool:
    """Say whether some choices give this condition and these targets."""
    words = condition[:1].lower() + condition[1:]
    return _follow(suite, 0, {}, words, good, bad)


def _follow(suite, at, state, left, good, bad):
    if at == len(suite.steps):
        if left:
            return False
        target = suite.target(state)
        return (target.good, target.bad) == (good, bad)
    step, choose = list(suite.steps.items())[at]
    for option in choose(state):
        if option.later not in left:
            continue
        text = option.text[:1].lower() + option.text[1:] if at == 0 else option.text
        rest = _without(left, text)
        if rest is not None and _follow(suite, at + 1, {**state, step: option.choice}, rest, good, bad):
            return True
    return False


def _without(left, text):
    if not text:
        return left
    if left == text:
        return ""
    return left[len(text) + 1 :] if left.startswith(f"{text} ") else None
