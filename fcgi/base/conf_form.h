/*
 * The form of single settings: each function says what is wrong with value
 * ("must be an absolute path"), or NULL if nothing is. No look-up of any kind.
 * Private to conf*.c.
 */
#ifndef CONF_FORM_H
#define CONF_FORM_H

#include <stdbool.h>

const char *conf_form_account(const char *value); /* user or group name */
const char *conf_form_address(const char *value); /* of a payee or token */
const char *conf_form_address_port(const char *value);
const char *conf_form_addresses(const char *value);
const char *conf_form_asset_text(const char *value);
const char *conf_form_assignment(const char *value); /* NAME=value */
const char *conf_form_cidr(const char *value);	     /* address or block */
const char *conf_form_description(const char *value);
const char *conf_form_entry(const char *value);	  /* entry file's name */
const char *conf_form_evm_key(const char *value); /* 0x, 64 hex digits */
const char *conf_form_file(const char *value);	  /* path, relative or not */
const char *conf_form_gate(const char *value);
const char *conf_form_header(const char *value);   /* "Name: value" */
const char *conf_form_helper(const char *value);   /* what one can do */
const char *conf_form_holder(const char *value);   /* as address, any chain */
const char *conf_form_hook_env(const char *value); /* short NAME=value */
const char *conf_form_label(const char *value);	   /* [a-z0-9-] */
const char *conf_form_log(const char *value);
const char *conf_form_log_level(const char *value);
const char *conf_form_memory_limit(const char *value);
const char *conf_form_name(const char *value);	     /* NAME of a section */
const char *conf_form_name_price(const char *value); /* NAME=$PRICE */
const char *conf_form_network(const char *value);    /* CAIP-2 */
const char *conf_form_path(const char *value);
const char *conf_form_proxy(const char *value); /* http://HOST:PORT */
const char *conf_form_rootfs(const char *value);
const char *conf_form_route(const char *value);
const char *conf_form_service_name(const char *value);
const char *conf_form_contact(const char *value);
const char *conf_form_socket(const char *value);
const char *conf_form_store(const char *value);
const char *conf_form_url(const char *value);
const char *conf_form_rpc_url(const char *value);
const char *conf_form_variable_pattern(const char *value); /* NAME, PRE* */

/* Is it an address of an EVM chain other than zero (0x and 40 hex digits)? */
bool conf_form_evm_address(const char *value);

#endif
