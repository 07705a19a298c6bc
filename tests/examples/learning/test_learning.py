"""examples/learning: gradients agree with formulas and differences, fits come near, pictures."""

import numpy as np
import pytest
from PIL import Image

import flatweave as fw
from tests.shape.tree import ROOT

FOLDER = ROOT / "examples" / "learning"


def test_marginals_are_those_of_going_forward_and_backward(example):
    """For sentences of 1 to 12 words."""
    sentences = example("learning.sentences")
    rng = np.random.default_rng(1)
    first, second = (fw.ragged([rng.normal(size=n) for n in (1, 12, 2, 5)]) for _ in range(2))
    follows = rng.normal(size=(2, 2))

    with fw.target("interp"):
        found = sentences.marginals(first, second, follows)

    for p, a, b in zip(found, first, second, strict=True):
        np.testing.assert_allclose(p, sentences.by_hand(np.asarray(a), np.asarray(b), follows))


def test_sensitivities_of_options_are_differences_of_prices(example):
    """Of lives of different lengths."""
    trees = example("learning.trees")
    shares, spread = np.array([91.0, 107.0]), np.array([0.3, 0.2])
    steps = np.array([3, 6])

    with fw.target("interp"):
        _, delta, vega = trees.sensitivities(shares, spread, steps)
        price = [trees.prices(shares + d, spread + v, steps)
                 for d, v in ((1e-4, 0), (-1e-4, 0), (0, 1e-6), (0, -1e-6))]  # fmt: skip

    one, two, three, four = map(np.asarray, price)
    np.testing.assert_allclose(delta, (one - two) / 2e-4, rtol=1e-6)
    np.testing.assert_allclose(vega, (three - four) / 2e-6, rtol=1e-6)


def test_attention_is_that_of_its_weights(example):
    """For each sequence, and its gradient is a difference of losses."""
    attention = example("learning.attention")
    data, scales = attention.sequences(3), np.array([1.2, 0.7])

    with fw.target("interp"):
        found = fw.map(lambda *row: attention.attend(scales, *row), *data[:3])
        slope = fw.grad(attention.loss)(scales, *data)
        losses = [attention.loss(scales + step, *data) for step in ((1e-6, 0), (-1e-6, 0))]

    for out, *row in zip(found, *data[:3], strict=True):
        a, b, v = map(np.asarray, row)
        np.testing.assert_allclose(out, attention.by_hand(scales, a, b, v) @ v)
    np.testing.assert_allclose(slope[0], (losses[0] - losses[1]) / 2e-6, rtol=1e-6)


def test_the_gradient_of_thrown_particles_is_a_difference(example):
    """By the velocity of one particle, through all steps."""
    particles = example("learning.particles")
    x, y, lists, goal = particles.particles(8)
    thrown, moved = (np.zeros(8), np.ones(8)), np.eye(8)[3]

    with fw.target("interp"):
        slope = fw.grad(particles.miss)(thrown, x, y, lists, goal)
        ahead, behind = (particles.miss((by * moved, thrown[1]), x, y, lists, goal)
                         for by in (1e-5, -1e-5))  # fmt: skip

    np.testing.assert_allclose(slope[0][3], (ahead - behind) / 2e-5, rtol=1e-6)


@pytest.mark.slow
def test_attention_is_trained(example):
    """The loss falls to a tenth: the feature that is noise does not count."""
    attention = example("learning.attention")

    scales, losses = attention.train(attention.sequences())

    assert losses[-1] < losses[0] / 10 and abs(scales[1]) < 0.3


@pytest.mark.slow
def test_particles_arrive_on_the_ring(example):
    """Each at its position."""
    particles = example("learning.particles")

    _, misses = particles.aim(*particles.particles())

    assert misses[-1] < 1e-6


@pytest.mark.slow
def test_a_detector_is_calibrated(example):
    """By counts alone, the gain and the offset are found to one part in a hundred."""
    histogram = example("learning.histogram")
    readings, wanted, expected = histogram.measured(20_000)

    np.testing.assert_allclose(histogram.calibrate(readings, wanted), expected, atol=0.05)


@pytest.mark.slow
def test_discs_come_near_a_picture(example):
    """The difference falls to a third."""
    renderer = example("learning.renderer")
    photo = np.asarray(Image.open(renderer.PHOTO).convert("RGB").resize((24, 16)), float) / 255

    _, values = renderer.fit(photo, 20, 60)

    assert values[-1] < values[0] / 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention", "histogram", "particles", "sentences", "trees"])
def test_pictures(example, name, tmp_path):
    """They are written, and not plain."""
    picture = Image.open(example(f"learning.{name}").draw(tmp_path))

    assert len(picture.convert("RGB").getcolors(1 << 24)) > 2


def test_the_readme_lists_every_file():
    """A row of its table for each."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")

    listed = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]

    assert sorted(listed) == sorted(path.name for path in FOLDER.glob("*.py"))
