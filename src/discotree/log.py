"""The logger of discotree. Importing logging takes time, so only modules that log import this one."""

import logging

logger = logging.getLogger("discotree")
