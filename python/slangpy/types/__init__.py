from .. import *
from .. import __getattr__
