#!/usr/bin/env bash
# tests/bench/tiles_on_device.sh: on a GPU machine that has ./.carry (pack_device): transposed arguments, small scalars and
# to_numpy() on CUDA and Vulkan, beside torch, in about 100 seconds. Besides the library as it is, variants of it are measured,
# which differ by one line of slangpy.h (VARIANTS): so one run says which of them is best. A table goes to stdout and $OUT.
#
# Environment: ROWS_ONLY=1: without variants and torch; CC.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
SECONDS=0
top=$PWD
carry=$top/.carry
export OUT=${OUT:-$top/build/on_device}
work=$top/build/tiles_work
cc=${CC:-gcc}
mkdir -p "$OUT" "$work/lib"
rm -f "$OUT"/tiles_*.json
. tests/bench/carried.sh
say() { echo "== $(printf %3d $SECONDS) s  $*"; }

# name, a sed command on slangpy.h, what it is
declare -A variants=(
    [plain]='s/^$//'                                                                                          # as it is
    [tile64]='s/#define SPYI_TILE_SIDE 32u/#define SPYI_TILE_SIDE 64u/'                                       # four vectors a thread, 256-byte rows
    [elements]='s/{ spyi_tiled_allows, spyi_tile_lanes, false, 1 }/{ spyi_tiled_allows, NULL, false, 1 }/'    # tiles element by element
    [lanes]='s/{ spyi_wide_allows, spyi_widest, false, 1 }/{ spyi_wide_allows, spyi_lanes, false, 1 }/'       # four small scalars a thread
    [scalars]='s/{ "spv",    false, "uint",    4,    false, false, true,  true,  true, /{ "spv",    false, "uint",    4,    false, false, true,  true,  false, /' # before: vectors of scalars
)

say "machine"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
install_loader
use_slang
export SLANGPY_CACHE=off
use_nvrtc
use_nvidia_icd

say "compile"
build() { # VARIANT
    local v=$1 d=$work/$1
    mkdir -p "$d"
    cp "$top"/slangpy*.h "$d/"
    sed -i "${variants[$v]}" "$d/slangpy.h"
    if [ "$v" != plain ] && cmp -s "$d/slangpy.h" "$top/slangpy.h"; then
        echo "variant $v changes nothing"
        return
    fi
    local flags=(-std=c11 -O1 -DNDEBUG -I"$d" -I"$top/tests/common" -isystem "$carry/include")
    "$cc" "${flags[@]}" -c tests/common/implementation.c -o "$d/implementation.o" &&
        "$cc" "${flags[@]}" tests/bench/bench.c "$d/implementation.o" -o "$d/bench" -lpthread -ldl -lm
}
names=(plain)
if [ "${ROWS_ONLY:-0}" != 1 ]; then names=("${!variants[@]}"); fi
for v in "${names[@]}"; do build "$v" >"$work/$v.txt" 2>&1 & done
build_extension -O1 >"$work/python.txt" &
wait
cat "$work"/*.txt | grep -E "error|nothing" | head -20

run() { # VARIANT BACKEND ARGS...
    local v=$1 backend=$2
    shift 2
    if [ -x "$work/$v/bench" ]; then
        timeout -k 5 60 "$work/$v/bench" --backend "$backend" --full --json "$OUT/tiles_${backend}_$v.json" "$@" >"$work/$v.$backend.log" 2>&1 ||
            tail -5 "$work/$v.$backend.log"
    fi
}

say "rows"
for backend in cuda vk; do
    run plain $backend --side 6144 --only transposed
    for item in add add_half add_u8 add_f64; do run plain $backend --side 6144 --only =$item; done
done
if [ "${ROWS_ONLY:-0}" != 1 ]; then
    say "variants"
    for backend in cuda vk; do
        for v in tile64 elements; do
            for item in transposed transposed_out; do run $v $backend --side 6144 --only =$item; done
        done
    done
    for v in lanes scalars; do
        for item in add_half add_u8; do run $v vk --side 6144 --only =$item; done
    done
fi

say "torch, to_numpy"
cat >"$work/tiles.py" <<'PY'
import glob, json, os, statistics, sys, time
sys.path.insert(0, os.path.join(os.getcwd(), "python"))
out, rows, side = os.environ["OUT"], {}, 6144
try:
    import torch
    gpu, n = torch.device("cuda"), side * side
    def rate(f, size):
        begin = time.perf_counter()
        while time.perf_counter() - begin < 0.2:
            for _ in range(3): f()
            torch.cuda.synchronize()
        ms = []
        for _ in range(20):
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record(); f(); b.record(); ms.append((a, b))
        torch.cuda.synchronize()
        return size / statistics.median(a.elapsed_time(b) for a, b in ms) * 1e-6
    x, y, z = (torch.rand(side, side, device=gpu) for _ in range(3))
    o = side - 1
    xo, yo, zo = (t.view(-1)[: o * o].view(o, o) for t in (x, y, z))
    t = {"add": rate(lambda: torch.add(x, y, out=z), 12 * n), "transposed": rate(lambda: torch.add(x.t(), y, out=z), 12 * n),
         "transposed_out": rate(lambda: torch.add(x, y, out=z.t()), 12 * n), "transposed_odd": rate(lambda: torch.add(xo.t(), yo, out=zo), 12 * o * o)}
    for name, dtype, count in (("half", torch.float16, 2 * n), ("u8", torch.uint8, 2 * n), ("f64", torch.float64, n // 2)):
        a, b, c = (torch.ones(count, dtype=dtype, device=gpu) for _ in range(3))
        t["add_" + name] = rate(lambda: torch.add(a, b, out=c), 3 * a.element_size() * count)
        if name != "f64":
            a, b, c = (v[:n].view(side, side) for v in (a, b, c))
            t["transposed_" + name] = rate(lambda: torch.add(a.t(), b, out=c), 3 * a.element_size() * n)
    rows["torch"] = t
    big, host = torch.rand(1 << 26, device=gpu), []
    for _ in range(5):
        torch.cuda.synchronize(); begin = time.perf_counter(); back = big.cpu(); host.append(0.268435456 / (time.perf_counter() - begin))
    t["to_numpy, kept"] = t["to_numpy, let go"] = statistics.median(host)
    del big, x, y, z
except Exception as e:
    print("torch:", e)
import numpy as np
import slangpy as spy
for name, kind in (("cuda", "cuda"), ("vk", "vulkan")):
    try:
        device = spy.create_device(type=getattr(spy.DeviceType, kind))
        data = np.random.default_rng(1).random(1 << 26, np.float32)
        tensor = spy.Tensor.from_numpy(device, data)
        r = rows.setdefault(name + " python", {})
        kept, seconds = [], []
        for _ in range(4):
            begin = time.perf_counter(); kept.append(tensor.to_numpy()); seconds.append(time.perf_counter() - begin)
        r["to_numpy, kept"] = 0.268435456 / statistics.median(seconds[1:])
        kept.clear()
        seconds = []
        for i in range(8):
            begin = time.perf_counter(); back = tensor.to_numpy(); seconds.append(time.perf_counter() - begin)
        assert np.array_equal(back, data)
        r["to_numpy, let go"] = 0.268435456 / statistics.median(seconds[2:])
        del tensor, back
        device.close()
    except Exception as e:
        print("slangpy:", e)
for path in sorted(glob.glob(out + "/tiles_*.json")):
    name = os.path.basename(path)[6:-5].replace("_", " ", 1)
    for line in open(path):
        e = json.loads(line)
        if e.get("item", "").endswith("_wall") or e.get("unit") != "GB/s":
            if "failed" in e: print("FAILED", name, e)
            continue
        rows.setdefault(name, {})[e["item"]] = e["value"]
items = ["add", "add_half", "add_u8", "add_f64", "transposed", "transposed_out", "transposed_odd", "transposed_half", "transposed_u8", "to_numpy, kept", "to_numpy, let go"]
columns = ["torch", "cuda plain", "vk plain"] + sorted(c for c in rows if c not in ("torch", "cuda plain", "vk plain"))
print(f"GB/s, {side} x {side}\n" + " " * 18 + "".join(f"{c:>14}" for c in columns))
for i in items:
    cells = (rows.get(c, {}).get(i) for c in columns)
    print(f"{i:<18}" + "".join(f"{v:14.1f}" if v else " " * 14 for v in cells))
PY
python3 "$work/tiles.py" 2>&1 | tee "$OUT/tiles.txt"
say "done"
