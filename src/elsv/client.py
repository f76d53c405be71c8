"""Ask a decision service from Python: the names of the distribution ``elsv-client`` (extra ``client``)."""

from elsv.errors import MissingExtraError

try:
    from elsv_client import *  # noqa: F403
    from elsv_client import __all__ as __all__
except ImportError as missing:
    raise MissingExtraError("the client", "client") from missing
