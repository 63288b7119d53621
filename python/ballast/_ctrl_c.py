"""Ctrl-C while PyTorch computes is kept until nothing is half done.

Python raises KeyboardInterrupt between any two of its instructions. Within PyTorch's own context
managers this leaves things as they should not be: interrupted in no_grad(), a process computes no
gradients any more.
"""

import signal
import sys
import threading
from types import TracebackType
from typing import Any, Optional, Type


class KeptCtrlC:
    """While it is entered, Ctrl-C is kept until let_through() or the end; pressed a second time it
    gets through at once, for a model that hangs. Only the main thread is told of signals: in others
    it does nothing, nor where a program ignores Ctrl-C or leaves it to the system."""

    def __init__(self) -> None:
        self._before: Any = None  # the handler that was there; None: not entered
        self._handler: Any = None  # the program's own
        self._is_pressed = False

    def __enter__(self) -> "KeptCtrlC":
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(handler):
            outer = _kept()  # whose progress callback, say, runs a training of its own
            self._handler = handler if outer is None else outer._handler
            self._before = handler
            signal.signal(signal.SIGINT, self._keep)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None
            self.let_through()

    def let_through(self) -> None:
        if self._is_pressed:
            self._is_pressed = False
            self._handler(signal.SIGINT, sys._getframe())

    def _keep(self, number: int, frame: Any) -> None:
        if self._is_pressed:
            self.let_through()
        self._is_pressed = True


def _kept() -> Optional[KeptCtrlC]:
    owner = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
    return owner if isinstance(owner, KeptCtrlC) else None


def let_through() -> None:
    """Where nothing is half done: does what the program does at Ctrl-C, if it was pressed, which
    mostly raises KeyboardInterrupt."""
    kept = _kept()
    if kept is not None:
        kept.let_through()
