"""A worker's connection to a server, and a server in the process."""

import json
import math
import os
import zlib
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _checks
from ._arrays import vector_of
from ._errors import InvalidArgument
from ._toml import to_toml

Shapes = Mapping[str, Sequence[int]]
Folder = Union[str, "os.PathLike[str]"]


class Tls(NamedTuple):
    """The files of one side of an encrypted connection, in PEM: `ballast ca` makes them."""

    authority: Folder  # ca.crt: the certificate of the authority that signs the other side's
    certificate: Folder  # one's own
    key: Folder
    denied: Folder = ""  # a server's list of certificates that it refuses

    @classmethod
    def folder(cls, folder: Folder, name: str) -> "Tls":
        """The files where `ballast ca` writes them: ca.crt, NAME.crt, NAME.key, denied."""
        path = os.fspath(folder)
        return cls(
            *(
                os.path.join(path, file)
                for file in ("ca.crt", f"{name}.crt", f"{name}.key", "denied")
            )
        )


TlsLike = Union[Tls, Folder, None]


def _tls_files(tls: TlsLike, name: str) -> Optional[List[str]]:
    if tls is None:
        return None
    try:
        files = tls if isinstance(tls, Tls) else Tls.folder(tls, name)
        return [_checks.text(os.fsdecode(file), "a file of tls") for file in files]
    except TypeError as error:
        raise InvalidArgument(f"tls is a folder, or a Tls of files: {error}") from None


def _tensors(shapes: Any) -> List[Tuple[str, List[int]]]:
    if not isinstance(shapes, Mapping):
        raise InvalidArgument(
            "tensors are names with their shapes, as {'w': (10, 3)}, not a " + type(shapes).__name__
        )
    return [(_checks.text(name, "a name"), _shape(name, shape)) for name, shape in shapes.items()]


def _shape(name: Any, shape: Any) -> List[int]:
    if not isinstance(shape, (list, tuple)):
        raise InvalidArgument(f"the shape of {name} is {shape!r}; write it as (10, 3) or (10,)")
    return [_checks.whole(extent, f"an extent of {name}", 0, 2**40) for extent in shape]


def _size(tensors: Sequence[Tuple[str, Sequence[int]]]) -> int:
    return sum(math.prod(shape) for _, shape in tensors)


def _names(names: Any) -> List[str]:
    if isinstance(names, str):
        raise InvalidArgument(f"names are a list of names, not the text {names!r}")
    return [_checks.text(each, "a worker's name") for each in names or []]


class Model(NamedTuple):
    """A model as it comes from the server."""

    run: str
    incarnation: int  # another one than before: the server was started again
    version: int
    accepted: int  # updates of this worker so far
    values: np.ndarray
    is_over: bool  # the training has ended, and there is nothing left to do


class Pushed(NamedTuple):
    """What became of an update."""

    verdict: Optional[str]  # "accepted" or why not; None: the connection broke and it is lost
    staleness: int  # versions between the model it was computed on and the present one
    next: Model


class Client:
    """A worker's connection to `ballast serve`, for a training loop of any framework.

    server      "host:port"
    tensors     names and shapes of the model's tensors, in the order of the flat vector; server and
                worker must have the same
    statistics  those of the running statistics (BatchNorm) that go along with an update
    name        as enrolled with the server: "worker-0", ...
    tls         the folder with ca.crt, NAME.crt and NAME.key, or a Tls; None: a server on this
                machine that allows it. Replaced files are read again and used.
    server_name the name in the server's certificate, if it is not that of the host
    encoding    of models and updates on their way: "float32" or "bfloat16"
    patience    seconds to try again when the connection is lost, with growing pauses

    Connects at the first call. Calls block, without holding up other threads, and Ctrl-C ends them;
    one thread at a time may use a client. After a fork it refuses: make one in the child.

    >>> with ballast.Client("train.example.org:7000", {"w": (10, 3), "b": (10,)},
    ...                     name="worker-1", tls="certificates") as client:
    ...     model = client.join()
    ...     while not model.is_over:
    ...         model = client.push(gradient_at(model.values)).next
    """

    def __init__(
        self,
        server: str,
        tensors: Shapes,
        *,
        statistics: Optional[Shapes] = None,
        name: str = "worker-0",
        tls: TlsLike = None,
        server_name: str = "",
        encoding: str = "float32",
        patience: float = 300.0,
    ) -> None:
        from . import _net

        if encoding not in ("float32", "bfloat16"):
            raise InvalidArgument(f"encoding is 'float32' or 'bfloat16', not {encoding!r}")
        seconds = _checks.number(patience, "patience")
        if not 0 <= seconds <= 1e6:
            raise InvalidArgument(f"patience is a number of seconds, not {patience!r}")
        parameters, moving = _tensors(tensors), _tensors(statistics or {})
        self.name = _checks.text(name, "the name")
        self._client = _net.Client(
            _checks.text(server, "the server", "train.example.org:7000"),
            name,
            _tls_files(tls, name),
            _checks.text(server_name, "server_name"),
            parameters + moving,
            _checks.whole(_size(parameters), "the number of values", 1, 2**40),
            _checks.whole(_size(moving), "the number of statistics", 0, 2**40),
            seconds,
            encoding == "bfloat16",
            zlib.crc32(name.encode()),
        )

    def join(self) -> Model:
        """Connects as a worker that remembers nothing, and waits for a model."""
        return Model(*self._client.join())

    def push(self, values: Any, statistics: Any = None) -> Pushed:
        """Sends an update computed on the last model, and waits for the next one. A connection that
        breaks is made again; what fails for good is an exception, after which join() may be tried
        again."""
        moving = np.empty(0, np.float32) if statistics is None else vector_of(statistics)
        verdict, staleness, model = self._client.push(vector_of(values, "the update"), moving)
        return Pushed(verdict, staleness, Model(*model))

    def leave(self) -> None:
        """Says good-bye, so that the row leaves the server's table at once."""
        self._client.leave()

    @property
    def reconnects(self) -> int:
        return self._client.reconnects

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.leave()


class Server:
    """A parameter server in this process, for tests and notebooks; `ballast serve` is the one that
    keeps checkpoints and a page.

    model    a torch.nn.Module, whose weights are the first model, or named arrays
    listen   "127.0.0.1:0" is any free port of this machine
    tls      the folder of `ballast ca`, or a Tls; None: no encryption, this machine only
    name     of the server's certificate in that folder
    names    of the workers; None: worker-0, worker-1, ...
    workers, rule, weights, optimizer, eta, updates, ...   keys of a specification, docs/spec.md

    >>> with ballast.Server(net, workers=5, rule="ctma(gm, 0.4)", updates=1000) as server:
    ...     start_workers(server.address)
    ...     server.wait()
    ...     net.load_state_dict(server.state_dict())
    """

    def __init__(
        self,
        model: Any,
        *,
        workers: int = 9,
        listen: str = "127.0.0.1:0",
        tls: TlsLike = None,
        name: str = "main",
        names: Optional[Sequence[str]] = None,
        threads: int = 1,
        seed: int = 1,
        **settings: Any,
    ) -> None:
        from . import _net
        from ._network import Network

        self._network: Optional[Network] = None
        if isinstance(model, Mapping):
            self._shapes = {
                _checks.text(key, "a name"): tuple(np.shape(value)) for key, value in model.items()
            }
            flat = [vector_of(value) for value in model.values()]
            parameters = np.concatenate(flat) if flat else np.empty(0, np.float32)
            statistics = np.empty(0, np.float32)
            tensors = _tensors(self._shapes)
        else:
            self._network = Network(model)
            parameters = self._network.read_parameters()
            statistics = self._network.read_statistics()
            tensors = _tensors(dict(self._network.parameter_slots + self._network.statistic_slots))
        spec = {"name": "server", "workers": workers, "seeds": [seed], **settings}
        self._host = _checks.text(listen, "listen", "127.0.0.1:0").rpartition(":")[0]
        self._server = _net.Server(
            to_toml(spec),
            parameters,
            statistics,
            tensors,
            listen,
            _tls_files(tls, _checks.text(name, "the name")),
            _names(names),
            _checks.threads(threads),
        )

    @property
    def address(self) -> str:
        """For the workers: "127.0.0.1:40123"."""
        return f"{self._host}:{self._server.port}"

    @property
    def is_over(self) -> bool:
        """Whether all the updates were accepted."""
        return self._server.is_over

    def wait(self, seconds: float = 1e9) -> bool:
        """Waits until the training is over; False if it is not by then. Ctrl-C ends it."""
        return self._server.wait(_checks.number(seconds, "seconds"))

    def status(self) -> Dict[str, Any]:
        """What /status of `ballast serve` tells: version, accepted, workers with verdicts, ..."""
        status: Dict[str, Any] = json.loads(self._server.status())
        return status

    def model(self) -> Tuple[int, np.ndarray, np.ndarray]:
        """The version, parameters and running statistics of now."""
        return self._server.model()

    def state_dict(self) -> Dict[str, Any]:
        """The model of now as named tensors."""
        _, parameters, statistics = self._server.model()
        if self._network is not None:
            return self._network.state(parameters, statistics)
        found: Dict[str, Any] = {}
        start = 0
        for key, shape in self._shapes.items():
            size = int(np.prod(shape, dtype=np.int64))
            found[key] = parameters[start : start + size].reshape(shape)
            start += size
        return found

    def stop(self) -> None:
        """Ends the connections; workers are told that it may come back, or that it is over."""
        self._server.stop()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()
