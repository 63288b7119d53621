"""Exceptions with the library's texts. Each is also the built-in one a Python user would expect."""


class BallastError(Exception):
    """Base of every error that the library reports."""


class InvalidArgument(BallastError, ValueError):
    """A value is wrong: shape, range, syntax."""


class NotFound(BallastError, LookupError):
    """No such name or file."""


class Unsupported(BallastError, NotImplementedError):
    """This build or machine cannot do it."""


class IoError(BallastError, OSError):
    """The operating system refused."""


class NotFinite(BallastError, ArithmeticError):
    """A computation left the finite numbers."""


class Interrupted(BallastError):
    """Somebody asked to stop."""
