"""The proofs in `proofs/`: Coq accepts them, rest on nothing, can fail, are about the core's numbers."""

import re
from decimal import Decimal
from fractions import Fraction
from itertools import islice, product
from math import prod

import pytest

from contracts.coq import PROOFS, Proofs, files_in_order, statements
from tarry.core.accountant import losses_of_blocks
from tarry.core.exact import exp_bounds, ratio_below
from tarry.core.laws.cosine import MASS, block_law, cosine_masses
from tarry.core.laws.zero_inflated import support_end, zero_inflated_pair
from tarry.core.verify import Size, moves, paired
from tarry.core.verify.laws import _excess
from tarry.core.verify.rules import real_labels
from tarry.core.verify.streams import all_streams

CLOSED = "Closed under the global context"
FILES = files_in_order()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The proofs, compiled, and what Coq printed."""
    proofs = Proofs(tmp_path_factory.mktemp("proofs"))
    return proofs, proofs.compile_all()


@pytest.fixture(scope="session")
def proofs(compiled):
    """The proofs, compiled."""
    return compiled[0]


# --- they are proofs ------------------------------------------------------------------------------------


def test_coq_accepts_them_and_they_rest_on_nothing(compiled):
    """No theorem needs an axiom or a step that was left out."""
    asked = (PROOFS / "Assumptions.v").read_text().count("Print Assumptions")

    assert asked == 5
    assert compiled[1]["Assumptions.v"].splitlines() == [CLOSED] * asked


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_left_to_belief(name):
    """The words with which Coq takes something for granted are in no file."""
    taken = r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|bypass_check|Unset Guard Checking)\b"

    assert re.findall(taken, (PROOFS / name).read_text(encoding="utf-8")) == []


def test_every_file_is_built():
    """No proof lies in the folder without being checked."""
    assert sorted(FILES) == sorted(path.name for path in PROOFS.glob("*.v"))


def test_every_theorem_is_asked_what_it_rests_on():
    """`Assumptions.v` names all of them."""
    listed = re.findall(r"(\w+\.\w+)[,)]", (PROOFS / "Assumptions.v").read_text(encoding="utf-8"))
    theorems = [
        f"{name.removesuffix('.v')}.{each}"
        for name in FILES
        for each in statements(name, "Theorem", "Corollary")
    ]

    assert len(theorems) >= 15
    assert set(theorems) <= set(listed)


@pytest.mark.parametrize("name", FILES)
def test_every_statement_is_said_in_words(name):
    """A comment ends on the line before."""
    lines = (PROOFS / name).read_text(encoding="utf-8").splitlines()
    bare = [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if re.match(r"(Theorem|Corollary|Lemma|Example) ", line) and not before.endswith("*)")
    ]

    assert bare == []


# --- they can fail --------------------------------------------------------------------------------------

#: A file, what is changed in it, and what it says then, which is false.
FALSE = {
    "a support that is a little too short": (
        "ZeroInflated.v",
        "L * q <= p * (L - G)",
        "L * q <= p * (L - G) + 1",
    ),
    "a batched delay below the gap": ("ZeroInflated.v", "if (G <=? k)", "if (G - 1 <=? k)"),
    "an unbatched mass that is too small": ("ZeroInflated.v", "(k <? L) then q", "(k <? L) then q - 1"),
    "a shift beyond the gap": (
        "ZeroInflated.v",
        "Theorem dominates : forall k s, 0 <= s <= G ->",
        "Theorem dominates : forall k s, 0 <= s <= G + 1 ->",
    ),
    "blocks that are not symmetric": ("Block.v", "u i = u (n - 1 - i)", "u i = u (n - i)"),
    "a shift beyond a block": (
        "Block.v",
        "Theorem shift_is_a_coin : forall x y s, 0 <= s <= G ->",
        "Theorem shift_is_a_coin : forall x y s, 0 <= s <= G + 1 ->",
    ),
    "labels that look back alone": (
        "Streams.v",
        "(Z.abs (tick x - tick y) <=? window)%Z",
        "(0 <=? tick x - tick y)%Z && (tick x - tick y <=? window)%Z",
    ),
    "a changed act that is batched in the story": (
        "Streams.v",
        "batched window story y = false /\\",
        "batched window story y = true /\\",
    ),
    "a lone act that may move": (
        "Streams.v",
        "(tick y <> tick x -> batched window truth x = true)",
        "(tick y <> tick x -> True)",
    ),
    "an act that comes earlier in the story": (
        "Streams.v",
        "(0 <= tick y - tick x <= G)%Z /\\",
        "(-1 <= tick y - tick x <= G)%Z /\\",
    ),
    "one label more than was counted": (
        "Season.v",
        "at_most fewer (next i)",
        "at_most N (next i)",
    ),
    "a law that differs where the stories agree": ("Season.v", "p i == q i)", "p i <= 2 * q i)"),
    "a pair that is not known to cover any shift": (
        "Acts.v",
        "covers : forall s, (0 <= s <= G)%Z ->",
        "covers : forall s, (s < 0)%Z ->",
    ),
    "an outcome that is counted twice": (
        "StreamSeason.v",
        "Theorem stream_costs : forall outcomes, NoDup outcomes ->",
        "Theorem stream_costs : forall outcomes, NoDup (tl outcomes) ->",
    ),
    "a season that costs one act less": (
        "Whole.v",
        "c * chance_in Story course ends + qpos (1 - c * power (/ R) N)",
        "c * chance_in Story course ends + qpos (1 - c * R * power (/ R) N)",
    ),
}


@pytest.mark.parametrize("what", FALSE)
def test_what_is_false_is_not_accepted(what, proofs):
    """With one hypothesis or definition made wrong, a proof of that file fails."""
    name, right, wrong = FALSE[what]
    text = (PROOFS / name).read_text(encoding="utf-8")
    assert text.count(right) == 1
    (proofs.folder / f"Wrong{name}").write_text(text.replace(right, wrong), encoding="utf-8")
    ran = proofs.compile(f"Wrong{name}")

    assert ran.returncode == 1
    assert "Error" in ran.stderr
    assert not re.search("Syntax error|was not found|Cannot find a physical path", ran.stderr)


# --- they speak of the core's own numbers ---------------------------------------------------------------


def listed(numbers):
    """A list of integers as Coq writes it."""
    return f"[{'; '.join(f'({number})' for number in numbers)}]"


@pytest.mark.parametrize(
    ("share", "start", "weight"), [("1/2", 3, "1"), ("1", 4, "1/4"), ("1/4", 300, "1")]
)
def test_zero_inflated_masses_are_the_same_integers(share, start, weight, proofs):
    """Every mass of both laws, over the common denominator; of long laws, around their ends."""
    ratio = ratio_below(Fraction(share))
    p, q = ratio.as_integer_ratio()
    end = support_end(ratio, start, Fraction(weight))
    pair, whole = zero_inflated_pair(ratio, start, end), p * (end - start)
    ticks = [k for k in range(-2, end + 3) if min(abs(k), abs(k - start), abs(k - end)) < 50]
    values = proofs.compute(
        f"ZeroInflated.whole {p} {start} {end}",
        f"map (ZeroInflated.b {p} {start} {end}) {listed(ticks)}",
        f"map (ZeroInflated.u {p} {q} {start} {end}) {listed(ticks)}",
    )

    assert values == [
        [whole],
        [whole * pair.batched.mass(k) for k in ticks],
        [whole * pair.unbatched.mass(k) for k in ticks],
    ]


def blocks_of(blocks, order):
    """The rows of a cosine law, from block 0, and how Coq is given them."""
    unbatched, batched = cosine_masses(blocks, Decimal(order))
    rows = ((0, *batched), unbatched)
    return rows, [f"(Block.listed {listed(row)})" for row in rows]


@pytest.mark.parametrize(("blocks", "order", "length"), [(3, "1", 2), (7, "6", 4), (22, "2.5", 3)])
def test_block_masses_and_excesses_are_the_same_integers(blocks, order, length, proofs):
    """Every mass, and H for every shift, at several factors c = y / x."""
    (b, u), (coq_b, coq_u) = blocks_of(blocks, order)
    batched, unbatched, total = block_law(b, length), block_law(u, length), MASS * length
    ticks = range(-3, blocks * length + 3)
    asked = list(product([(1, 1), (4, 5), (2, 3), (1, 0)], range(length + 1)))
    values = proofs.compute(
        f"map (Block.tick_mass {length} {coq_b}) {listed(ticks)}",
        f"map (Block.tick_mass {length} {coq_u}) {listed(ticks)}",
        *(f"Block.H {blocks} {length} {coq_b} {coq_u} {x} {y} {shift}" for (x, y), shift in asked),
    )

    assert values[0] == [total * batched.mass(k) for k in ticks]
    assert values[1] == [total * unbatched.mass(k) for k in ticks]
    assert values[2:] == [
        [x * total * _excess(batched, unbatched, shift, Fraction(y, x))] for (x, y), shift in asked
    ]


def coq_stream(stream):
    """A small stream as Coq writes it."""
    return f"[{'; '.join(f'Streams.Act {act.actor} {act.target} {act.at}' for act in stream)}]"


@pytest.mark.parametrize("window", [0, 1, 2])
def test_labels_are_the_same(window, proofs):
    """Over small streams, as the labeller of the core gives them."""
    streams = list(islice(all_streams(Size(events=4, span=3)), 0, None, 17))
    as_numbers = f"map (fun s => map (fun l : bool => if l then 1 else 0) (Streams.labels {window} s))"
    (values,) = proofs.compute(f"concat ({as_numbers} [{'; '.join(map(coq_stream, streams))}])")
    expected = [label for stream in streams for label in real_labels("held", window)(stream)]

    assert len(streams) > 100
    assert 0 < sum(expected) < len(expected)
    assert values == expected


def test_the_number_of_labels_that_differ_is_the_cost_of_the_checker(proofs):
    """Of neighbours that `verify` searches: what it allows for is R to the power of `lost`."""
    size, window = Size(events=3, span=2, moved=2), 1
    neighbours = [
        (stream, other, cost)
        for stream in islice(all_streams(size), 0, None, 5)
        for other, cost in islice(moves(paired(window), 2, size)(stream), 0, None, 3)
    ]
    places = [f"combine {coq_stream(stream)} {coq_stream(other)}" for stream, other, _ in neighbours]
    (values,) = proofs.compute(f"map (fun s => Z.of_nat (Streams.lost {window} s)) [{'; '.join(places)}]")

    assert len(neighbours) > 100
    assert len(set(values)) > 2
    assert values == [cost for _, _, cost in neighbours]


@pytest.mark.parametrize(("acts", "epsilon"), [(1, "1/4"), (3, "1/2"), (4, "1")])
def test_the_cost_of_a_season_is_the_sum_over_all_outcomes_and_within_the_accountant_s_bound(
    acts, epsilon, proofs
):
    """H of some acts, by Coq's definition: a plain enumeration agrees; the accountant says hardly more."""
    b, u, total = (0, 3, 3, 0), (1, 2, 2, 1), 6
    pair = "(Acts.over 6 (Block.listed [0; 3; 3; 0])) (Acts.over 6 (Block.listed [1; 2; 2; 1]))"
    low, high = (Fraction(bound, 1 << 16) for bound in exp_bounds(Fraction(epsilon), 16))
    values = proofs.compute(
        *(
            f"let h := Qred (Season.H_copies 4 {pair} {acts} 1 ({c.numerator} # {c.denominator}))"
            " in [Qnum h; Zpos (Qden h)]"
            for c in (low, high)
        )
    )
    at_low, at_high = (Fraction(*value) for value in values)

    assert at_low == sum(
        max(Fraction(0), prod_of(b, path, total) - low * prod_of(u, path, total))
        for path in product(range(4), repeat=acts)
    )
    assert (
        at_high <= losses_of_blocks(b, u).times(acts).delta(Fraction(epsilon)) <= at_low + Fraction(1, 1000)
    )


def prod_of(masses, path, total):
    """The chance of a row of outcomes."""
    return prod((Fraction(masses[i], total) for i in path), start=Fraction(1))
