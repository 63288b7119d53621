"""In what order the work of a run is done, and what it is that Python waits for.

On a CUDA device work is queued, and Python goes on before it is done. There are two queues: that of
PyTorch for the gradients, and one for the server. The server takes an update whose gradients were
done long ago while the device still computes another worker's, so that it rarely stands still. It
does so on a thread of the library's own, which also waits for the few numbers that decide how the
run goes on; Python queues another worker's gradients meanwhile. On the CPU what Python asks for is
done when the call returns.
"""

import time
from typing import Any

from ._device import torch_stream


class NoQueues:
    """Of the CPU."""

    server = gradients = 0  # the streams that the library is given

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def host_memory(self, count: int, dtype: Any) -> Any:
        return self._torch.empty(count, dtype=dtype)

    def hold_server(self) -> None:
        """The server begins when all gradients queued so far are done."""

    def hold_gradients(self) -> None:
        """Gradients begin when the server has done what is queued so far."""

    def mark(self) -> Any:
        """The place in the queue of the gradients that is reached now; see wait_for, seconds."""
        return time.perf_counter()

    def event(self, mark: Any) -> int:
        """As the library waits for it."""
        return 0

    def seconds(self, begin: Any, end: Any) -> float:
        """Between two marks; the second one has been waited for."""
        return float(end - begin)

    def finish(self) -> None:
        """Waits for all of it."""


class Queues(NoQueues):
    """Of a CUDA device."""

    def __init__(self, torch: Any, device: Any) -> None:
        super().__init__(torch)
        self._device = device
        self._gradients = torch.cuda.current_stream(device)
        self.gradients = torch_stream(torch, device)
        # Its few short pieces of work go before those of gradients that wait already.
        self._server = torch.cuda.Stream(device, priority=-1)
        self.server = self._server.cuda_stream

    def host_memory(self, count: int, dtype: Any) -> Any:
        """Pinned: the device writes to it while Python goes on."""
        return self._torch.empty(count, dtype=dtype, pin_memory=count > 0)

    def hold_server(self) -> None:
        self._server.wait_stream(self._gradients)

    def hold_gradients(self) -> None:
        self._gradients.wait_stream(self._server)

    def mark(self) -> Any:
        event = self._torch.cuda.Event(enable_timing=True)
        event.record(self._gradients)
        return event

    def event(self, mark: Any) -> int:
        return int(mark.cuda_event)

    def seconds(self, begin: Any, end: Any) -> float:
        return float(begin.elapsed_time(end)) / 1000

    def finish(self) -> None:
        self._torch.cuda.synchronize(self._device)


def queues_of(torch: Any, device: Any) -> NoQueues:
    return Queues(torch, device) if device.type == "cuda" else NoQueues(torch)
