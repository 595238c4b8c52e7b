# slangpy.h is header-only for its users; this Makefile is for working on it. Sources come from src/manifest alone.
#
#   make               the headers, and build/release/libslangpy.a (the split build)
#   make demo          fetch what is needed, tonemap a photograph, print the picture's path
#   make test          everything that CI runs; ends with 'N passed, N failed, N skipped'
#   make soak          the GPU tests at full counts        make bench [BACKEND=vk]   performance.md's figures
#   make python        build the Python extension in place (python/slangpy), for build/venv/bin/python
#   make wheel         dist/slangpy_c-*.whl, with the Slang compiler in it
#   make check         headers equal src/, ABI tables      make examples             build/release/examples/*
#   make gallery       docs/gallery, README's pictures, drawn by the examples
#   make api           build/api.json: all public declarations, for generators of bindings
#   make install [PREFIX=/usr/local] [DESTDIR=]            make clean                keeps what tools/setup fetched
#
#   config=release (default) debug asan tsan; CC=clang; everything lands in build/$(config)[-CC]/

ifeq ($(origin CC),default)
CC := gcc
endif
config ?= release
suffix := $(if $(filter-out gcc,$(CC)),-$(notdir $(CC)))
B := build/$(config)$(suffix)
PREFIX ?= /usr/local

# Lines alone: to follow variables takes gcc a fifth longer.
flags_release := -O2 -g1 -DNDEBUG
flags_debug := -O0 -g
# Sanitizers at -O0: gcc needs three times as long at -O1, and most of a test's time is libslang's, which has none.
flags_asan := -O0 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
flags_tsan := -O0 -g -fsanitize=thread -fno-omit-frame-pointer
ifneq ($(and $(filter asan,$(config)),$(findstring clang,$(CC))),)
# AddressSanitizer's allocator for our code alone: through it libslang and LLVM, which it cannot see into, take twice the time.
link_flags := -Wl,--version-script=tests/common/asan.map
endif
ifeq ($(flags_$(config)),)
$(error config=$(config) is not one of release debug asan tsan)
endif

# The examples' stb_image.h is not ours to warn about.
STD := -std=c11 -Wall -Wextra -Wconversion -Wshadow -Werror
INCLUDES := -isystem /usr/include/stb
ALL_CFLAGS = $(STD) $(flags_$(config)) -MMD -MP $(CFLAGS)
# gcc's -Wmisleading-indentation takes 4 of 5 seconds of a header of 50,000 lines, in whose lines it looks for each `if` from far
# away. tests/compile has it on for one build of the headers, clang's and the split builds for their files.
WHOLE := -Wno-misleading-indentation
LIBS := -lpthread -ldl -lm

headers := slangpy.h slangpy_vk.h slangpy_cuda.h slangpy_d3d12.h slangpy.hpp
sources := $(shell awk '!/^\#/ && ($$2 == "impl" || $$2 == "cold" || $$2 == "tests") && $$3 ~ /\.c$$/ { print $$3 }' src/manifest)
listed := $(addprefix src/,$(shell awk '!/^\#/ && NF { print $$3 }' src/manifest))
objects := $(sources:%.c=$B/src/%.o)
library := $B/libslangpy.a

# A test program is tests/unit/test_*.c or tests/gpu/test_*.c; other .c files of its folder are linked to each.
# unit/ looks inside: it is compiled against src/ (SPY_TEST_SPLIT), and again with the whole implementation in its own
# file (SPY_TEST_HEADERS). gpu/ sees public declarations only: compiled once, linked with either; release tests the
# optimised library by debug's objects.
tests_config := $(if $(filter release,$(config)),debug,$(config))
T := build/$(tests_config)$(suffix)/tests
unit_tests := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
gpu_tests := $(patsubst tests/gpu/%.c,%,$(wildcard tests/gpu/test_*.c))
unit_helpers := $(patsubst tests/%.c,$B/tests/%.o,$(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c)))
gpu_helpers := $(patsubst tests/%.c,$T/%.o,$(filter-out tests/gpu/test_%,$(wildcard tests/gpu/*.c)))
# torch_host.c is a part of torch_host.py.
bench_programs := $(patsubst tests/bench/%.c,$B/bench/%,$(filter-out tests/bench/torch_host.c,$(wildcard tests/bench/*.c)))
examples := $(patsubst examples/%/main.c,%,$(wildcard examples/*/main.c))
example_programs := $(addprefix $B/examples/,$(examples))
LIBS_04_engine_vulkan := -lvulkan

unit_split := $(addprefix $B/unit-split/,$(unit_tests))
unit_headers := $(addprefix $B/unit-headers/,$(unit_tests))
gpu_split := $(addprefix $B/gpu-split/,$(gpu_tests))
gpu_headers := $(addprefix $B/gpu-headers/,$(gpu_tests))
# The gpu tests whose kernels are compiled for CUDA without a GPU (tests/cuda/compile_only.c).
cuda_tests := $(addprefix $B/cuda/,bounds buffers calls_values calls_names calls_shapes calls_sizes calls_devices cuda cuda_kernels dispatch fuse globals gradient_sums gradients_values gradients_shared gradients_functions gradients_calls gradients_random graph groups kinds_generators kinds_methods kinds_whole kinds_calls options print random resolution texture_args tiles views)

.PHONY: all headers api lib python wheel demo test test-torch soak bench check examples gallery unit unit-split gpu gpu-split gpu-headers examples-shared cuda played bench-programs install clean
.DELETE_ON_ERROR:
.SECONDARY:

all: headers lib
headers: $(headers)
lib: $(library)
api: build/api.json
examples: $(example_programs)
examples-shared: $(addprefix $B/examples-shared/,$(examples))
unit: $(unit_split) $(unit_headers)
unit-split: $(unit_split)
gpu: $(gpu_split) $(gpu_headers)
gpu-split: $(gpu_split)
gpu-headers: $(gpu_headers)
cuda: $(cuda_tests)
played: $B/played/libcuda.so.1 $B/played/libnvrtc.so
bench-programs: $(bench_programs)

# ---- headers and library

# One run writes all of them. It leaves an unchanged header alone, so the stamp, not the header, carries the time.
build/headers.stamp: src/manifest tools/amalgamate LICENSE $(wildcard $(listed))
	@mkdir -p build
	tools/amalgamate
	@touch $@
$(headers): build/headers.stamp ;

build/api.json: tools/api_json src/manifest $(wildcard src/api/*.h)
	tools/api_json $@

build/gen/slang/embed.h: src/manifest tools/amalgamate $(wildcard $(filter %.slang %.cuh,$(listed)))
	@mkdir -p $(@D)
	tools/amalgamate --embed $@

$B/src/%.o: src/%.c | build/gen/slang/embed.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Isrc -Ibuild/gen -c $< -o $@

# whole=1: the split library's text as one file, by a third of the time. For builds beside the one in which each file compiles alone.
build/gen/whole.c: src/manifest
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(sources) > $@

$B/whole.o: build/gen/whole.c | build/gen/slang/embed.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Isrc -Ibuild/gen -c $< -o $@

$(library): $(if $(whole),$B/whole.o,$(objects))
	@rm -f $@
	$(AR) rcs $@ $^

$B/headers/implementation.o: tests/common/implementation.c | headers
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(WHOLE) -DSPY_TEST_KEEPS_BLOBS=1 -I. -c $< -o $@

# ---- tests, examples, benchmarks

# libslang with a memory, for each version that tests/run uses.
build/memo/%/libslang-compiler.so: tests/common/slang_memo.c src/compiler/slang_abi.h
	@mkdir -p $(@D)
	$(CC) $(STD) -O1 -g -fPIC -shared -fvisibility=hidden -Isrc -DBLOBS='"$(CURDIR)/build/blobs"' \
		-DREAL='"$(abspath $(wildcard build/slang/$*/libslang-compiler.so*))"' $< -o $@ \
		-Wl,--no-as-needed $(wildcard build/slang/$*/libslang-compiler.so*) -Wl,-rpath,$(CURDIR)/build/slang/$* -lpthread -ldl

$B/tests/unit/%.o: tests/unit/%.c | build/gen/slang/embed.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DSPY_TEST_SPLIT=1 -Isrc -Ibuild/gen -Itests/common $(INCLUDES) -c $< -o $@

# The reference computations are most of what these do themselves.
$T/gpu/test_random.o $T/gpu/random_loops.o $T/gpu/random_reference.o: optimised := -O2
$T/gpu/%.o: tests/gpu/%.c | headers
	@mkdir -p $(@D)
	$(CC) $(STD) $(flags_$(tests_config)) $(optimised) -MMD -MP $(CFLAGS) -I. -Itests/common $(INCLUDES) -c $< -o $@

$B/tests-headers/%.o: tests/%.c | headers
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(WHOLE) -DSPY_TEST_HEADERS=1 -I. -Itests/common $(INCLUDES) -c $< -o $@

$B/unit-split/%: $B/tests/unit/%.o $(unit_helpers) $(library)
	@mkdir -p $(@D)
	$(CC) $(flags_$(config)) $(link_flags) $^ -o $@ -lcmocka $(LIBS)

# A CUDA driver without a GPU, which a test opens.
$B/fake_cuda.so: $(addprefix tests/unit/fake_cuda/,driver.c array.c graph.c play.c driver.h fake_cuda.h play.h) tests/common/lanes.h src/cuda/blit.cuh
	@mkdir -p $(@D)
	$(CC) $(STD) -O1 -g -fPIC -shared -fvisibility=hidden -Wl,-soname,libcuda.so.1 $(filter %.c,$^) -o $@ -lm -ldl

# Both by the names that the library looks for, with an NVRTC by which kernels run on this machine (tests/cuda/played).
$B/played/libcuda.so.1: $B/fake_cuda.so
	@mkdir -p $(@D)
	cp $< $@

$B/played/libnvrtc.so: tests/unit/fake_cuda/nvrtc.c
	@mkdir -p $(@D)
	$(CC) $(STD) -O1 -g -fPIC -shared -fvisibility=hidden $< -o $@ -ldl

fake_cuda_tests := test_build test_cuda test_cuda_capture test_cuda_graph test_cuda_pack test_cuda_peer test_cuda_repeat test_cuda_shared test_cuda_textures test_cuda_transfer test_cuda_unsized
$(foreach t,$(fake_cuda_tests),$B/unit-split/$t $B/unit-headers/$t): | $B/fake_cuda.so

$B/unit-headers/%: $B/tests-headers/unit/%.o $(unit_helpers)
	@mkdir -p $(@D)
	$(CC) $(flags_$(config)) $(link_flags) $^ -o $@ -lcmocka $(LIBS)

$B/gpu-split/%: $T/gpu/%.o $(gpu_helpers) $B/tests/common/split.o $(library)
	@mkdir -p $(@D)
	$(CC) $(flags_$(config)) $(link_flags) $^ -o $@ -lcmocka $(LIBS)

$B/gpu-headers/%: $T/gpu/%.o $(gpu_helpers) $B/headers/implementation.o
	@mkdir -p $(@D)
	$(CC) $(flags_$(config)) $(link_flags) $^ -o $@ -lcmocka $(LIBS)

$B/cuda/%: $T/gpu/test_%.o $(gpu_helpers) $B/tests-headers/cuda/compile_only.o
	@mkdir -p $(@D)
	$(CC) $(flags_$(config)) $(link_flags) $^ -o $@ -lcmocka $(LIBS)

# Seeded attackers: see the head of each.
$B/tests/fuzz/%.o: tests/fuzz/%.c | build/gen/slang/embed.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DSPY_TEST_SPLIT=1 -Isrc -Ibuild/gen -Itests/common $(INCLUDES) -c $< -o $@

$B/tests/common/split.o: tests/common/split.c tests/common/hold.h | build/gen/slang/embed.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Isrc -Ibuild/gen -Itests/common -c $< -o $@

# What the library asks of the process allocator comes to the program.
wrap_fuzz_memory := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free

$B/fuzz/%: $B/tests/fuzz/%.o $(library)
	@mkdir -p $(@D)
	$(CC) $(flags_$(config)) $(link_flags) $^ -o $@ $(wrap_$*) -lcmocka $(LIBS)

$B/fuzz/fuzz_memory: | $B/fake_cuda.so

# Guided by libFuzzer, with the library instrumented, too: build/libfuzzer/fuzz_packs -max_total_time=600
build/libfuzzer/%: tests/fuzz/%.c build/gen/whole.c $(wildcard $(listed)) | build/gen/slang/embed.h
	@mkdir -p $(@D)
	clang $(STD) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DSPY_LIBFUZZER \
		-DSPY_TEST_SPLIT=1 -Isrc -Ibuild/gen -Itests/common $(INCLUDES) $< build/gen/whole.c -o $@ -lcmocka $(LIBS)

$B/bench/%: tests/bench/%.c $B/headers/implementation.o | headers
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -I. -Itests/common $(INCLUDES) $< $B/headers/implementation.o -o $@ $(LIBS)

$B/examples/%: examples/%/main.c | headers
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(WHOLE) -I. $(INCLUDES) -DEXAMPLE_FOLDER='"$(CURDIR)/examples/$*/"' $(wildcard examples/$*/*.c) -o $@ \
		$(LIBS_$*) $(LIBS)

# The same with the library from the object that other programs share, for most of `make test`. They look for their Slang files in
# the current folder, which a test chooses.
$B/examples-shared/%: examples/%/main.c $B/headers/implementation.o | headers
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -I. $(INCLUDES) -DSLANGPY_IMPLEMENTED -DSLANGPY_VK_IMPLEMENTED \
		$(wildcard examples/$*/*.c) $B/headers/implementation.o -o $@ $(LIBS_$*) $(LIBS)

$(foreach e,$(examples),$(eval $B/examples/$e $B/examples-shared/$e: $(wildcard examples/$e/*.c examples/$e/*.h)))

# The extension and the package beside it: PYTHONPATH=python build/venv/bin/python -c 'import slangpy'
python: headers
	cd python && ../build/venv/bin/python -W ignore setup.py -q build_ext --inplace

wheel: headers
	@tools/setup test
	build/venv/bin/python tools/wheel

# ---- what people type

demo:
	@tools/setup
	@$(MAKE) --no-print-directory config=$(config) $B/examples/02_tonemap
	@SLANGPY_SLANG_LIBRARY="$${SLANGPY_SLANG_LIBRARY:-$(CURDIR)/build/slang/libslang-compiler.so}"; \
	export SLANGPY_SLANG_LIBRARY; cd examples/02_tonemap && \
	"$(CURDIR)/$B/examples/02_tonemap" "$(CURDIR)/build/data/astronaut.png" "$(CURDIR)/build/tonemapped.png"
	@test -s build/tonemapped.png

test:
	@tests/run test

gallery:
	@tools/setup test # numpy
	@$(MAKE) --no-print-directory config=$(config) examples-shared python
	@PYTHONPATH=python build/venv/bin/python examples/gallery.py $B/examples-shared

soak:
	@tests/run soak

# torch and the libraries it needs are about 3 GB: only who asks gets them.
test-torch:
	@$(MAKE) --no-print-directory python
	@[ -x build/venv-torch/bin/pytest ] || { python3 -m venv build/venv-torch && build/venv-torch/bin/pip install -q numpy pytest "torch>=2.4"; }
	@SLANGPY_CACHE=off SLANGPY_SLANG_LIBRARY="$${SLANGPY_SLANG_LIBRARY:-$(CURDIR)/build/slang/libslang-compiler.so}" PYTHONPATH=python \
	    build/venv-torch/bin/python -m pytest -q tests/torch

bench:
	@tools/setup test # raw_vk.c, a rival, uses volk
	@$(MAKE) --no-print-directory config=release bench-programs
	@tests/compile/run time
	@tests/bench/run build/release/bench $(BACKEND) # a script: rivals run in processes of their own, interleaved

check:
	tools/amalgamate --check
	@if [ -x tools/check_abi ]; then tools/check_abi; fi
	tools/equal_lines --check

# No number sign in the program: make hands an escaped one to the shell with its backslash, and mawk keeps that.
version = $(shell awk '$$1 ~ /define$$/ && $$2 == "SPY_VERSION" { printf "%d.%d.%d", $$3 / 10000, $$3 / 100 % 100, $$3 % 100 }' slangpy.h)

install: $(headers)
	$(if $(version),,$(error no SPY_VERSION found in slangpy.h))
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 $(headers) $(DESTDIR)$(PREFIX)/include
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(version)|' tools/slangpy.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/slangpy.pc

clean:
	rm -rf build/blobs build/release* build/debug* build/asan* build/tsan* build/gen build/tests build/headers.stamp build/tonemapped.png

-include $(shell find $B $T -name '*.d' 2>/dev/null | sort -u)
