/*
 * The three headers of x402.md section 8, byte for byte, and what they hold.
 */
#ifndef VECTORS_X402_HEADERS_H
#define VECTORS_X402_HEADERS_H

#define HEADER_REQUIRED                                                        \
	"eyJ4NDAyVmVyc2lvbiI6MiwiZXJyb3IiOiJQYXltZW50IHJlcXVpcmVkIiwicmVz"     \
	"b3VyY2UiOnsidXJsIjoiaHR0cHM6Ly9hcGkuZXhhbXBsZS5jb20vZXhlY3V0ZSIs"     \
	"ImRlc2NyaXB0aW9uIjoiUnVuIGNvZGUgaW4gYSBzYW5kYm94IiwibWltZVR5cGUi"     \
	"OiJhcHBsaWNhdGlvbi9qc29uIn0sImFjY2VwdHMiOlt7InNjaGVtZSI6ImV4YWN0"     \
	"IiwibmV0d29yayI6ImVpcDE1NTo4NDUzMiIsImFtb3VudCI6IjEwMDAwIiwiYXNz"     \
	"ZXQiOiIweDAzNkNiRDUzODQyYzU0MjY2MzRlNzkyOTU0MWVDMjMxOGYzZENGN2Ui"     \
	"LCJwYXlUbyI6IjB4NzA5OTc5NzBDNTE4MTJkYzNBMDEwQzdkMDFiNTBlMGQxN2Rj"     \
	"NzlDOCIsIm1heFRpbWVvdXRTZWNvbmRzIjozMDAsImV4dHJhIjp7Im5hbWUiOiJV"     \
	"U0RDIiwidmVyc2lvbiI6IjIifX1dfQ=="

#define HEADER_SIGNATURE                                                       \
	"eyJ4NDAyVmVyc2lvbiI6MiwicGF5bG9hZCI6eyJhdXRob3JpemF0aW9uIjp7ImZy"     \
	"b20iOiIweGYzOUZkNmU1MWFhZDg4RjZGNGNlNmFCODgyNzI3OWNmZkZiOTIyNjYi"     \
	"LCJ0byI6IjB4NzA5OTc5NzBDNTE4MTJkYzNBMDEwQzdkMDFiNTBlMGQxN2RjNzlD"     \
	"OCIsInZhbHVlIjoiMTAwMDAiLCJ2YWxpZEFmdGVyIjoiMTc0MDY3MjA4OSIsInZh"     \
	"bGlkQmVmb3JlIjoiMTc0MDY3MjM4OSIsIm5vbmNlIjoiMHgwMDAxMDIwMzA0MDUw"     \
	"NjA3MDgwOTBhMGIwYzBkMGUwZjEwMTExMjEzMTQxNTE2MTcxODE5MWExYjFjMWQx"     \
	"ZTFmIn0sInNpZ25hdHVyZSI6IjB4ZjRiNzFiZTA3YzlhZDJhMWM2OGUxZDU3NWE4"     \
	"NWE5ZDVkMGM1NTAyNjg5YTNlOWEyYzU2Zjk0OTAzNTk1MTYzYjQ3YWZjZDI5NTNl"     \
	"MmQ0YWEyMDg4YjY0YjgzMzNlZTJlYTYyMDFhOGRjMTE4YWVmZDM4YThlYjQ3N2Ni"     \
	"Y2UyZmUxYiJ9LCJyZXNvdXJjZSI6eyJ1cmwiOiJodHRwczovL2FwaS5leGFtcGxl"     \
	"LmNvbS9leGVjdXRlIiwiZGVzY3JpcHRpb24iOiJSdW4gY29kZSBpbiBhIHNhbmRi"     \
	"b3giLCJtaW1lVHlwZSI6ImFwcGxpY2F0aW9uL2pzb24ifSwiYWNjZXB0ZWQiOnsi"     \
	"c2NoZW1lIjoiZXhhY3QiLCJuZXR3b3JrIjoiZWlwMTU1Ojg0NTMyIiwiYW1vdW50"     \
	"IjoiMTAwMDAiLCJhc3NldCI6IjB4MDM2Q2JENTM4NDJjNTQyNjYzNGU3OTI5NTQx"     \
	"ZUMyMzE4ZjNkQ0Y3ZSIsInBheVRvIjoiMHg3MDk5Nzk3MEM1MTgxMmRjM0EwMTBD"     \
	"N2QwMWI1MGUwZDE3ZGM3OUM4IiwibWF4VGltZW91dFNlY29uZHMiOjMwMCwiZXh0"     \
	"cmEiOnsibmFtZSI6IlVTREMiLCJ2ZXJzaW9uIjoiMiJ9fX0="

#define HEADER_X_PAYMENT                                                       \
	"eyJ4NDAyVmVyc2lvbiI6MSwic2NoZW1lIjoiZXhhY3QiLCJuZXR3b3JrIjoiYmFz"     \
	"ZS1zZXBvbGlhIiwicGF5bG9hZCI6eyJzaWduYXR1cmUiOiIweGY0YjcxYmUwN2M5"     \
	"YWQyYTFjNjhlMWQ1NzVhODVhOWQ1ZDBjNTUwMjY4OWEzZTlhMmM1NmY5NDkwMzU5"     \
	"NTE2M2I0N2FmY2QyOTUzZTJkNGFhMjA4OGI2NGI4MzMzZWUyZWE2MjAxYThkYzEx"     \
	"OGFlZmQzOGE4ZWI0NzdjYmNlMmZlMWIiLCJhdXRob3JpemF0aW9uIjp7ImZyb20i"     \
	"OiIweGYzOUZkNmU1MWFhZDg4RjZGNGNlNmFCODgyNzI3OWNmZkZiOTIyNjYiLCJ0"     \
	"byI6IjB4NzA5OTc5NzBDNTE4MTJkYzNBMDEwQzdkMDFiNTBlMGQxN2RjNzlDOCIs"     \
	"InZhbHVlIjoiMTAwMDAiLCJ2YWxpZEFmdGVyIjoiMTc0MDY3MjA4OSIsInZhbGlk"     \
	"QmVmb3JlIjoiMTc0MDY3MjM4OSIsIm5vbmNlIjoiMHgwMDAxMDIwMzA0MDUwNjA3"     \
	"MDgwOTBhMGIwYzBkMGUwZjEwMTExMjEzMTQxNTE2MTcxODE5MWExYjFjMWQxZTFm"     \
	"In19fQ=="

#define JSON_REQUIRED                                                          \
	"{\"x402Version\":2,\"error\":\"Payment required\","                   \
	"\"resource\":{\"url\":\"https://api.example.com/execute\","           \
	"\"description\":\"Run code in a sandbox\","                           \
	"\"mimeType\":\"application/json\"},"                                  \
	"\"accepts\":[{\"scheme\":\"exact\","                                  \
	"\"network\":\"eip155:84532\",\"amount\":\"10000\","                   \
	"\"asset\":\"0x036CbD53842c5426634e7929541eC2318f3dCF7e\","            \
	"\"payTo\":\"0x70997970C51812dc3A010C7d01b50e0d17dc79C8\","            \
	"\"maxTimeoutSeconds\":300,\"extra\":{\"name\":\"USDC\","              \
	"\"version\":\"2\"}}]}"

#define JSON_SIGNATURE                                                         \
	"{\"x402Version\":2,"                                                  \
	"\"payload\":{\"authorization\":{\"from\":"                            \
	"\"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\","                      \
	"\"to\":\"0x70997970C51812dc3A010C7d01b50e0d17dc79C8\","               \
	"\"value\":\"10000\",\"validAfter\":\"1740672089\","                   \
	"\"validBefore\":\"1740672389\","                                      \
	"\"nonce\":"                                                           \
	"\"0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" \
	"\"},"                                                                 \
	"\"signature\":"                                                       \
	"\"0xf4b71be07c9ad2a1c68e1d575a85a9d5d0c5502689a3e9a2c56f94903595163b" \
	"47afcd2953e2d4aa2088b64b8333ee2ea6201a8dc118aefd38a8eb477cbce2fe1b\"" \
	"},"                                                                   \
	"\"resource\":{\"url\":\"https://api.example.com/execute\","           \
	"\"description\":\"Run code in a sandbox\","                           \
	"\"mimeType\":\"application/json\"},"                                  \
	"\"accepted\":{\"scheme\":\"exact\","                                  \
	"\"network\":\"eip155:84532\",\"amount\":\"10000\","                   \
	"\"asset\":\"0x036CbD53842c5426634e7929541eC2318f3dCF7e\","            \
	"\"payTo\":\"0x70997970C51812dc3A010C7d01b50e0d17dc79C8\","            \
	"\"maxTimeoutSeconds\":300,\"extra\":{\"name\":\"USDC\","              \
	"\"version\":\"2\"}}}"

#define JSON_X_PAYMENT                                                         \
	"{\"x402Version\":1,\"scheme\":\"exact\","                             \
	"\"network\":\"base-sepolia\","                                        \
	"\"payload\":{\"signature\":"                                          \
	"\"0xf4b71be07c9ad2a1c68e1d575a85a9d5d0c5502689a3e9a2c56f94903595163b" \
	"47afcd2953e2d4aa2088b64b8333ee2ea6201a8dc118aefd38a8eb477cbce2fe1b\"" \
	","                                                                    \
	"\"authorization\":{\"from\":"                                         \
	"\"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\","                      \
	"\"to\":\"0x70997970C51812dc3A010C7d01b50e0d17dc79C8\","               \
	"\"value\":\"10000\",\"validAfter\":\"1740672089\","                   \
	"\"validBefore\":\"1740672389\","                                      \
	"\"nonce\":"                                                           \
	"\"0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" \
	"\"}}}"

#endif
