"""The Latin square: who sees which item, and which member of it first."""

from collections import Counter, defaultdict
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ucurve.validation.questionnaire.lists import Design, make_lists
from ucurve.validation.questionnaire.questions import Question


def questions(kind, counts):
    """So many questions of each paradigm, in the order of the paradigms."""
    of = [(paradigm, number) for paradigm, count in enumerate(counts) for number in range(count)]
    return [
        Question(item=f"{kind}-{place}", kind=kind, good=f"{kind} {p} {n}", bad="bad", paradigm=str(p))
        for place, (p, n) in enumerate(of)
    ]


@st.composite
def studies(draw):
    shares = draw(st.integers(1, 3))
    catch = draw(st.integers(0, 2))
    design = Design(
        lists=shares * draw(st.integers(1, 4)),
        shares=shares,
        pairs_per_page=catch + draw(st.integers(1, 4)),
        catch_per_page=catch,
        seed=draw(st.integers(0, 5)),
    )
    counts = [shares, *draw(st.lists(st.integers(1, 6), max_size=3))]
    items, controls = questions("item", counts), questions("control", [draw(st.integers(0, 3))])
    asked = {
        "item": items,
        "control": controls,
        "training": questions("training", [draw(st.integers(0, 5))]),
        "catch": questions("catch", [design.catch_trials(len(items), len(controls))]),
    }
    return asked, design


def by_list(trials):
    lists = defaultdict(list)
    for trial in trials:
        lists[trial.list].append(trial)
    return lists


@given(studies())
@settings(max_examples=60, deadline=None)
def test_each_item_stands_in_equally_many_lists_and_equally_often_with_the_good_sentence_first(study):
    asked, design = study
    trials = [trial for trial in make_lists(asked, design) if trial.question.kind == "item"]
    shown, first = (
        Counter(t.question.item for t in trials),
        Counter(t.question.item for t in trials if t.good_first),
    )
    rounds = design.lists // design.shares
    assert shown == dict.fromkeys((q.item for q in asked["item"]), rounds)
    for item in shown:
        assert abs(2 * first[item] - rounds) == rounds % 2


@given(studies())
@settings(max_examples=60, deadline=None)
def test_every_list_and_every_paradigm_in_it_is_balanced(study):
    asked, design = study
    lists = by_list(make_lists(asked, design))
    assert list(lists) == list(range(1, design.lists + 1))
    for trials in lists.values():
        controls = {t.question.item for t in trials if t.question.kind == "control"}
        assert controls == {question.item for question in asked["control"]}
        for kind in ("item", "control", "catch", "training"):
            first = [t.good_first for t in trials if t.question.kind == kind]
            assert abs(2 * sum(first) - len(first)) <= 1
        for paradigm in {question.paradigm for question in asked["item"]}:
            of = [t for t in trials if t.question.kind == "item" and t.question.paradigm == paradigm]
            assert abs(2 * sum(t.good_first for t in of) - len(of)) <= 1
            count = sum(question.paradigm == paradigm for question in asked["item"])
            assert len(of) in (count // design.shares, -(-count // design.shares))


@given(studies())
@settings(max_examples=60, deadline=None)
def test_pages_are_full_with_their_catch_trials_and_training_comes_first(study):
    asked, design = study
    for trials in by_list(make_lists(asked, design)).values():
        assert [trial.position for trial in trials] == list(range(1, len(trials) + 1))
        assert len({trial.question.item for trial in trials}) == len(trials)
        pages = defaultdict(list)
        for trial in trials:
            pages[trial.page].append(trial.question.kind)
        assert list(pages) == list(range(1, len(pages) + 1))
        training = -(-len(asked["training"]) // design.pairs_per_page)
        assert all(set(pages[page]) == {"training"} for page in range(1, training + 1))
        rest = [kinds for page, kinds in pages.items() if page > training]
        assert all(kinds.count("catch") == design.catch_per_page and "training" not in kinds for kinds in rest)
        assert all(len(kinds) == design.pairs_per_page for kinds in rest[:-1])


def test_lists_have_orders_of_their_own_that_the_seed_draws():
    design = Design(lists=2, shares=1, pairs_per_page=5, catch_per_page=0, seed=0)
    asked = {"item": questions("item", [20]), "control": [], "catch": [], "training": []}

    def orders(seed):
        lists = by_list(make_lists(asked, replace(design, seed=seed)))
        return [[trial.question.item for trial in trials] for trials in lists.values()]

    one, two = orders(0)
    assert one != two
    assert sorted(one) == sorted(two)
    assert orders(0) == [one, two] != orders(1)
