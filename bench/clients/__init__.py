"""Test suites of libraries that take any array, run on our arrays and on array-api-strict's."""
