# make install, uninstall, deb, test-install. Included by the Makefile.

#? make man          the manual pages, in build/man/
MAN := $(B)/man/tollbox.8 $(B)/man/tollbox.conf.5
.PHONY: man install install-files uninstall deb test-install test-systemd
man: $(MAN)

$(B)/man/%.8: docs/man/%.8
	@mkdir -p $(@D)
	$(Q)cp $< $@

# Made from the example, which is the list of all settings.
$(B)/man/tollbox.conf.5: docs/tollbox.conf.example docs/man/conf5.awk
	@mkdir -p $(@D)
	$(Q)awk -f docs/man/conf5.awk $< >$@.new
	$(Q)mv $@.new $@

# Where things go is compiled in and documented; DESTDIR is put before it.
LIBDIR := $(DESTDIR)/usr/lib/tollbox
UNITDIR := $(DESTDIR)/lib/systemd/system
NGINXDIR := $(DESTDIR)/etc/nginx
APACHEDIR := $(DESTDIR)/etc/apache2

# What an operator edits, in place only if nothing is there.
define keep
	$(Q)[ -e $(3) ] || install -D -m $(1) $(2) $(3)
endef

#? make install      programs, pages, unit, web servers' files, users, ledger's
#?                   folder
install: install-files
	packaging/users.sh
	@echo 'next: /etc/tollbox/tollbox.conf, tollbox check, docs/operator.md'

install-files: all man
	install -D -m 755 $(B)/tollbox $(DESTDIR)/usr/bin/tollbox
	install -D -m 755 $(B)/sandbox-init $(LIBDIR)/sandbox-init
	$(Q)for folder in sandbox-scripts/*/; do \
		install -D -m 644 -t \
			"$(LIBDIR)/runtimes/$$(basename "$$folder")" \
			"$$folder"*; \
	done
	install -D -m 644 -t $(DESTDIR)/usr/share/man/man8 $(B)/man/tollbox.8
	install -D -m 644 -t $(DESTDIR)/usr/share/man/man5 \
		$(B)/man/tollbox.conf.5
	install -D -m 644 -t $(UNITDIR) packaging/tollbox.service
	install -D -m 644 -t $(DESTDIR)/usr/share/tollbox/apparmor \
		packaging/apparmor/tollbox
	install -D -m 644 -t $(NGINXDIR) \
		nginx/tollbox.conf nginx/tollbox-pass.conf \
		nginx/tollbox-server.conf nginx/tollbox-page.conf
	install -D -m 644 -t $(DESTDIR)/usr/share/tollbox/page \
		nginx/page/index.html
	install -D -m 644 -t $(DESTDIR)/usr/share/tollbox/page/tollbox-page \
		nginx/page/tollbox-page/*
	install -D -m 644 -t $(APACHEDIR) apache/*.conf
	install -D -m 644 -t $(DESTDIR)/usr/share/tollbox/errors \
		apache/errors/*.json
	install -D -m 755 -t $(LIBDIR)/cgi cgi/tollbox.cgi
	$(call keep,644,nginx/tollbox-site.conf,$(NGINXDIR)/tollbox-site.conf)
	$(call keep,600,packaging/tollbox.conf,$(DESTDIR)/etc/tollbox/tollbox.conf)

#? make install-files  the same without the users (DESTDIR=FOLDER)
#? make uninstall    all of it but settings, web servers' files, users and the
#?                   ledger
uninstall:
	rm -f $(DESTDIR)/usr/bin/tollbox $(UNITDIR)/tollbox.service \
		$(DESTDIR)/usr/share/man/man8/tollbox.8 \
		$(DESTDIR)/usr/share/man/man5/tollbox.conf.5
	rm -rf $(LIBDIR) $(DESTDIR)/usr/share/tollbox
	@echo 'kept: /etc/tollbox, /etc/nginx/tollbox*.conf,' \
		'/etc/apache2/tollbox*.conf, /var/lib/tollbox'

#? make deb          the Debian package, in build/deb/
deb:
	@tests/harness/deps.sh package
	@rm -f $(B)/deb/tollbox*_* # so that tollbox_*.deb is one package
	@packaging/deb.sh $(B)/deb

#? make test-install the package in a clean Debian: installed, paid, upgraded,
#?                   removed (root; some minutes the first time)
test-install:
	@tests/harness/deps.sh package
	@tests/install/run.sh $(B)

#? make test-systemd the package under a real systemd with cgroup v2, in qemu
#?                   (root; some minutes)
test-systemd:
	@tests/harness/deps.sh package
	@tests/systemd/run.sh $(B)
