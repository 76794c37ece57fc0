# Tollbox. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := all

CC ?= cc
B ?= build
SAN ?=
# POINTS=1: fault points for the crash tests (fcgi/base/point.h).
POINTS ?=

# V=1 shows whole command lines.
Q := $(if $(V),,@)

comma := ,
# Of the package, and so of the program.
VERSION := $(shell head -n 1 debian/changelog | tr -d '()' | cut -d' ' -f2)
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)

WERROR := -Werror
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2 \
	-Wstrict-prototypes -Wmissing-prototypes -Wvla -Wcast-qual \
	-Wwrite-strings -Wundef -Wnull-dereference -Wswitch-enum $(WERROR)
# gcc 12 reports its own inlining as null dereferences under a sanitizer.
SANWARN := $(if $(SAN),-Wno-null-dereference)
HARDEN := $(if $(SAN),-O1 -fno-omit-frame-pointer -fsanitize=$(SAN) \
	-fno-sanitize-recover=all,-O2 -D_FORTIFY_SOURCE=2) \
	-fstack-protector-strong -fstack-clash-protection
CFLAGS := -std=gnu11 -g $(WARN) $(SANWARN) $(HARDEN) -fPIE -D_GNU_SOURCE \
	-DTOLLBOX_VERSION='"$(VERSION)"' -DTOLLBOX_COMMIT='"$(COMMIT)"' \
	$(if $(POINTS),-DTOLLBOX_POINTS) -Ifcgi -MMD -MP
LDFLAGS := -pie -Wl,-z,relro,-z,now $(if $(SAN),-fsanitize=$(SAN)) \
	$(if $(POINTS),-Wl$(comma)--wrap=time)

BASE_LIBS := -lcjson -linih -lcrypto -lm
PAY_LIBS := -lnettle -lsecp256k1 -lcurl -lsqlite3 -lz
BOX_LIBS := -lseccomp
WEB_LIBS := -lfcgi -lpthread

ROOMS := base pay box web
SRC_base := $(filter-out $(if $(POINTS),,fcgi/base/point.c),\
	$(wildcard fcgi/base/*.c))
SRC_pay := $(wildcard fcgi/pay/*.c)
SRC_box := $(wildcard fcgi/box/*.c)
SRC_web := $(wildcard fcgi/web/*.c fcgi/web/dialects/*.c)
SRC_main := $(wildcard fcgi/*.c)
SRC_init := $(wildcard sandbox-scripts/*.c) \
	$(addprefix fcgi/base/,wire.c wild.c utf8.c buf.c)
SRC_all := $(SRC_base) $(SRC_pay) $(SRC_box) $(SRC_web) $(SRC_main)
obj = $(patsubst %.c,$(B)/%.o,$(1))
LIBS_ALL := $(foreach r,web box pay base,$(B)/lib$(r).a)

.PHONY: all
all: $(B)/tollbox $(B)/sandbox-init

$(B)/tollbox: $(call obj,$(SRC_main)) $(LIBS_ALL)
	@echo "LD   $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(WEB_LIBS) $(BOX_LIBS) $(PAY_LIBS) $(BASE_LIBS)

define room
$(B)/lib$(1).a: $$(call obj,$$(SRC_$(1)))
	@rm -f $$@
	$$(Q)ar rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room,$(r))))

# What tells version and commit is made anew when they have changed.
STAMP := $(VERSION) $(COMMIT)
$(B)/stamp: FORCE | $(B)
	@[ "$$(cat $@ 2>/dev/null)" = "$(STAMP)" ] || echo "$(STAMP)" >$@
.PHONY: FORCE
FORCE:
$(call obj,$(shell grep -lE 'TOLLBOX_(VERSION|COMMIT)' $(SRC_all))): $(B)/stamp

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "CC   $<"
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<

# PID 1 of every sandbox: static, small, never sanitized (it runs where no
# sanitizer's runtime may be). With musl where that is installed: glibc asks the
# processor about its caches at each start, which takes a virtual machine most
# of a millisecond.
MUSL := $(if $(filter clang,$(CC)),,$(shell command -v musl-gcc))
INIT_CC := $(if $(MUSL),$(MUSL) -idirafter /usr/include \
	-idirafter /usr/include/$(shell $(CC) -print-multiarch),$(CC))
INIT_CFLAGS := -std=gnu11 -O2 -g $(WARN) -D_GNU_SOURCE -static -Ifcgi
$(B)/sandbox-init: $(SRC_init) $(wildcard fcgi/base/*.h sandbox-scripts/*.h) | $(B)
	@echo "LD   $@ (static)"
	$(Q)$(INIT_CC) $(INIT_CFLAGS) -D_FORTIFY_SOURCE=2 \
		-fstack-protector-strong -o $@ $(SRC_init)

$(B):
	@mkdir -p $@

# ---- unit tests: each links its own room and the rooms below it ----
UNIT_base := base
UNIT_pay := pay base
UNIT_box := box base
UNIT_web := web box pay base
UNIT := $(foreach r,$(ROOMS),$(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/$(r)/test_*.c)))
# gcc does not know that a failed cmocka assertion never returns.
UNITWARN := -Wno-null-dereference
define unit
$(B)/tests/unit/$(1)/%: tests/unit/$(1)/%.c $(foreach l,$(UNIT_$(1)),$(B)/lib$(l).a)
	@mkdir -p $$(@D)
	@echo "LD   $$@"
	$$(Q)$$(CC) $$(CFLAGS) $$(UNITWARN) $$(LDFLAGS) -o $$@ $$< $(foreach l,$(UNIT_$(1)),$(B)/lib$(l).a) \
		-lcmocka $(if $(findstring web,$(1)),$(WEB_LIBS)) \
		$(if $(findstring box,$(UNIT_$(1))),$(BOX_LIBS)) \
		$(if $(findstring pay,$(UNIT_$(1))),$(PAY_LIBS)) $(BASE_LIBS)
endef
$(foreach r,$(ROOMS),$(eval $(call unit,$(r))))

REPLAY := $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
.PHONY: unit
unit: $(UNIT) $(REPLAY) $(B)/sandbox-init
	@tests/run-unit.sh $(UNIT) $(REPLAY)

.PHONY: asan
asan:
	$(MAKE) B=build/asan SAN=address,undefined all unit

.PHONY: points
points:
	$(MAKE) B=build/points POINTS=1 all

.PHONY: clean
clean:
	rm -rf build

-include $(patsubst %.o,%.d,$(call obj,$(SRC_all))) $(wildcard $(B)/tests/unit/*/*.d)

# ---- what people type ----
.PHONY: help deps demo run test lint blackbox crash crash-long escape \
	escape-long fuzz
help:
	@sed -nE 's/^#\? ?//p' Makefile packaging/rules.mk

#? make demo         install what is missing, build, pay, run, show, stop
demo:
	@TOLLBOX_TEST_B=$(B) tests/harness/demo.sh

#? make run          the whole stack in the foreground (Ctrl-C stops it)
run:
	@tests/harness/deps.sh demo
	@$(MAKE) all
	@TOLLBOX_TEST_B=$(B) exec tests/harness/run.sh

#? make test         all tests; ends on 'N passed, N failed'
test:
	@tests/run-all.sh

#? make deps         install the Debian and npm packages that are missing
deps:
	@tests/harness/deps.sh test

#? make all          the programs, in build/
#? make points       the same with fault points, for crash, in build/points/
#? make unit         unit tests          make asan  the same under ASan+UBSan
#? make lint         format, warnings, static analysis, structure
lint:
	@tests/lint/run.sh

#? make blackbox     through real nginx, chain, facilitator, clients
blackbox: all
	@TOLLBOX_TEST_B=$(B) tests/blackbox/run.sh

#? make crash        kills at each step of a payment, a sample (SECONDS=45)
crash: all points
	@SECONDS_LEFT=$(or $(SECONDS),45) tests/crash/run.sh
#? make crash-long   the same until 2000 kills (SECONDS=N: until then); totals
#?                   are kept in build/crash-totals.json and go on
crash-long: all points
	@SECONDS_LEFT=$(or $(SECONDS),0) tests/crash/run.sh --long

ESCAPE := $(addprefix $(B)/tests/escape/,box bin/faults init-without-rlimits \
	init-slow-poll)
#? make escape       attacks from inside the sandbox
escape: all $(ESCAPE)
	@tests/escape/run.sh
#? make escape-long  the same LOOPS=20 times at once, looking for leaks
escape-long: all $(ESCAPE)
	@LOOPS=$${LOOPS:-20} tests/escape/run.sh

$(B)/tests/escape/bin/faults: \
		$(patsubst %,tests/escape/%.c,faults case series) \
		$(wildcard tests/escape/*.h) tests/unit/box/boxer_fixture.h \
		$(B)/libbox.a $(B)/libbase.a
	@mkdir -p $(@D)
	@echo "LD   $@"
	$(Q)$(CC) $(CFLAGS) $(UNITWARN) -Itests $(LDFLAGS) -o $@ \
		$(filter %.c,$^) $(B)/libbox.a $(B)/libbase.a -lcmocka \
		-lpthread $(BOX_LIBS) $(BASE_LIBS)

# PID 1 with one layer less: it sets no limit.
$(B)/tests/escape/init-without-rlimits: $(SRC_init) tests/escape/no_limits.c \
		$(wildcard fcgi/base/*.h sandbox-scripts/*.h)
	@mkdir -p $(@D)
	@echo "LD   $@ (static)"
	$(Q)$(INIT_CC) $(INIT_CFLAGS) \
		-Dprlimit=no_limits -o $@ $(SRC_init) tests/escape/no_limits.c

# And one to which anything may happen between two looks.
$(B)/tests/escape/init-slow-poll: $(SRC_init) tests/escape/slow_poll.c \
		$(wildcard fcgi/base/*.h sandbox-scripts/*.h)
	@mkdir -p $(@D)
	@echo "LD   $@ (static)"
	$(Q)$(INIT_CC) $(INIT_CFLAGS) \
		-Dpoll=slow_poll -o $@ $(SRC_init) tests/escape/slow_poll.c

$(B)/tests/escape/box: tests/escape/box.c $(B)/libbox.a $(B)/libbase.a
	@mkdir -p $(@D)
	@echo "LD   $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(B)/libbox.a $(B)/libbase.a \
		$(BOX_LIBS) $(BASE_LIBS)

BENCH := $(B)/tests/bench/bin/bench
#? make bench        against a bare interpreter and plain bwrap; prints ratios
#?                   ARGS="latency --runtime bash --n 100 --json", see --help
.PHONY: bench
bench:
	@tests/harness/deps.sh bench >&2
	@$(MAKE) --no-print-directory all $(BENCH) >&2
	@B=$(B) node tests/bench/bench.mjs $(ARGS)

$(BENCH): $(wildcard tests/bench/*.[ch]) $(wildcard tests/unit/box/*_fixture.h) \
		$(B)/libbox.a $(B)/libbase.a
	@mkdir -p $(@D)
	@echo "LD   $@"
	$(Q)$(CC) $(CFLAGS) $(UNITWARN) -Itests $(LDFLAGS) -o $@ \
		$(filter %.c,$^) $(B)/libbox.a $(B)/libbase.a -lcmocka \
		-lpthread $(BOX_LIBS) $(BASE_LIBS)

#? make test-cgroup2 cgroup v2 for real, in qemu (software emulation; minutes)
.PHONY: test-cgroup2
test-cgroup2:
	@B=$(B) tests/cgroup2/run.sh

include packaging/rules.mk

#? make clean        remove what was built
#? make fuzz         libFuzzer on every parser, SECONDS_EACH=60 each
SECONDS_EACH ?= 60
FUZZ := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz: $(addprefix build/fuzz/,$(FUZZ))
	@tests/fuzz/run.sh $(SECONDS_EACH) $^

# All rooms and the parts of sandbox-init that a target drives by itself, in one
# archive: a target that stands in for a module simply has its functions.
SRC_fuzz := $(foreach r,$(ROOMS),$(SRC_$(r))) tests/fuzz/scene.c \
	$(patsubst %,sandbox-scripts/init_%.c,control files collect)
FUZZ_LIBS := -lcmocka $(WEB_LIBS) $(BOX_LIBS) $(PAY_LIBS) $(BASE_LIBS)
# What else a target stands in for.
wrap = $(patsubst %,-Wl$(comma)--wrap=%,$(WRAP_$(1)))
comma := ,
WRAP_fuzz_cell := io_now_us epoll_wait log_write
WRAP_fuzz_collect := open
WRAP_fuzz_conf := open

FUZZ_CC := clang -std=gnu11 -g -O1 -fno-omit-frame-pointer -D_GNU_SOURCE \
	-DTOLLBOX_VERSION='"$(VERSION)"' -DTOLLBOX_COMMIT='"fuzz"' -Ifcgi -MMD -MP \
	-fno-sanitize-recover=all
build/fuzz/%.o: %.c
	@mkdir -p $(@D)
	@echo "CC   $< (fuzz)"
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<
build/fuzz/libfuzz.a: $(patsubst %.c,build/fuzz/%.o,$(SRC_fuzz))
	@rm -f $@
	$(Q)ar rcs $@ $^
build/fuzz/fuzz_%: tests/fuzz/fuzz_%.c build/fuzz/libfuzz.a
	@echo "LD   $@"
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $(filter %.c %.a,$^) \
		$(call wrap,$(@F)) $(FUZZ_LIBS)

# The same without libFuzzer: the corpus as a unit test.
$(B)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(B)/tests/fuzz/replay.o \
		$(B)/tests/fuzz/libfuzz.a
	@echo "LD   $@"
	$(Q)$(CC) $(CFLAGS) $(UNITWARN) $(LDFLAGS) -o $@ \
		$(filter %.c %.o %.a,$^) $(call wrap,$(@F)) $(FUZZ_LIBS)
$(B)/tests/fuzz/libfuzz.a: $(call obj,$(SRC_fuzz))
	@rm -f $@
	$(Q)ar rcs $@ $^
-include $(wildcard build/fuzz/*.d $(B)/tests/fuzz/*.d) \
	$(patsubst %.c,build/fuzz/%.d,$(SRC_fuzz))
