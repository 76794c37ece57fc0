/* Which JavaScript is an ES module (api.md section 2)? */
#include "web/esm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool
module(const char *s)
{
	return esm_is_module(s, strlen(s));
}

static void
modules(void **state)
{
	static const char *const yes[] = {
		"import fs from 'fs'",
		"import 'fs';",
		"import{a}from'b'",
		"import * as x from 'y'",
		"const a = 1\nexport { a }",
		"export default 3",
		"export const x = 1",
		"console.log(import.meta.url)\nimport.meta",
		"#!/usr/bin/env node\nimport 'x'",
		"await x",
		"const r = await fetch('x')",
		"for await (const x of y()) {}",
		"if (a) { await b }",
		"try { await b } catch (e) { }",
		"const f = async () => await g()\nawait f()",
		"const f = async () => { await g() }\nawait f()",
		"const s = `${await x}`",
		"const o = { a: await b }",
		"/* c */ // d\nimport x from 'y'",
		"const r = /[/'\"`]/; import x from 'y'",
		"const a = b / c; import x from 'y' // '/",
		"[1].map(x => x * 2); await y",
		"async function f() { await a }\nawait f()",
		"class A { async m() { await x } }\nawait new A().m()",
		"console.log(await Promise.resolve(42))",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!module(yes[i]))
			fail_msg("not seen as a module: %s", yes[i]);
}

static void
scripts(void **state)
{
	static const char *const no[] = {
		"",
		"console.log(1)",
		"const fs = require('fs')",
		"import('fs').then(console.log)",
		"// import x from 'y'",
		"/* export default 1 */",
		"'import x from y'",
		"\"\\\"\"; 'await x'",
		"`import ${1} export`",
		"`a ${`b ${c} import`} d`",
		"a.import = 1; b.export(2); c.await",
		"const o = { import: 1, export: 2 }",
		"async function f() { await x }",
		"const f = async () => { await x }",
		"const f = async () => await x;",
		"const f = async x => await x\nf()",
		"(async () => { await x })()",
		"(async () => await x)()",
		"class A { async m(a) { if (a) { await b } } }",
		"const o = { async m() { for (;;) { await x } } }",
		"const r = /import x/; /await y/.test(z)",
		"function g() { return /export /.test(s) }",
		"new Promise(async (r) => { await r() })",
		"p.then(async function () { for await (const a of b) { } })",
		"xs.map(async x => await x, 1)",
		"module.exports = { importer: 1 }",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (module(no[i]))
			fail_msg("seen as a module: %s", no[i]);
}

/* Whatever comes in, the scanner stays inside it and ends. */
static void
rubbish(void **state)
{
	static const char *const odd[] = { "`${", "`", "'", "\"\\", "/", "/[",
		"/*", "}}}}", "))))", "${", "\\", "=>", "...", "a=>",
		"`${`${`" };
	char deep[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_false(module(odd[i]));
	memset(deep, '{', sizeof(deep));
	assert_false(esm_is_module(deep, sizeof(deep)));
	memset(deep, '(', sizeof(deep));
	assert_false(esm_is_module(deep, sizeof(deep)));
	memset(deep, '}', sizeof(deep));
	assert_false(esm_is_module(deep, sizeof(deep)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules),
		cmocka_unit_test(scripts),
		cmocka_unit_test(rubbish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
