"""Keep transformers' progress bars, log lines and warnings off the screen while it works for us."""

from __future__ import annotations

import contextlib
import io
import threading
import warnings
from collections.abc import Iterator

# transformers keeps its verbosity in process-wide variables, so two threads must not change them at once.
_LOCK = threading.RLock()


@contextlib.contextmanager
def quiet(*, stderr: bool = False) -> Iterator[None]:
    """Silence transformers inside the block and put its settings back afterwards.

    Arguments:
        stderr: also drop what is written to the standard error stream. Needed where transformers draws a
            progress bar without asking its own switch (reading a GGUF file); hides other threads' lines too.
    """
    from transformers.utils import logging

    with _LOCK, contextlib.ExitStack() as stack:
        verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        stack.callback(logging.set_verbosity, verbosity)
        if bars:
            stack.callback(logging.enable_progress_bar)
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if stderr:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        yield
