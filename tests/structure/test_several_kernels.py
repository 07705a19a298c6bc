"""Programs that need more than one pass over the data, each with the reason."""

import flatweave as fw
from tests.structure.counted import F32, GRID, INDICES, ROWS, SIZES, Structure, structure


def test_a_total_is_needed_before_it_is_used():
    """Division by a sum needs the whole sum: two passes, and nothing between them is stored."""
    assert structure(lambda x: x / fw.sum(x), F32) == Structure(2, 1, 0)


def test_softmax_is_three_reductions_deep():
    """Maximum, then sum, then quotients: the exponentials are dear, so the sum stores them."""

    def softmax(x):
        powers = fw.exp(x - fw.reduce(fw.maximum, 0, x))
        return powers / fw.sum(powers)

    assert structure(softmax, F32) == Structure(3, 1, 1)


def test_scans_in_opposite_directions():
    """One pass goes one way."""
    both = structure(
        lambda x: (fw.scan(fw.add, 0, x), fw.scan(fw.add, 0, x, reverse=True)), F32
    )

    assert both == Structure(2, 2, 0)


def test_what_follows_a_filter_is_dear():
    """The elements that are kept are stored, so that the others need not be computed."""

    def dear(x):
        return fw.sum(fw.exp(fw.sin(fw.exp(fw.filter(lambda v: v > 3, x)))))

    assert structure(dear, F32) == Structure(2, 0, 1)


def test_a_dear_producer_of_a_gather_is_stored():
    """An element may be read many times; computing it each time costs more than a store."""

    def dear(x, i):
        return fw.gather(fw.map(lambda v: fw.exp(fw.sin(fw.exp(v))), x), i)

    assert structure(dear, F32, INDICES) == Structure(2, 1, 1)


def test_a_dear_producer_read_at_other_positions_is_stored():
    """The sum takes it on the way, and the reversed copy reads what was stored."""

    def twice(x):
        y = fw.map(lambda v: fw.exp(fw.sin(v)), x)
        return fw.sum(y), fw.reverse(y)

    assert structure(twice, F32) == Structure(2, 1, 1)


def test_a_producer_read_in_an_inner_loop_is_stored():
    """Each column is read once for every row: the powers are computed once."""

    def products(g):
        powers = fw.map(lambda r: fw.exp(r), g)
        return fw.map(lambda r: fw.map(lambda c: fw.sum(
            fw.generate(7, lambda k: r[k] * c[k])), powers), powers)  # fmt: skip

    assert structure(products, GRID) == Structure(2, 1, 1)


def test_long_products_of_few_rows_are_made_by_blocks():
    """A branch on sizes, with the blocks' results as the array next to the result."""
    found = structure(lambda g: fw.map(lambda r: fw.map(lambda c: fw.sum(r * c), g), g), GRID)

    assert found.intermediates == 1


def test_an_update_whose_old_value_is_read_again_is_a_copy():
    """Both arrays are results, so both are stored."""

    def both(x, i):
        y = x * 2
        return y, fw.scatter(y, i, x)

    assert structure(both, F32, INDICES) == Structure(2, 2, 0)


def test_a_loop_on_arrays_writes_one_array_a_turn():
    """The state goes from iteration to iteration through memory."""
    found = structure(lambda x: fw.fori_loop(0, 3, lambda k, s: s * 2 + 1, x), F32)

    assert found == Structure(1, 1, 0)


def test_sizes_are_added_up_before_elements_find_their_rows():
    """One pass over the sizes, which stores where rows end, one over all elements."""
    found = structure(
        lambda n: fw.expand_reduce(lambda n: n, lambda n, i: fw.sqrt(n * i), fw.add, 0, n), SIZES
    )

    assert found == Structure(2, 1, 1)


def test_a_softmax_of_rows_is_three_reductions_deep():
    """Maxima, then sums, then quotients: a number for each row is stored, and no exponential."""

    def softmax(row):
        powers = fw.exp(row - fw.reduce(fw.maximum, -float("inf"), row))
        return powers / fw.sum(powers)

    assert structure(lambda r: fw.map(softmax, r), ROWS) == Structure(3, 1, 2)


def test_what_is_left_of_a_row_goes_over_the_rows():
    """A mean is a sum, which needs all rows' elements, and a quotient for each row."""
    found = structure(lambda r: fw.map(lambda row: fw.sum(row) / row.shape[0], r), ROWS)

    assert found == Structure(2, 1, 1)


def test_rows_of_two_arrays_are_compared_first():
    """Unequal rows stop the program before a pass over the elements reads past one of them."""
    found = structure(lambda r, s: fw.map(lambda a, b: fw.sum(a * b), r, s), ROWS, ROWS)

    assert found == Structure(2, 1, 0)


def test_a_dear_number_of_a_row_is_stored_for_its_elements():
    """An exponential is computed once for each row; the elements read it."""
    found = structure(
        lambda r, x: fw.map(lambda row, v: fw.sum(row * fw.exp(v)), r, x), ROWS, F32[:3]
    )

    assert found == Structure(2, 1, 1)


def test_a_sort_looks_at_the_keys_before_it_moves_them():
    """One pass finds which bits vary, the other visits them; computed keys are stored
    before, as each is compared with the next."""
    assert structure(fw.sort, F32) == Structure(2, 1, 0)
    assert structure(lambda x: fw.sort(x * 2), F32) == Structure(3, 1, 1)


def test_a_dear_key_is_stored_before_the_pass_that_looks_at_it():
    """It moves with the element; the sorted keys exist, though nothing reads them."""
    found = structure(lambda x: fw.sort(x, key=lambda v: fw.exp(fw.sin(v))), F32)

    assert found == Structure(3, 1, 2)


def test_places_are_sorted_beside_their_keys():
    """Keys and indices are computed in one pass, and both are moved."""
    assert structure(fw.argsort, F32) == Structure(3, 1, 3)


def test_gradients_of_losses():
    """Of an elementwise loss one kernel; of softmax cross-entropy of rows at most twice its own."""

    def loss(w, x):
        return fw.sum((fw.exp(w * x) - x) ** 2)

    def cross_entropy(rows, labels):
        def of(row, label):
            top = fw.max(row)
            return fw.log(fw.sum(fw.exp(row - top))) + top - row[label]

        return fw.mean(fw.map(of, rows, labels))

    def kernels(f, *args):
        return structure(lambda *args: f(*args), *args).kernels  # not what it wraps

    assert kernels(fw.grad(loss), F32, F32) == 1
    rows, labels = fw.ragged(F32, lengths=[2, 3, 7]), INDICES[:3]
    of_value, of_gradient = kernels(cross_entropy, rows, labels), kernels(
        fw.grad(cross_entropy), rows, labels
    )
    assert of_value < of_gradient <= 2 * of_value


def test_cotangents_of_rows_join_the_pass_that_sums_them():
    """A sparse product and what goes back to its values read the vector once for each element."""

    def product(values, columns, x, c):
        y, back = fw.vjp(
            lambda v: fw.map(lambda row, at: fw.sum(row * fw.gather(x, at)), v, columns), values
        )
        return y, back(c)[0].values

    columns = fw.ragged([0, 1, 0, 2], lengths=[2, 0, 2])
    values = fw.Ragged(F32[:4], columns.offsets)

    text = fw.jit(product).stages(values, columns, F32, F32[:3]).text["flat"]

    assert text.count("locate") == 1
