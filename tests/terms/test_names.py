"""Fresh names of a program."""

import pytest

from flatweave.passes.rewrite import LocalNames
from flatweave.terms.build import Names


@pytest.mark.filterwarnings("error")  # Python 3.14 has no copies of iterators
def test_a_fork_goes_on_from_where_it_was_made():
    """Names taken later from one are not missing in the other."""
    names = Names()
    assert [names.fresh("x"), names.fresh("y_1")] == ["x_1", "y_2"]
    fork = names.fork()

    assert [names.fresh("z"), fork.fresh("x"), fork.fresh("x")] == ["z_3", "x_3", "x_4"]
    assert LocalNames().fresh("x_7") == "x_m1"
