# The Makefile, and how the tests are built that only make sense in the test
# machine. Use: make -f tests/cgroup2/rules.mk cgroup2-programs, in the top
# folder.
include Makefile

CGROUP2_TESTS := $(B)/tests/unit/cgroup2/test_wall \
	$(foreach t,cgroup boxer boxer_life weight work filter host, \
		$(B)/tests/unit/box/test_$(t))

.PHONY: cgroup2-programs
cgroup2-programs: all $(B)/tests/escape/box $(CGROUP2_TESTS)

# As deep as those of the box, from where they look for sandbox-init. gcc does
# not know that cmocka's assert_non_null() does not return.
$(B)/tests/unit/cgroup2/%: tests/cgroup2/%.c tests/unit/box/boxer_fixture.h \
		$(B)/libbox.a $(B)/libbase.a
	@mkdir -p $(@D)
	@echo "LD   $@"
	$(Q)$(CC) $(CFLAGS) -Wno-null-dereference $(LDFLAGS) -Itests/unit/box \
		-o $@ $< $(B)/libbox.a $(B)/libbase.a \
		-lcmocka $(BOX_LIBS) $(BASE_LIBS)
