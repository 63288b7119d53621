from typing import List, Optional, Sequence, Tuple

import numpy as np

_Model = Tuple[str, int, int, int, np.ndarray, bool]
_Tensors = Sequence[Tuple[str, Sequence[int]]]

class Client:
    def __init__(
        self,
        server: str,
        name: str,
        tls: Optional[List[str]],
        server_name: str,
        tensors: _Tensors,
        dim: int,
        statistic_count: int,
        patience: float,
        is_short: bool,
        seed: int,
    ) -> None: ...
    def join(self) -> _Model: ...
    def push(
        self, values: np.ndarray, statistics: np.ndarray
    ) -> Tuple[Optional[str], int, _Model]: ...
    def leave(self) -> None: ...
    @property
    def reconnects(self) -> int: ...

class Server:
    def __init__(
        self,
        text: str,
        parameters: np.ndarray,
        statistics: np.ndarray,
        tensors: _Tensors,
        listen: str,
        tls: Optional[List[str]],
        names: List[str],
        threads: int,
    ) -> None: ...
    @property
    def port(self) -> int: ...
    @property
    def names(self) -> List[str]: ...
    @property
    def is_over(self) -> bool: ...
    def wait(self, seconds: float) -> bool: ...
    def model(self) -> Tuple[int, np.ndarray, np.ndarray]: ...
    def status(self) -> str: ...
    def stop(self) -> None: ...
