# The Makefile and how to build the tests that only make sense in the test
# machine; at the depth at which they look for sandbox-init. `make -f tests/cgroup2/rules.mk`, from the top folder.
include Makefile

$(B)/tests/unit/cgroup2/%: tests/cgroup2/%.c tests/unit/box/boxer_fixture.h \
		$(B)/libbox.a $(B)/libbase.a
	@mkdir -p $(@D)
	@echo "LD   $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Itests/unit/box -o $@ $< $(B)/libbox.a \
		$(B)/libbase.a -lcmocka $(BOX_LIBS) $(BASE_LIBS)
