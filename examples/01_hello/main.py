"""01_hello: two Slang functions called from Python. Prints "y[3] = 9, sum = 3".

hello.slang has the functions; this file is all that a program needs to call them. main.c is the same program in C.
"""
import pathlib
import sys

# 1. Programs for SlangPy import it as `spy`. numpy is needed only by those who want numpy arrays.
import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).parent

# 2. A device is one GPU. Mesa's lavapipe is a device too, so this runs without a GPU. `include_paths` are the folders
#    where modules are looked for.
device = spy.create_device(include_paths=[FOLDER])

# 3. A module is a .slang file, and its functions are attributes. Nothing is compiled to GPU code yet: that happens at
#    the first call with each kind of arguments.
module = spy.Module.load_from_file(device, "hello.slang")

# 4. The simplest call: numbers in, a number out. The result is there when the call returns, so it waits for the GPU.
total = module.add(1.0, 2.0)

# 5. Tensors are arrays on the device. `x` gets these four numbers, `out` is not initialised.
data = np.array([1, 2, 3, 4], dtype=np.float32)
x = spy.Tensor.from_numpy(device, data)
out = spy.Tensor.empty(device, shape=(4,), dtype=float)

# 6. saxpy takes one float for `x`, and gets four: the call runs over them. `a` and `y` are the same for all. The call
#    only records work for the GPU and returns; nothing is waited for.
module.saxpy(a=2.0, x=x, y=1.0, _result=out)

# 7. Without `_result` the result is a new tensor, of whatever shape the call has. `out` goes in as the argument `x`,
#    which needs no wait either: calls on a device take place in their order.
again = module.saxpy(10.0, out, x)

# 8. Reading waits for exactly the work that writes the tensor.
y = out.to_numpy()
z = again.to_numpy()

# 9. numpy arrays may also be arguments themselves. They are copied to the device for the call, so data that is used
#    again and again is better kept in tensors. With _result="numpy" the call waits and gives an array.
w = module.saxpy(2.0, data, 1.0, _result="numpy")

# 10. What goes wrong raises: a shape, a type or a name that does not fit is told before anything runs.
try:
    module.saxpy(a=2.0, x=x, yy=1.0)
except spy.Error as e:
    message = str(e)

print(f"y[3] = {y[3]:g}, sum = {total:g}")

# 11. Did the GPU compute what numpy computes? All of these numbers are exact in float.
good = total == 3 and (y == 2 * data + 1).all() and (z == 10 * y + data).all() and (w == y).all()
if not good or "No parameter named" not in message:
    sys.exit("wrong results")

# 12. Tensors go when nothing refers to them any more. close() gives back the device with all that was made from it.
device.close()
