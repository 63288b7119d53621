# The extension module's own names; what users call stands in the modules beside it.
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np

version: str

def hardware_threads() -> int: ...
def catalogue(kind: str) -> str: ...
def canonical(kind: str, text: str) -> str: ...
def check_rule(text: str) -> str: ...
def aggregate(
    rule: str,
    rows: Union[np.ndarray, List[np.ndarray]],
    weights: Optional[List[float]],
    out: np.ndarray,
    draw: int,
    threads: int,
) -> Tuple[List[float], int]: ...
def train(
    text: str,
    file: str,
    overrides: List[str],
    folder: str,
    threads: int,
    explains: bool,
    on_progress: Optional[Callable[[int], None]],
) -> List[Dict[str, Any]]: ...
def count_updates(text: str, file: str, overrides: List[str]) -> int: ...
def simulate(
    text: str,
    gradient: Callable[..., float],
    evaluate: Callable[..., Tuple[float, float]],
    parameters: np.ndarray,
    statistics: np.ndarray,
    samples: int,
    labels: List[int],
    class_count: int,
    explains: bool,
    on_progress: Optional[Callable[[int], None]],
) -> Dict[str, Any]: ...

class Table:
    def __init__(self, dim: int, workers: int, rule: str, threads: int) -> None: ...
    @property
    def dim(self) -> int: ...
    @property
    def workers(self) -> int: ...
    @property
    def rule(self) -> str: ...
    def put(self, worker: int, values: np.ndarray, weight: float) -> None: ...
    def set_weight(self, worker: int, weight: float) -> None: ...
    def remove(self, worker: int) -> None: ...
    def filled(self) -> List[int]: ...
    def aggregate(self, out: np.ndarray, draw: int) -> Tuple[List[float], int]: ...

class Worker:
    def __init__(
        self,
        gradient: Callable[..., float],
        dim: int,
        statistics: np.ndarray,
        optimizer: str,
        beta: Optional[float],
        momentum: float,
    ) -> None: ...
    def start_afresh(self) -> None: ...
    def on_model(self, version: int, model: np.ndarray) -> Tuple[np.ndarray, np.ndarray, float]: ...
