"""Lay out the sources of the site, for Sphinx to build (docs/conf.py):

    python -m docs.making build/source
"""

import sys
from pathlib import Path

from docs.making import layout

layout.write(Path(sys.argv[1]))
