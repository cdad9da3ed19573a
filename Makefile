# Ringside. `make run` installs what is missing (where it may), builds and opens it; `make test` runs all tests.
# All products go to $(BUILD). Each folder is a layer: what it may include is checked (`make check`).

BUILD   ?= build
CC      ?= gcc
CSTD    := -std=c17 -D_GNU_SOURCE
WARN    := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
OPT     ?= -O2 -g
SAN     ?=
comma   := ,
# make V=1 shows the commands
Q       := $(if $(V),,@)
# As many jobs as cores, where the caller has not said otherwise
JOBS     = $(if $(findstring j,$(firstword -$(MAKEFLAGS)))$(findstring --jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
VERSION := $(shell sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md 2>/dev/null | head -n 1)

PKG       := pkg-config
LUA_C     := $(shell $(PKG) --cflags lua5.4 2>/dev/null || $(PKG) --cflags lua-5.4 2>/dev/null || $(PKG) --cflags lua)
LUA_L     := $(shell $(PKG) --libs lua5.4 2>/dev/null || $(PKG) --libs lua-5.4 2>/dev/null || $(PKG) --libs lua)
JSON_C    := $(shell $(PKG) --cflags jansson 2>/dev/null)
JSON_L    := $(shell $(PKG) --libs jansson 2>/dev/null || echo -ljansson)
CURSES_C  := $(shell $(PKG) --cflags ncursesw 2>/dev/null)
CURSES_L  := $(shell $(PKG) --libs ncursesw 2>/dev/null || echo -lncursesw -ltinfo)
CMARK_C   := $(shell $(PKG) --cflags libcmark 2>/dev/null)
CMARK_L   := $(shell $(PKG) --libs libcmark 2>/dev/null || echo -lcmark)
MPICC     ?= mpicc
MPI_C     := $(shell $(MPICC) --showme:compile 2>/dev/null)
MPI_L     := $(shell $(MPICC) --showme:link 2>/dev/null)
DNNL_L    ?= -ldnnl

CFLAGS  += $(CSTD) $(WARN) $(OPT) $(SAN) -fno-math-errno -I. -MMD -MP $(LUA_C) $(JSON_C)
CPPFLAGS += -DRINGSIDE_VERSION='"$(VERSION)"'
LDFLAGS += $(SAN)

# --- layers -------------------------------------------------------------------------------------------------
sources = $(wildcard $(1)/*.c $(1)/*/*.c)
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))

SHARED_SRC := $(call sources,engine/base) $(call sources,engine/spec)
FRONT_SRC  := $(call sources,engine/launch) $(call sources,cluster-sim) $(filter-out tui/main.c,$(call sources,tui))
BACK_SRC   := $(call sources,engine/nn) $(call sources,engine/data) $(call sources,engine/comm) \
              $(call sources,engine/train) $(filter-out engine/rank/main.c,$(call sources,engine/rank))

LIBSHARED := $(BUILD)/libshared.a
LIBFRONT  := $(BUILD)/libfront.a
LIBBACK   := $(BUILD)/libback.a

FRONT_LIBS := $(CURSES_L) $(CMARK_L) $(LUA_L) $(JSON_L) -lz -lm
BACK_LIBS  := $(DNNL_L) -lz $(LUA_L) $(JSON_L) -lpthread -lm

# --- translations: tui/po/LANGUAGE.po, checked and compiled; without msgfmt the screens stay English --------------
MSGFMT    := $(shell command -v msgfmt 2>/dev/null)
CATALOGUES := $(patsubst tui/po/%.po,$(BUILD)/locale/%/LC_MESSAGES/ringside.mo,$(wildcard tui/po/*.po))

.PHONY: all run test check sanitize bench soak monkey deps clean install format fuzz
all: $(BUILD)/ringside $(BUILD)/ringside-rank $(if $(MSGFMT),$(CATALOGUES),english-only)

$(BUILD)/locale/%/LC_MESSAGES/ringside.mo: tui/po/%.po
	@mkdir -p $(@D)
	@echo "msgfmt  $<"
	$(Q)$(MSGFMT) --check -o $@ $<

.PHONY: english-only
english-only:
	@echo "note    msgfmt (of gettext) is not there: the screens are English only"

$(BUILD)/ringside: $(BUILD)/tui/main.o $(LIBFRONT) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(FRONT_LIBS)

$(BUILD)/ringside-rank: $(BUILD)/engine/rank/main.o $(LIBBACK) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CC) $(LDFLAGS) -fopenmp -o $@ $^ $(BACK_LIBS) $(MPI_L)

$(LIBSHARED): $(call objects,$(SHARED_SRC))
$(LIBFRONT): $(call objects,$(FRONT_SRC))
$(LIBBACK): $(call objects,$(BACK_SRC))
$(LIBSHARED) $(LIBFRONT) $(LIBBACK):
	@rm -f $@
	$(Q)ar rcs $@ $^

# Hand-written loops over the parameter buffer are the engine's own kernels: let the compiler vectorise them.
$(BUILD)/engine/nn/%.o $(BUILD)/engine/comm/%.o $(BUILD)/engine/data/%.o: OPT := $(subst -O2,-O3,$(OPT))
$(BUILD)/engine/nn/%.o $(BUILD)/engine/train/%.o $(BUILD)/engine/data/%.o: CFLAGS += -fopenmp
# Their vectors are passed only between functions that are inlined, so the ABI's changes (psabi) do not matter.
$(BUILD)/engine/nn/%.o $(BUILD)/tests/unit/nn/test_math.o: CFLAGS += -ffp-contract=fast -Wno-psabi
# The kernel ladder's rungs are vectorised by hand or not at all.
$(BUILD)/engine/nn/ladder/%.o: CFLAGS += -fno-tree-vectorize
$(BUILD)/engine/comm/%.o $(BUILD)/engine/rank/%.o $(BUILD)/engine/profile/%.o $(BUILD)/tests/mpi/%.o: CFLAGS += $(MPI_C)
$(BUILD)/tui/%.o $(BUILD)/tests/unit/tui/%.o: CFLAGS += $(CURSES_C) $(CMARK_C)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "cc      $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# --- GPUs ---------------------------------------------------------------------------------------------------
# The plugin is built where nvcc can (kernels/probe finds out); CUDA_ARCHS="75 90" or CUDA_ARCHS=all builds it for other GPUs
# than the default's, and CUDA_FLAGS says where headers are that nvcc does not find (-I/opt/nccl/include).
CUDA_HOME  ?= /usr/local/cuda
# A compiler's cache that CC goes through serves the others, too.
CACHE      := $(filter %ccache,$(firstword $(CC)))
ifeq ($(origin CXX),default)
CXX        := $(strip $(CACHE) g++)
endif
# Of the folder that somebody names, else of a module that is loaded (it may set PATH alone), else of the usual folder.
NVCC       ?= $(CACHE) $(or $(if $(filter-out file,$(origin CUDA_HOME)),$(wildcard $(CUDA_HOME)/bin/nvcc)),$(shell \
              command -v nvcc 2>/dev/null),$(wildcard $(CUDA_HOME)/bin/nvcc))
CUDA_ARCHS ?= 80
CUDA_FLAGS ?=
ifneq ($(filter-out clean format deps check test sanitize bench soak run gpu-check,$(or $(MAKECMDGOALS),all)),)
-include $(BUILD)/cuda.mk
ifneq ($(strip $(CUDA_PROBED)),$(strip $(NVCC) $(CUDA_ARCHS) $(CUDA_FLAGS)))
$(BUILD)/cuda.mk: ask-again
endif
$(BUILD)/cuda.mk: kernels/probe
	@mkdir -p $(@D)
	@kernels/probe "$(NVCC)" "$(CUDA_ARCHS)" $(CUDA_FLAGS) >$@
	@cmp -s $@ $(BUILD)/cuda.flags || cp $@ $(BUILD)/cuda.flags
	@sed -n 's/^CUDA_WHY := /note    no plugin for GPUs: /p; s/^CUDA_TARGETS := /nvcc    /p' $@
endif
.PHONY: ask-again
# The same, but only as new as what it says: whatever is compiled for GPUs is compiled again for others.
$(BUILD)/cuda.flags: | $(BUILD)/cuda.mk
	@cp $(BUILD)/cuda.mk $@

# The same sources twice: for GPUs, and for the host by stand-ins for CUDA (kernels/emulation), which is what the tests run.
# Every access of an emulated kernel is looked at: by AddressSanitizer where it is asked for, else by the emulation itself,
# which the compiler calls by the names that ThreadSanitizer has for it.
KERNEL_C      := $(wildcard kernels/*.c kernels/ladder/*.c)
KERNEL_CU     := $(wildcard kernels/*.cu kernels/ladder/*.cu)
EMULATION_C   := $(wildcard kernels/emulation/*.c)
EMULATED      := $(patsubst kernels/%.c,$(BUILD)/emulated/%.o,$(KERNEL_C) $(EMULATION_C)) \
                 $(patsubst kernels/%.cu,$(BUILD)/emulated/%.cu.o,$(KERNEL_CU))
CUDA_OBJECTS  := $(patsubst kernels/%.c,$(BUILD)/cuda/%.o,$(KERNEL_C)) \
                 $(patsubst kernels/%.cu,$(BUILD)/cuda/%.cu.o,$(KERNEL_CU))
# What a plugin takes along of the engine.
PLUGIN_ENGINE := $(patsubst %.c,$(BUILD)/pic/%.o,engine/base/error.c engine/base/timing.c engine/base/units.c)
PLUGIN        := $(BUILD)/ringside-cuda.so
PLUGIN_EMULATION := $(BUILD)/ringside-cuda-emulation.so
LIBEMULATED   := $(BUILD)/libemulated.a
EMULATED_C    := -fPIC -DKERNELS_EMULATED -Ikernels/emulation
EMULATED_SAN  := $(or $(SAN),-fsanitize=thread)

$(BUILD)/emulated/emulation/%.o: OPT := $(subst -O2,-O3,$(OPT))
$(BUILD)/emulated/%.o: kernels/%.c
	@mkdir -p $(@D)
	@echo "cc      $< (emulated)"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(EMULATED_C) -c -o $@ $<

$(BUILD)/pic/%.o: %.c
	@mkdir -p $(@D)
	@echo "cc      $< (for plugins)"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

CUDA_ROOT    = $(patsubst %/bin/nvcc,%,$(filter /%/bin/nvcc,$(lastword $(NVCC))))
CUDA_TOOLKIT = $(CUDA_ROOT:%=-DKERNELS_TOOLKIT='"%"')
$(CUDA_OBJECTS): $(BUILD)/cuda.flags
$(BUILD)/cuda/%.o: kernels/%.c
	@mkdir -p $(@D)
	@echo "cc      $< (for GPUs)"
	$(Q)$(CC) $(CPPFLAGS) -DKERNELS_BUILD='"$(CUDA_TARGETS)"' $(CUDA_TOOLKIT) $(CFLAGS) -fPIC -fvisibility=hidden $(CUDA_INCLUDE) \
	    $(CUDA_FLAGS) -c -o $@ $<

# What ptxas tells of registers is kept for tests/check/spills.
$(BUILD)/cuda/%.cu.o: kernels/%.cu
	@mkdir -p $(@D)
	@echo "nvcc    $<"
	$(Q)$(NVCC) $(CUDA_GENCODE) -std=c++17 -O3 -lineinfo -Werror all-warnings -Xptxas -v -Xcompiler -fPIC,-fvisibility=hidden \
	    -I. $(CUDA_FLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $< >$(@:.o=.ptxas) 2>&1 || { cat $(@:.o=.ptxas); exit 1; }

$(PLUGIN): $(CUDA_OBJECTS) $(PLUGIN_ENGINE)
	@echo "link    $@"
	$(Q)$(NVCC) $(CUDA_GENCODE) -shared -cudart static -Xlinker --no-undefined,--exclude-libs=ALL $(CUDA_FLAGS) -o $@ $^ -ldl

$(PLUGIN_EMULATION): $(EMULATED) $(PLUGIN_ENGINE)
	@echo "link    $@"
	$(Q)$(CXX) $(LDFLAGS) -shared $(if $(SAN),,-Wl$(comma)--no-undefined) -o $@ $^ -ldl -lpthread -lm

# The tests of the backend with the GPU's own kernels: for a machine that has one.
GPU_TESTS := $(patsubst %,$(BUILD)/gpu/test_%,ops training)
$(GPU_TESTS:=.o): $(BUILD)/cuda.flags
$(GPU_TESTS:=.o): $(BUILD)/gpu/%.o: tests/unit/kernels/%.c
	@mkdir -p $(@D)
	@echo "cc      $< (for GPUs)"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(CUDA_INCLUDE) $(CUDA_FLAGS) -c -o $@ $<
$(GPU_TESTS): %: %.o $(CUDA_OBJECTS) $(LIBBACK) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CXX) $(LDFLAGS) -fopenmp -o $@ $^ -L$(or $(CUDA_ROOT),$(CUDA_HOME))/lib64 -lcudart_static $(BACK_LIBS) $(MPI_L) -lcmocka -ldl -lrt
.PHONY: gpu-tests
gpu-tests: $(GPU_TESTS)

# Left out where it cannot be built; and of no use under a sanitizer, which knows no GPU.
.PHONY: gpu-plugin kernels-all
all gpu-plugin: $(if $(SAN),,$(if $(CUDA),$(PLUGIN)))
kernels-all:
	@$(MAKE) $(JOBS) --no-print-directory CUDA_ARCHS=all BUILD=$(BUILD)/all-gpus gpu-plugin
	@tests/check/spills $(BUILD)/all-gpus || [ $$? = 3 ]

$(LIBEMULATED): $(EMULATED)
	@rm -f $@
	$(Q)ar rcs $@ $^

emulate_cu = @mkdir -p $(@D); echo "c++     $< (emulated)"
emulate_cu += $(if $(V),; set -x); $(CXX) -x c++ -std=c++20 -Wall -Wextra -Werror -Wno-unknown-pragmas $(OPT) \
              $(EMULATED_SAN) $(EMULATED_C) -I. -MMD -MP -include kernels/emulation/device.h -c -o $@ $<
$(BUILD)/emulated/%.cu.o: kernels/%.cu
	$(emulate_cu)
$(BUILD)/tests/unit/kernels/%.cu.o: tests/unit/kernels/%.cu
	$(emulate_cu)

# --- tests --------------------------------------------------------------------------------------------------
# tests/unit/FOLDER mirrors the tree; a test of the engine's back links the back, the others the front.
UNIT_SRC  := $(wildcard tests/unit/*/test_*.c)
MPI_SRC   := $(wildcard tests/mpi/*.c)
UNIT_BACK := $(filter tests/unit/nn/% tests/unit/data/% tests/unit/comm/% tests/unit/train/%,$(UNIT_SRC))
UNIT_BIN  := $(patsubst %.c,$(BUILD)/%,$(UNIT_SRC))
MPI_BIN   := $(patsubst %.c,$(BUILD)/%,$(MPI_SRC))

UNIT_GPU  := $(filter tests/unit/kernels/%,$(UNIT_SRC))
$(patsubst %.c,$(BUILD)/%,$(UNIT_GPU)): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/unit/kernels/planted.cu.o \
    $(LIBEMULATED) $(LIBBACK) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CC) $(LDFLAGS) -fopenmp -o $@ $^ $(BACK_LIBS) $(MPI_L) -lcmocka -lstdc++
$(BUILD)/tests/unit/kernels/%.o: CFLAGS += -Ikernels/emulation -DKERNELS_EMULATED

$(patsubst %.c,$(BUILD)/%,$(filter-out $(UNIT_BACK) $(UNIT_GPU),$(UNIT_SRC))): $(BUILD)/%: $(BUILD)/%.o $(LIBFRONT) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(FRONT_LIBS) -lcmocka -lz

$(patsubst %.c,$(BUILD)/%,$(UNIT_BACK)): $(BUILD)/%: $(BUILD)/%.o $(LIBBACK) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CC) $(LDFLAGS) -fopenmp -o $@ $^ $(BACK_LIBS) $(MPI_L) -lcmocka

# Plugins that stand for GPUs; walled.so uses the CPU backend of the program that loads it.
PLUGINS := $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/plugins/*.c))
$(PLUGINS): $(BUILD)/tests/plugins/%.so: tests/plugins/%.c
	@mkdir -p $(@D)
	@echo "link    $@"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(MPI_C) -fPIC -shared -o $@ $<

$(MPI_BIN): LDFLAGS += -rdynamic
$(MPI_BIN): $(BUILD)/%: $(BUILD)/%.o $(LIBBACK) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CC) $(LDFLAGS) -fopenmp -o $@ $^ $(BACK_LIBS) $(MPI_L)

# Our side of a comparison that a script in tests/bench runs.
BENCH_BIN := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c tests/gpu/*.c))
$(BENCH_BIN): $(BUILD)/%: $(BUILD)/%.o $(LIBBACK) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CC) $(LDFLAGS) -fopenmp -o $@ $^ $(BACK_LIBS) $(MPI_L)

# What only a GPU can show: one table, in less than four minutes.
.PHONY: gpu-check
gpu-check:
	@BUILD=$(BUILD) tests/gpu/check

# Random keys over all screens: some hundred in `make test`, MONKEY_KEYS from SEED on under the sanitizers by `make monkey`.
MONKEY_BIN := $(BUILD)/tests/monkey/monkey
$(MONKEY_BIN): %: %.o $(LIBFRONT) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(FRONT_LIBS)

.SECONDARY:
tests-build: all $(UNIT_BIN) $(MPI_BIN) $(PLUGIN_EMULATION) $(PLUGINS) $(MONKEY_BIN)
.PHONY: tests-build

test:
	@.ci/deps test
	@$(MAKE) $(JOBS) --no-print-directory tests-build
	@BUILD=$(BUILD) tests/run

sanitize:
	@.ci/deps test
	@$(MAKE) $(JOBS) --no-print-directory BUILD=$(BUILD)-sanitize OPT="-O1 -g" \
	    SAN="-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined" tests-build
	@BUILD=$(BUILD)-sanitize tests/sanitize

check:
	@.ci/deps check
	@BUILD=$(BUILD) tests/check/all

format:
	clang-format -i $$(git ls-files '*.c' '*.h' '*.cu')

bench:
	@.ci/deps test
	@$(MAKE) $(JOBS) --no-print-directory tests-build
	@$(MAKE) $(JOBS) --no-print-directory $(BENCH_BIN)
	@BUILD=$(BUILD) tests/bench/all

# Random collectives for SOAK_S seconds, outside `make test`.
SOAK_BIN := $(BUILD)/tests/soak/soak
$(SOAK_BIN): %: %.o $(LIBBACK) $(LIBSHARED)
	@echo "link    $@"
	$(Q)$(CC) $(LDFLAGS) -fopenmp -o $@ $^ $(BACK_LIBS) $(MPI_L)

soak:
	@.ci/deps test
	@$(MAKE) $(JOBS) --no-print-directory $(SOAK_BIN)
	@BUILD=$(BUILD) tests/soak/run

monkey:
	@.ci/deps test
	@$(MAKE) $(JOBS) --no-print-directory BUILD=$(BUILD)-sanitize OPT="-O1 -g" \
	    SAN="-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined" \
	    $(BUILD)-sanitize/ringside $(BUILD)-sanitize/tests/monkey/monkey
	@BUILD=$(BUILD)-sanitize tests/monkey/run

deps:
	@.ci/deps run

run:
	@.ci/deps run
	@$(MAKE) $(JOBS) --no-print-directory all
	@BUILD=$(BUILD) .ci/main-job

PREFIX ?= /usr/local
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/ringside
	install $(BUILD)/ringside $(BUILD)/ringside-rank $(DESTDIR)$(PREFIX)/bin
	cp -R lessons exercises $(DESTDIR)$(PREFIX)/share/ringside
	if [ -f $(PLUGIN) ]; then install $(PLUGIN) $(DESTDIR)$(PREFIX)/bin; fi
	if [ -d $(BUILD)/locale ]; then cp -R $(BUILD)/locale $(DESTDIR)$(PREFIX)/share; fi

clean:
	rm -rf $(BUILD) $(BUILD)-sanitize

-include $(shell [ -d $(BUILD) ] && find $(BUILD) -name '*.d' 2>/dev/null)
