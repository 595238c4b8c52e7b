from .. import *

TYPE_CHECKING = False
if not TYPE_CHECKING:
    from .. import __getattr__
del TYPE_CHECKING
