// Moments chosen by hand. The wall clock jumps by hours, both ways, at bad ones: nothing is charged twice, no answer and no
// owed run is lost. A run is killed in each of its starts: then it is one for a refund by hand, and says so.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../blackbox/runner.mjs";
import { readChain } from "./account.mjs";
import { ask, askUntilAnswered, createJob } from "./buyer.mjs";
import { STATE } from "./page.mjs";

const HOUR = 3600;
const STARTS = 3;
const WITHIN_MS = 30_000;

/** long: also what takes minutes */
export async function chosenMoments(test, service, offers, random, long) {
  const { page, info } = service;
  const patient = () => {
    const deadline = Date.now() + WITHIN_MS;
    return () => Date.now() > deadline;
  };
  const answered = async (job) => {
    assert.equal(await askUntilAnswered(job, service, offers, patient()), "answered", job.last);
    assert.deepEqual(job.wrong, []);
  };
  const assertCharged = async (job, times) => {
    await readChain([job], info);
    assert.equal(job.used, times, "charges");
  };

  for (const hours of [5, -5, 30, -30]) {
    await test(`the clock jumps by ${hours} hours in mid-run and back again: one charge, and the same answer each time`, async () => {
      const job = createJob(info.payers, random, { runtime: "bash", source: "echo here; sleep 0.5", prints: "here\n" });
      try {
        const first = answered(job);
        await sleep(200);
        page.jump(hours * HOUR);
        await first;
        await answered(job);
      } finally {
        page.jump(0);
      }
      await answered(job);
      await assertCharged(job, 1);
    });
  }

  await test("killed between payment and run, and a day later by the clock: the run is still owed, for one charge", async () => {
    const job = createJob(info.payers, random);
    page.arm({ name: "settled.after", left: 1, self: true });
    assert.equal(await ask(job, service, offers), "again");
    page.jump(30 * HOUR);
    try {
      await answered(job);
      await answered(job);
    } finally {
      page.jump(0);
    }
    await assertCharged(job, 1);
  });

  await test("the clock is ahead at the claim, killed before the answer is noted, and the clock right again: it is found paid, and run", async () => {
    const job = createJob(info.payers, random);
    page.jump(20);
    try {
      page.arm({ name: "settled.before", left: 1, self: true });
      assert.equal(await ask(job, service, offers), "again");
    } finally {
      page.jump(0);
    }
    await answered(job);
    await assertCharged(job, 1);
  });

  if (long) {
    await test("the clock jumps by 30 hours, for minutes: the answer is still there", async () => {
      const job = createJob(info.payers, random);
      await answered(job);
      page.jump(30 * HOUR);
      try {
        // What has expired goes once a minute.
        await sleep(75_000);
        await answered(job);
      } finally {
        page.jump(0);
      }
      await assertCharged(job, 1);
    });
  }

  await test("killed in each of its three starts: a 500 that stays, on record for a refund, for one charge", async () => {
    const job = createJob(info.payers, random);
    for (let start = 0; start < STARTS; start++) {
      page.arm({ name: "running.after", left: 1, self: true });
      await until("it was killed once more", async () => {
        await ask(job, service, offers);
        return page.state() === STATE.fired;
      });
      await service.untilHealthy();
    }
    for (let time = 0; time < 2; time++) {
      await until("it is given up", async () => (await ask(job, service, offers)) === "again" && /SANDBOX_SETUP_FAILED/.test(job.last));
    }
    const [{ nonce }] = job.authorizations;
    assert.ok(service.command(["payments", "--state", "owed"]).includes(nonce.toLowerCase()), "it is listed as owed");
    await assertCharged(job, 1);
  });

  await test("a payment whose time is over by a clock that is ahead is not charged, and taken when the clock is right", async () => {
    const job = createJob(info.payers, random);
    page.jump(5 * HOUR);
    try {
      assert.equal(await ask(job, service, offers), "sign");
      await assertCharged(job, 0);
    } finally {
      page.jump(0);
    }
    assert.equal(await ask(job, service, offers), "answered", job.last);
    await assertCharged(job, 1);
  });
}
