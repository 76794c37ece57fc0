#include "web/dialects/native.h"

#include "base/json.h"
#include "web/member_schema.h"
#include "web/result.h"

static enum status
put(struct dialect_answer *out, const struct result *r)
{
	return result_put(out->body, r);
}

/* A program that prints 42, for a runtime that the site offers. */
static void
put_example(struct buf *out, const struct site *s)
{
	static const struct {
		const char *runtime;
		const char *source;
	} programs[] = {
		{ "python3", "print(6 * 7)" },
		{ "node", "console.log(6 * 7)" },
		{ "bash", "echo $((6 * 7))" },
		{ "r", "cat(6 * 7, sep = '', fill = TRUE)" },
	};
	const char *runtime = "", *source = "";

	for (size_t i = 0; i < s->base->n_runtimes && runtime[0] == '\0'; i++)
		if (site_runtime(s, s->base->runtimes[i].name) != NULL)
			runtime = s->base->runtimes[i].name;
	for (size_t i = sizeof(programs) / sizeof(programs[0]); i-- > 0;) {
		if (site_runtime(s, programs[i].runtime) == NULL)
			continue;
		runtime = programs[i].runtime;
		source = programs[i].source;
	}
	member_schema_json(out, "{'runtime':");
	json_put_string(out, runtime);
	json_key(out, "source");
	json_put_string(out, source);
	buf_addc(out, '}');
}

#define TEXT "{'type':'string'}"
#define COUNT "{'type':'integer','minimum':0}"
#define HEX64 "{'type':'string','pattern':'^[0-9a-f]{64}$'}"
#define TRUNCATED                                                              \
	"{'type':'object','required':['stdout','stderr'],'properties':"        \
	"{'stdout':{'type':'boolean'},'stderr':{'type':'boolean'}}}"
#define OUTCOME "{'enum':['completed','timeout','error']}"
#define PAYMENT(last)                                                          \
	"{'type':'object','required':['payer','amount','asset','network',"     \
	"'" last "'],'properties':{'payer':" TEXT ",'amount':"                 \
	"{'type':'string','pattern':'^[0-9]+$'},'asset':" TEXT                 \
	",'network':" TEXT ",'" last "':" TEXT "}}"

static const char answer_schema[] =
    "{'type':'object','required':['outcome','stdout','stderr','exitCode',"
    "'signal','durationMs','truncated','error','payment','receipt','usage'],"
    "'properties':{'outcome':" OUTCOME ",'stdout':" TEXT ",'stderr':" TEXT ","
    "'exitCode':{'type':['integer','null']},"
    "'signal':{'type':['string','null']},"
    "'durationMs':{'type':'number','minimum':0},"
    "'truncated':" TRUNCATED ","
    "'error':{'anyOf':[{'type':'null'},"
    "{'$ref':'#/components/schemas/Fault'}]},"
    "'payment':" PAYMENT(
	"transaction") ","
		       "'receipt':{'type':'object','required':['requestDigest',"
		       "'payment',"
		       "'priceUsd','price','tier','limits','usage','status','"
		       "outputDigest',"
		       "'runtime','issuedAt','issuer','signature'],'properties'"
		       ":{"
		       "'requestDigest':" HEX64 ",'outputDigest':" HEX64 ","
		       "'extrasDigest':" HEX64 ",'payment':" PAYMENT(
			   "reference") ","
					"'priceUsd':{'type':'number'},'price'"
					":" TEXT ",'tier':" TEXT ","
					"'limits':{'$ref':'#/components/"
					"schemas/Limits'},"
					"'usage':{'type':'object','required':['"
					"outcome','durationMs','exitCode',"
					"'truncated'],'properties':{'outcome'"
					":" OUTCOME ","
					"'durationMs':{'type':'number'},'"
					"exitCode':{'type':['integer','null']},"
					"'truncated':" TRUNCATED "}},"
					"'status':{'type':'object','required':["
					"'code','category','billable'],"
					"'properties':{'code':{'type':['string'"
					",'null']},'category':" TEXT ","
					"'billable':{'type':'boolean'}}},"
					"'runtime':" TEXT ",'issuedAt':" COUNT
					",'issuer':" TEXT ","
					"'signature':" TEXT "}},"
					"'result':{'description':'Only with "
					"evaluate.','anyOf':["
					"{'type':'null'},{'type':'object','"
					"required':['json']},"
					"{'type':'object','required':['repr'],"
					"'properties':{'repr':" TEXT "}}]},"
					"'outputs':{'description':'Only with "
					"outputs.','type':'array','items':"
					"{'type':'object','required':['path','"
					"mimeType','size'],'properties':{"
					"'path':" TEXT ",'mimeType':" TEXT
					",'size':" COUNT ",'content':" TEXT ","
					"'base64':{'type':'string','"
					"contentEncoding':'base64'},"
					"'omitted':{'const':'too_large'}}}},"
					"'usage':{'type':'object','required':['"
					"cpuMs','maxMemoryBytes'],"
					"'properties':{'cpuMs':{'type':'number'"
					"},'maxMemoryBytes':" COUNT "}}}}";

const struct dialect native_dialect = {
	.name = "native",
	.path = "/execute",
	.form = &request_native,
	.put = put,
	.receipt_in_body = true,
	.live = true,
	.summary = "Runs a program in a sandbox; the limits make the price",
	.answer_schema = answer_schema,
	.put_example = put_example,
	.answer_example =
	    "{'outcome':'completed','stdout':'42\\n','stderr':'',"
	    "'exitCode':0,'signal':null,'durationMs':31.4,'error':null}",
};
