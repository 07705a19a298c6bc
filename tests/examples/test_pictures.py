"""examples/sobel.py, kmeans.py and mandelbrot.py compute what NumPy does, and write pictures."""

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def noise():
    """An image without any order, 17 high and 23 wide."""
    return np.random.default_rng(3).uniform(0, 255, (17, 23)).astype(np.float32)


def test_sobel_agrees_with_numpy(example, target, noise):
    """Borders included."""
    sobel = example("sobel")

    assert sobel.is_close(sobel.sobel(noise), sobel.numpy_sobel(noise))


@pytest.mark.sampled
@pytest.mark.parametrize("size", [3, 5, 7])
def test_blur_agrees_with_numpy(example, target, noise, size):
    """For every size of the square."""
    sobel = example("sobel")

    assert sobel.is_close(sobel.blur_grey(noise, size), sobel.numpy_blur(noise, size))


def test_a_plain_image_has_no_edges_and_stays_as_it_is(example, target):
    """The weights of a slope add up to 0, those of a blur to 1."""
    sobel = example("sobel")
    plain = np.full((9, 8), 100, np.float32)

    assert not np.asarray(sobel.sobel(plain)).any()
    assert np.allclose(sobel.blur_grey(plain, 7), plain)


def test_sobel_writes_its_pictures(example, tmp_path):
    """Edges in grey and three blurred photographs, of the size of the photograph."""
    sobel = example("sobel")
    photo = sobel.read(sobel.PHOTO)[100:180, 150:250]

    found = [Image.open(path) for path in sobel.draw(photo, tmp_path)]

    assert [picture.mode for picture in found] == ["L", "RGB", "RGB", "RGB"]
    assert {picture.size for picture in found} == {(100, 80)}
    assert abs(np.asarray(found[1], float) - photo).mean() < 10


def test_kmeans_finds_two_colours(example, target):
    """Centres move to the means of their pixels."""
    kmeans = example("kmeans").kmeans
    pixels = tuple(np.array([0.0, 2.0, 100.0, 104.0]) + axis for axis in range(3))
    first = tuple(np.array([0.0, 50.0]) for _ in range(3))

    centres, labels = kmeans(pixels, first, 5)

    assert np.asarray(labels).tolist() == [0, 0, 1, 1]
    assert np.allclose(np.asarray(centres), [[1, 102], [2, 103], [3, 104]])


def test_a_colour_without_pixels_stays(example, target):
    """Its mean is not known, and is not made up."""
    kmeans = example("kmeans").kmeans
    pixels = tuple(np.zeros(5) for _ in range(3))
    first = tuple(np.array([1.0, 9.0]) for _ in range(3))

    centres, _ = kmeans(pixels, first, 3)

    assert np.allclose(np.asarray(centres), [[0, 9]] * 3)


def test_kmeans_agrees_with_numpy(example, target):
    """On random pixels, after some iterations."""
    example_kmeans = example("kmeans")
    pixels = tuple(np.random.default_rng(7).integers(0, 256, (3, 300)).astype(float))
    first = example_kmeans.spread(pixels, 5)

    ours = example_kmeans.kmeans(pixels, first, 4)

    assert example_kmeans.is_close(ours, example_kmeans.numpy_kmeans(pixels, first, 4))


def test_kmeans_writes_its_picture(example, tmp_path):
    """Each pixel has the colour of its centre."""
    centres = tuple(np.array([10.0, 200.0]) for _ in range(3))
    path = example("kmeans").draw(centres, np.array([0, 1, 1, 0, 0, 0]), (2, 3), tmp_path)

    assert np.asarray(Image.open(path))[:, :, 0].tolist() == [[10, 200, 200], [10, 10, 10]]


def test_mandelbrot_agrees_with_numpy(example, target):
    """Pixels that leave at once, late, and never."""
    mandelbrot = example("mandelbrot")

    turns = np.asarray(mandelbrot.mandelbrot(16, 24, 50))

    assert turns.shape == (16, 24)
    assert turns.min() < 3 and turns.max() == 50
    assert np.mean(turns != mandelbrot.numpy_mandelbrot(16, 24, 50)) < 0.01


def test_the_set_itself_is_black(example, tmp_path):
    """All other colours say how fast a pixel left."""
    mandelbrot = example("mandelbrot")
    picture = np.asarray(Image.open(mandelbrot.draw(np.array([[0, 9], [20, 20]]), 20, tmp_path)))

    assert not picture[1].any()
    assert picture[0].any()
