"""examples/render.py gives NumPy's picture, the nearest on top; bad meshes are explained."""

import numpy as np
import pytest
from PIL import Image

import flatweave as fw
from flatweave.base.config import config

PLAIN = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]], np.float32)  # pixels as they are
LIGHT = np.array([0, 0, -1], np.float32)
SIDE = 24


@pytest.fixture
def render(example):
    """The module."""
    return example("render")


@pytest.fixture
def mesh_of(example):
    """Makes a mesh."""
    return example("mesh").mesh_of


def plain(mesh):
    """The same mesh as NumPy arrays."""
    return type(mesh)(*(type(part)(*map(np.asarray, part)) for part in mesh))


def soup(number, seed):
    """Vertices and faces of triangles at any point and in any direction, some of them lines."""
    draw = np.random.default_rng(seed)
    vertices = draw.uniform(-1, 1, (3 * number, 3)).round(1)
    return vertices, draw.integers(0, max(3 * number, 1), (number, 3))


def flat(render, mesh_of, corners, depths=None):
    """A picture of triangles given by the pixels of their corners, seen along z."""
    corners = np.asarray(corners, float).reshape(-1, 3, 2)
    depths = np.ones(len(corners)) if depths is None else np.asarray(depths)
    vertices = np.dstack([corners, np.broadcast_to(depths[:, None], corners.shape[:2])])
    mesh = mesh_of(vertices.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))
    matrix = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], np.float32)
    return mesh, render.View(matrix, LIGHT, render.WHITE)


@pytest.mark.parametrize("number", [0, 1, 2, 127, 300])
def test_the_picture_is_that_of_numpy(render, mesh_of, target, number):
    """Bit for bit, for triangles on both sides of the eye, intersecting ones and mere lines."""
    vertices, faces = soup(number, number)
    mesh = mesh_of(np.vstack([vertices, np.eye(3)]), faces)
    for turn in (0.0, 1.0):
        view = render.view_of(render.ball_of(mesh), turn, SIDE, SIDE + 7)
        near = view._replace(matrix=view.matrix - np.float32([[0] * 4, [0] * 4, [0, 0, 0, 2.8]]))
        for seen in (view, near):
            found = render.render(mesh, seen, SIDE, SIDE + 7)
            assert np.array_equal(found, render.numpy_render(plain(mesh), seen, SIDE, SIDE + 7))


def test_the_teapot_on_any_number_of_threads(render, threads):
    """The same bits."""
    mesh = render.read(render.TEAPOT)
    view = render.view_of(render.ball_of(mesh), 0.3, 90, 120)
    found = np.asarray(render.render(mesh, view, 90, 120))

    assert np.array_equal(found, render.numpy_render(plain(mesh), view, 90, 120))
    assert 1000 < (found != render.BACKGROUND).sum() < 3000


def test_the_nearer_one_is_on_top_in_any_order(render, mesh_of, target):
    """Depth decides, not the order of the faces; of equals the brighter one wins."""
    mesh = mesh_of(*soup(40, 5))
    view = render.view_of(render.ball_of(mesh), 0.5, SIDE, SIDE)
    first = np.asarray(render.render(mesh, view, SIDE, SIDE))
    order = np.random.default_rng(1).permutation(40)
    shuffled = mesh._replace(
        **{name: type(part)(*(np.asarray(x)[order] for x in part))
           for name, part in mesh._asdict().items() if name != "vertices"}
    )  # fmt: skip

    assert np.array_equal(render.render(shuffled, view, SIDE, SIDE), first)

    square = [(2, 2), (2, 20), (20, 2)]
    near, far = [(4, 4), (4, 9), (9, 4)], [(4, 4), (4, 30), (30, 4)]
    mesh, view = flat(render, mesh_of, [np.array(square) * 2.0, near, far], [2.0, 1.0, 3.0])
    colours = np.asarray(render.render(mesh, view, SIDE, SIDE))
    assert len(np.unique(colours)) == 2  # all face the light; farther ones are hidden


def test_a_triangle_seen_from_behind_is_not_drawn(render, mesh_of, target):
    """Counter-clockwise is the front."""
    corners = [(2, 3), (2, 15), (18, 3)]
    seen, view = flat(render, mesh_of, corners)
    hidden, _ = flat(render, mesh_of, corners[::-1])
    pictures = [np.asarray(render.render(m, view, SIDE, SIDE)) for m in (seen, hidden)]

    assert [bool((p != render.BACKGROUND).any()) for p in pictures] == [True, False]


def test_neighbours_leave_no_gap(render, mesh_of, target):
    """A square cut into triangles at random points covers all its pixels."""
    draw = np.random.default_rng(8)
    n = 9
    x, y = np.meshgrid(np.linspace(-3, 60, n), np.linspace(-3, 60, n))
    inner = np.zeros((n, n))
    inner[1:-1, 1:-1] = 2.5
    x, y = (axis + draw.uniform(-1, 1, axis.shape) * inner for axis in (x, y))
    vertices = np.stack([x.ravel(), y.ravel(), np.ones(n * n)], axis=1)
    k = np.arange(n * n).reshape(n, n)
    a, b, c, d = (part.ravel() for part in (k[:-1, :-1], k[1:, :-1], k[:-1, 1:], k[1:, 1:]))
    faces = np.vstack([np.stack([a, b, c], axis=1), np.stack([c, b, d], axis=1)])
    matrix = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], np.float32)

    found = render.render(
        mesh_of(vertices, faces), render.View(matrix, LIGHT, render.WHITE), 57, 57
    )

    assert (np.asarray(found) != render.BACKGROUND).all()


def test_brightness_follows_lambert(render, mesh_of, target):
    """The cosine to the light, and what all get; encoded for the screen."""
    mesh, view = flat(render, mesh_of, [(0, 0), (0, 9), (9, 0)])
    for cosine in (-1.0, 0.0, 0.5, 1.0):
        light = np.array([np.sqrt(1 - cosine**2), 0, -cosine], np.float32)
        colour = int(np.asarray(render.render(mesh, view._replace(light=light), 4, 4))[0, 0])
        bright = np.sqrt(render.AMBIENT + render.DIFFUSE * max(cosine, 0))
        parts = [colour >> shift & 255 for shift in (0, 8, 16)]
        assert np.allclose(parts, render.WHITE * bright, atol=1)


BAD = {
    "a corner that is no vertex": (np.eye(3), [[0, 1, 2], [0, 3, 1]],
                                   r"face 1 has the corners \[0, 3, 1\].* from 0 to 2"),
    "a negative corner": (np.eye(3), [[0, -1, 2]], r"face 0 has the corners \[0, -1, 2\]"),
    "not a number": ([[0, 0, 0], [0, np.nan, 1], [1, 0, 0]], [[0, 1, 2]],
                     r"vertex 1 is not finite: \[0.0, nan, 1.0\]"),
    "infinite": ([[0, 0, 0], [1, 1, 1], [np.inf, 0, 0]], [[0, 1, 2]], "vertex 2 is not finite"),
    "too great for f32": ([[0, 0, 1e39]], [[0, 0, 0]], "vertex 0 is not finite"),
    "no vertices": (np.zeros((0, 3)), np.zeros((0, 3), int), "there are no vertices"),
    "vertices in a plane": (np.zeros((4, 2)), [[0, 1, 2]], "n x 3 floats are needed, got 4 x 2"),
    "faces that are floats": (np.eye(3), [[0.0, 1.0, 2.0]], "n x 3 integers are needed"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_mesh_is_explained(render, name, tmp_path, capsys):
    """The message names the file, the position and the values; the program ends with 1."""
    vertices, faces, message = BAD[name]
    path = tmp_path / "bad.npz"
    np.savez(path, vertices=np.asarray(vertices, float), faces=np.asarray(faces))

    with pytest.raises(ValueError, match=f"bad.npz: .*{message}"):
        render.read(path)

    assert render.main([str(path), str(tmp_path)]) == 1
    assert "bad.npz" in capsys.readouterr().err


def test_a_file_that_is_no_mesh_is_explained(render, tmp_path):
    """Another kind of file, one cut short, an array that is missing, no file at all."""
    whole = render.TEAPOT.read_bytes()
    for content, message in [(b"solid teapot", "no archive"), (whole[:3000], "no archive"),
                             (whole[:200] + bytes(2000) + whole[2200:], "damaged")]:  # fmt: skip
        (tmp_path / "odd.npz").write_bytes(content)
        with pytest.raises(ValueError, match=f"odd.npz: .*{message}"):
            render.read(tmp_path / "odd.npz")
    np.savez(tmp_path / "half.npz", vertices=np.eye(3))
    with pytest.raises(ValueError, match="no array 'faces'"):
        render.read(tmp_path / "half.npz")
    assert render.main([str(tmp_path / "none.npz")]) == 1


def test_a_face_that_was_not_checked_is_an_index_error(render, mesh_of):
    """The language itself refuses it, with the number and the user's line."""
    mesh = mesh_of(np.eye(3), np.array([[0, 1, 2]]))
    wrong = mesh._replace(faces=mesh.faces._replace(c=np.array([7], np.int32)))
    view = render.view_of(render.ball_of(mesh), 0.0, 8, 8)
    for name in ("interp", "cpu"):
        with config.scoped(target=name), pytest.raises(fw.IndexOutOfBounds, match="7") as caught:
            render.render(wrong, view, 8, 8)
        assert "render.py" in str(caught.value)


def test_the_program_writes_a_picture_and_an_animation(render, tmp_path, capsys):
    """`python examples/render.py MESH FOLDER --size 60 --frames 3` ends with 0."""
    assert render.main([str(render.TEAPOT), str(tmp_path), "--size", "60", "--frames", "3"]) == 0

    said = capsys.readouterr().out
    assert "992 triangles, 60 x 60 pixels" in said
    assert "frames per second" in said
    assert Image.open(tmp_path / "teapot.png").size == (60, 60)
    animation = Image.open(tmp_path / "teapot.gif")
    assert (animation.size, animation.n_frames) == ((20, 20), 3)


def test_the_demo_compares_with_numpy(render):
    """What the demo calls."""
    (_, extent, ours, numpys, agree) = next(render.cases(50))

    assert "50 x 50" in extent
    assert agree(ours(), numpys())
