"""Batches of scoring on a device that only counts: trees of sentences, rows, and models that are asked for logits."""

from functools import cache

import pytest

from tests.accelerator.fake_device import counts

WAITS = 1  # a batch, for its scores
WAITS_BEFORE = 8  # the first batch: on trial are the output layer, trees and rows
WAYS = {"float32": ("trees", "rows"), "bfloat16": ("trees", "rows", "logits")}
IN_FLOAT32 = [pytest.param(f"{way} float32", marks=pytest.mark.long) for way in ("trees", "rows")]


@pytest.fixture(scope="module", params=[*IN_FLOAT32, "trees bfloat16", "rows bfloat16", "logits bfloat16"])
def counted(request):
    way, dtype = request.param.split()
    return count_ways(dtype)[way] | {"way": way, "dtype": dtype}


@cache
def count_ways(dtype):
    return dict(zip(WAYS[dtype], counts("count_scoring.py", dtype, *WAYS[dtype]), strict=True))


def test_the_processor_waits_once_a_batch(counted):
    first, *others = counted["batches"]
    assert len(others) >= 2
    for batch in others:
        assert len(batch["waits"]) <= WAITS, batch["waits"]
    assert len(first["waits"]) <= WAITS_BEFORE + WAITS, first["waits"]


def test_products_have_the_type_of_the_model(counted):
    assert set(counted["batches"][1]["flops"]) == {counted["dtype"]}


def test_rows_have_no_mask_and_trees_have_one(counted):
    way = counted["way"]
    attention = counted["batches"][1]["attention"]
    assert attention
    kernel = "flash" if way != "trees" and counted["dtype"] == "bfloat16" else "efficient"
    assert all(one == [kernel, way == "trees", way != "trees"] for one in attention)


def test_memory_does_not_grow(counted):
    live = [batch["live"] for batch in counted["batches"]]
    assert live[1] == live[2] > 0
