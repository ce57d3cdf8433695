from ucurve.eval.models.same_weights import describe_equal, find_equal, find_shared_parts


def test_many_equal_branches_give_one_readable_line():
    weights = {f"step{step}": "other" if step < 3 else str(min(step, 68)) for step in range(154)}
    groups = find_equal(weights)
    assert [len(group) for group in groups] == [3, 86]
    assert describe_equal(groups) == (
        "3 (step0, step1, step2); 86 (step68, step69, step70, step71, step72, ..., step153)"
    )


def test_different_weights_are_no_group():
    assert find_equal({0: "a", 1: "b"}) == []
    assert describe_equal([]) == ""


def test_a_part_of_another_step_is_found():
    parts = {0: {"1": "a", "2": "b"}, 8: {"1": "c", "2": "d"}, 16: {"1": "e", "2": "f"}, 32: {"1": "e", "2": "g"}}
    assert find_shared_parts(parts) == [[16, 32]]
    assert find_shared_parts(parts | {64: {"1": "g", "2": "h"}}) == [[16, 32], [32, 64]]  # under another name
    assert find_shared_parts({0: parts[16], 8: parts[32]}) == [[0, 8]]


def test_equal_weights_and_frozen_parts_are_no_parts_of_another_step():
    assert find_shared_parts({0: {"1": "a", "2": "b"}, 8: {"1": "a", "2": "b"}}) == []
    assert find_shared_parts({step: {"1": "frozen", "2": str(step)} for step in range(3)}) == []
    assert find_shared_parts({step: {"1": str(step)} for step in range(3)}) == []
