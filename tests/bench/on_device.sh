#!/usr/bin/env bash
# tests/bench/on_device.sh [TEST...]: on a GPU machine that has ./.carry (pack_device): installs the Vulkan loader, compiles
# the single headers, the benchmark and the GPU tests, runs the tests (all, or tests/gpu/TEST.c), then `tests/bench/run`.
# Ends within LIMIT seconds (530). Results go to $OUT: log.txt, tests.txt, bench.json, kernels.tar.gz.
#
# BACKEND=cuda: the same for the CUDA backend, which needs no loader; NVRTC is looked for on the machine, torch's among others.
#
# SANITIZER=memcheck (racecheck, initcheck, synccheck; BACKEND=cuda): each test runs under that tool of compute-sanitizer, and
# fails if it finds anything. Tests provoke errors of the driver on purpose: those are not counted. One more line a test.
#
# PICTURES=1: also bench/pictures (texels and draws beside the bare device; pictures.json). PYTHON_TESTS="test_a.py test_b.py":
# also these of python/tests, by pytest. COMPILE=0: with the programs that an earlier call on this machine compiled.
#
# Environment: LIMIT; TEST_SECONDS for all tests together (170; 0: none), JOBS of them at a time (1); SPY_TEST_SIZE (normal)
# and SPY_TEST_SEED for the tests; SANITIZER_ARGS, instead of those below; BENCH_ARGS for tests/bench/run, BENCH=0 for none; CC.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
SECONDS=0
top=$PWD
carry=$top/.carry
export OUT=${OUT:-$top/build/on_device}
work=$top/build/on_device_work # ignored by git, kept between calls on one machine
mkdir -p "$OUT" "$work"
limit=${LIMIT:-530}
test_seconds=${TEST_SECONDS:-170}
cc=${CC:-gcc}
backend=${BACKEND:-vk}
jobs=${JOBS:-1}
under=() # what tests run under
if [ -n "${SANITIZER:-}" ]; then
    # shellcheck disable=SC2206
    under=(/usr/local/cuda/bin/compute-sanitizer --tool "$SANITIZER" --error-exitcode 9 ${SANITIZER_ARGS:---report-api-errors no --print-limit 20})
    if [ "$backend" != cuda ] || [ ! -x "${under[0]}" ]; then
        echo "SANITIZER needs BACKEND=cuda and ${under[0]}"
        exit 2
    fi
fi
. tests/bench/carried.sh
say() { echo "== $(printf %3d $SECONDS) s  $*"; }

# compile NAME SOURCE...: a program of the work folder, with the carried headers before any of the machine's own.
flags=(-std=c11 -O2 -g -DNDEBUG -I"$top" -I"$top/tests/common" -isystem "$carry/include")
# shellcheck disable=SC2054
libs=(-L"$work/lib" -Wl,-rpath,"$work/lib" -lpthread -ldl -lm)
compile() {
    local name=$1
    shift
    "$cc" "${flags[@]}" "$@" -o "$work/$name" "${libs[@]}" >"$work/$name.txt" 2>&1 && return
    echo "$name does not compile:"
    head -30 "$work/$name.txt"
    return 1
}

compile_all() {
    mkdir -p "$work/lib" "$work/gpu" "$work/bench"
    cp "$carry"/lib/* "$work/lib/"
    ln -sf libcmocka.so.0 "$work/lib/libcmocka.so"
    (cd "$top" && "$cc" "${flags[@]}" -c tests/common/implementation.c -o "$work/implementation.o") || return
    local helpers=() c name
    for c in tests/gpu/*.c; do
        case $c in tests/gpu/test_*) ;; *) if [ -e "$c" ]; then helpers+=("$c"); fi ;; esac
    done
    # __FILE__ is how the benchmark finds bench.slang: paths from the repository's root, as make gives them.
    for c in tests/bench/*.c; do
        if [ "$c" != tests/bench/torch_host.c ]; then compile "bench/$(basename "$c" .c)" "$c" "$work/implementation.o" & fi
    done
    for name in "${tests[@]}"; do
        compile "gpu/$name" "tests/gpu/$name.c" ${helpers[@]+"${helpers[@]}"} "$work/implementation.o" -lcmocka &
    done
    wait
    build_extension
    [ -x "$work/bench/bench" ] && [ -x "$work/bench/raw_vk" ] && [ -x "$work/bench/raw_cuda" ]
}

# run_test NAME END: one test within the seconds up to END. What it said is left in NAME.txt, what is to be told in NAME.report.
run_test() {
    local name=$1 log=$work/gpu/$1.txt left=$(($2 - SECONDS)) status=0 start=$SECONDS seed found
    if [ ! -x "$work/gpu/$name" ]; then
        echo "FAILED   $name: not compiled"
        return
    fi
    if [ $left -lt 5 ]; then
        echo "LEFT OUT $name: the tests' time is up"
        return
    fi
    timeout -k 5 $left ${under[@]+"${under[@]}"} "$work/gpu/$name" >"$log" 2>&1 || status=$?
    say "$name: $((SECONDS - start)) s"
    if [ ${#under[@]} != 0 ]; then
        seed=$(grep -oiE -m1 'seed[ =:]+(0x)?[0-9a-f]+' "$log")
        found=$(grep -oE '(ERROR|RACECHECK) SUMMARY.*' "$log" | paste -sd ';') # one a process
        echo "$SANITIZER $name: ${seed:-no seed}: ${found:-no summary}: exit status $status"
    fi
    if [ $status = 0 ]; then
        grep -E '^\[  (PASSED|SKIPPED)|seed|passed' "$log" | tail -12
    else
        echo "FAILED   $name: exit status $status"
        tail -c 3000 "$log"
    fi
}

# test_cuda comes last and alone: it provokes faults of kernels, and after a fault (an illegal address, "Xid 31" in dmesg) NVIDIA's
# driver 580 does not end draws and copies of images any more, whatever process asks for them (docs/measurements.md).
run_tests() {
    local name end=$((SECONDS + test_seconds)) ordered=()
    for name in "${tests[@]}"; do if [ "$name" != test_cuda ]; then ordered+=("$name"); fi; done
    if [ ${#ordered[@]} != ${#tests[@]} ]; then ordered+=(test_cuda); fi
    for name in "${ordered[@]}"; do
        if [ "$name" = test_cuda ]; then wait; fi
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
        rm -f "$work/gpu/$name.txt"
        { run_test "$name" $end >"$work/gpu/$name.report" 2>&1; cat "$work/gpu/$name.report"; } &
    done
    wait
    for name in "${tests[@]}"; do
        printf '==== %s\n' "$name"
        cat "$work/gpu/$name.report"
        if [ -e "$work/gpu/$name.txt" ]; then cat "$work/gpu/$name.txt"; fi
    done >"$OUT/tests.txt"
}

# Several processes at a time where pytest can.
run_python_tests() {
    local flags=(-q -p no:cacheprovider) name paths=()
    for name in $PYTHON_TESTS; do paths+=("python/tests/$name"); done
    if python3 -c 'import xdist' 2>/dev/null; then flags+=(-n 8); fi
    if [ "$backend" = cuda ]; then export SLANGPY_DEVICE_TYPE_OVERRIDE=cuda; fi
    PYTHONPATH=$top/python SLANGPY_CACHE=off timeout -k 5 "${PYTHON_SECONDS:-90}" python3 -m pytest "${flags[@]}" "${paths[@]}" \
        >"$OUT/python.txt" 2>&1 || echo "FAILED   python tests: exit status $?"
    grep -E '^(FAILED|ERROR)|passed|failed' "$OUT/python.txt" | head -60
}

main() {
    say "machine"
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
    grep -m1 'model name' /proc/cpuinfo
    nproc
    "$cc" --version | head -1
    python3 -c 'import sys, torch; print("python", sys.version.split()[0], "torch", torch.__version__)'
    if [ "$backend" = cuda ]; then
        export SPY_TEST_BACKEND=cuda
        use_nvrtc
        echo "NVRTC: ${SLANGPY_NVRTC_LIBRARY:-none found}"
    else
        say "loader"
        install_loader
    fi
    use_slang
    if [ -e "$carry/rival.tar.xz" ]; then
        unpack "$carry/rival.tar.xz" "$work/rival"
        export SLANGPY_RIVAL=$work/rival
    fi
    say "compile"
    if [ "${COMPILE:-1}" = 1 ] && ! compile_all; then
        echo "nothing to run"
        return 1
    fi
    say "device"
    if [ "$backend" = cuda ]; then "$work/bench/raw_cuda" --quick; fi
    if [ "$backend" != cuda ] && { ! "$work/bench/raw_vk" --quick | tee "$work/probe.txt" || grep -q '^device: llvmpipe' "$work/probe.txt"; } && use_nvidia_icd; then
        say "again with VK_DRIVER_FILES"
        "$work/bench/raw_vk" --quick
    fi
    export SPY_TEST_SIZE=${SPY_TEST_SIZE:-normal} XDG_CACHE_HOME=$work/cache SPIRV_VAL=$carry/bin/spirv-val
    if [ "$test_seconds" -gt 0 ]; then
        run_tests
    fi
    if [ "${PICTURES:-0}" = 1 ]; then
        say "pictures"
        timeout -k 5 60 "$work/bench/pictures" --backend "$backend" --json "$OUT/pictures.json" || echo "FAILED   pictures: exit status $?"
    fi
    if [ -n "${PYTHON_TESTS:-}" ]; then
        say "python"
        run_python_tests
    fi
    if [ "${BENCH:-1}" = 1 ]; then
        say "bench"
        rm -rf "$work/kernels"
        mkdir -p "$work/kernels"
        # shellcheck disable=SC2086
        timeout -k 5 $((limit - SECONDS)) python3 tests/bench/run "$work/bench" "$backend" --seconds $((limit - SECONDS - 20)) \
            --out "$OUT/bench.json" --dump "$work/kernels" ${BENCH_ARGS:-}
        tar -C "$work" -czf "$OUT/kernels.tar.gz" kernels
    fi
    say "done"
}

tests=("$@")
if [ ${#tests[@]} = 0 ]; then
    for c in tests/gpu/test_*.c; do if [ -e "$c" ]; then tests+=("$(basename "$c" .c)"); fi; done
fi
main 2>&1 | tee "$OUT/log.txt"
exit "${PIPESTATUS[0]}"
