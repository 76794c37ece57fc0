// Proves that the devnet, the clients and the fault proxy do what their heads say.
//   ./install.sh devnet v1 && node selftest.mjs          the last line: "N passed, N failed"
import { testFaults } from "./selftest/faults.mjs";
import { openMarket, tally } from "./selftest/kit.mjs";
import { testPayments } from "./selftest/payments.mjs";
import { testPrograms } from "./selftest/programs.mjs";

const market = await openMarket();
await testPayments(market);
await testFaults(market);
await testPrograms(market);
await market.close();

console.log(`${tally.passed} passed, ${tally.failed} failed`);
process.exit(tally.failed === 0 ? 0 : 1);
