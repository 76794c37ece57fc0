// Debian 12's node 18 has Web Crypto, but not under the global name that the released x402 clients look for. Import this first.
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;
