"""`python -m flatweave`: what is installed, what runs here, and what is kept on disk."""

import sys

from flatweave.tools.about import main

sys.exit(main())
