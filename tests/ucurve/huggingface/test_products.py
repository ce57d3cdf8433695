"""Matrix products by oneDNN are those of torch but for rounding, with their gradients, in every layout."""

import itertools
from collections.abc import Iterator

import pytest
import torch
from torch.nn.functional import linear

from ucurve.huggingface import products

SHAPES = [(4, 8, 8), (64, 64, 64), (130, 70, 90), (300, 33, 500), (1, 600, 700)]


@pytest.fixture(scope="module", autouse=True)
def replaced() -> Iterator[None]:
    """Multiply by oneDNN on every processor."""
    if products.use_fast_products():
        yield
        return
    for operator, multiply in products._OPERATORS.items():
        products._replace(operator, multiply)
    yield
    products._library()._destroy()
    products._library.cache_clear()


def layouts(rows: int, columns: int) -> list[torch.Tensor]:
    """Return matrices stored by rows, by columns, as parts of wider ones, with strides of nothing and by twos."""
    made = torch.randn
    return [
        made(rows, columns),
        made(columns, rows).t(),
        made(rows, columns + 3)[:, 1:-2],
        made(columns, rows + 5).t()[:rows],
        made(columns).expand(rows, columns),
        made(rows, 1).expand(rows, columns),
        made(rows, 2 * columns)[:, ::2],
    ]


def exact(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return one.double() @ other.double()


def bound(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the most that rounding changes a product in any order of its sum, with two operations after it."""
    return (one.shape[1] + 2) * torch.finfo(torch.float32).eps * (exact(one.abs(), other.abs()) + 10)


@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_every_layout_are_exact_but_for_rounding(shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    for one, other in itertools.product(layouts(rows, inner), layouts(inner, columns)):
        expected, added = exact(one, other), torch.randn(rows, columns)
        assert torch.mm(one, other).is_contiguous()
        for found, wanted in [
            (torch.mm(one, other), expected),
            (torch.mm(one, other, out=torch.empty(rows, columns)), expected),
            (torch.mm(one, other, out=torch.empty(columns, rows).t()), expected),
            (torch.addmm(added, one, other), expected + added),
            (torch.addmm(added[0], one, other), expected + added[0]),
            (torch.addmm(added[:, :1], one, other), expected + added[:, :1]),
            (torch.addmm(added, one, other, beta=0.5, alpha=0.5), (expected + added) / 2),
            (added.clone().addmm_(one, other), expected + added),
            (added.clone().addmm_(one, other, beta=0), expected),
        ]:
            assert found.dtype == torch.float32
            assert bool(((found - wanted).abs() <= bound(one, other)).all())


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_has_the_gradients_of_float64(bias: bool) -> None:
    inputs, weight, shift = torch.randn(8, 40, 96), torch.randn(130, 96), torch.randn(130)
    parts = [inputs, weight, shift] if bias else [inputs, weight]
    single = [part.clone().requires_grad_() for part in parts]
    double = [part.double().requires_grad_() for part in parts]
    for leaves in (single, double):
        linear(*leaves).square().mean().backward()
    for one, other in zip(single, double, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64])
def test_other_types_are_multiplied_as_before(dtype: torch.dtype) -> None:
    one, other = torch.randint(-3, 4, (80, 80)).to(dtype), torch.randint(-3, 4, (80, 80)).to(dtype)
    assert torch.mm(one, other).dtype == dtype
    torch.testing.assert_close(torch.mm(one, other).double(), exact(one, other), rtol=0.01, atol=0)


def test_what_torch_refuses_stays_refused() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.mm(torch.zeros(80, 81), torch.zeros(80, 81))
    with pytest.raises(RuntimeError, match="must be a matrix"):
        torch.mm(torch.zeros(80, 80, 2), torch.zeros(80, 80))
    with pytest.raises(RuntimeError, match="dtype"):
        torch.mm(torch.zeros(80, 80), torch.zeros(80, 80, dtype=torch.float64))


def test_nothing_and_infinite_numbers() -> None:
    assert torch.mm(torch.zeros(0, 80), torch.zeros(80, 80)).shape == (0, 80)
    assert torch.mm(torch.zeros(80, 0), torch.zeros(0, 80)).count_nonzero() == 0
    one = torch.zeros(80, 80)
    one[0, 0] = torch.inf
    assert torch.mm(one, torch.ones(80, 80))[0].isinf().all()
    assert torch.mm(one, torch.zeros(80, 80))[0].isnan().all()


@pytest.mark.parametrize(
    ("processor", "slow"),
    [
        ({"cpu_name": "AMD EPYC 9755", "avx512_f": True}, True),
        ({"cpu_name": "AMD EPYC 7302", "avx512_f": False}, False),
        ({"cpu_name": "Intel(R) Xeon(R) Platinum 8480+", "avx512_f": True}, False),
        ({"architecture": "aarch64"}, False),
    ],
)
def test_only_amd_with_avx512_multiplies_by_onednn(
    processor: dict[str, object], slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: processor)
    assert products._is_slow_with_mkl() == slow
