import { startRpcTap } from "../../support/facilitator/rpc-tap.ts";
import { print, type Figure } from "../gateway/table.ts";
import { sendAll } from "./load.ts";
import { postBodies } from "./operation.ts";
import { own, startOwn } from "./sides.ts";
import { signBodies, signInvalidBodies } from "./signed-bodies.ts";
import { compareSides, compareToSide, findMedian, type PaymentLines, type BenchSetup } from "./setup.ts";

const atOnce = 32;
const settle = { path: "/settle", field: "success", good: true } as const;
const valid = { path: "/verify", field: "isValid", good: true } as const;
const invalid = { path: "/verify", field: "isValid", good: false } as const;
const ownRequests = 2_500;
const otherRequests = 400;
/** Number of requests after which V8 has compiled the measured code. */
const warmUps = 2_000;
/** CPU of x402-rs relative to the reference, measured in one run on 2026-11-21; used if its program is not found. */
const x402RsShare = 0.36 / 3.3;

/** CPU and rate of valid payments compared with the other sides, and rate of invalid payments, which cost no call. */
export const verificationLines: PaymentLines = {
  name: "verify",
  measure: async (setup) => [...(await measureValidPayments(setup)), ...(await measureInvalid(setup))],
};

async function measureValidPayments(setup: BenchSetup): Promise<readonly Figure[]> {
  const { sides, place } = setup;
  const sign = (count: number) => signBodies(place.token, count);
  const requests = { ours: ownRequests, others: otherRequests };
  for (const side of sides) {
    // Until its first settlement, ours also reads each nonce.
    await sendAll({ ...side, ...postBodies(side, sign(1), settle), atOnce: 1 });
    await sendAll({ ...side, ...postBodies(side, sign(side.name === own ? warmUps : otherRequests), valid), atOnce });
  }
  const what = `/verify of valid payments, ${atOnce} at a time`;
  const rounds = await compareSides(setup, { ...valid, what, atOnce, requests, sign });
  const cpu = compareToSide(rounds, ({ cpuMicros }) => cpuMicros, "x402-rs");
  const byReference = compareToSide(rounds, ({ cpuMicros }) => cpuMicros) / x402RsShare;
  return [
    Number.isNaN(cpu)
      ? { what: "CPU of a valid /verify against x402-rs, by the reference", figure: byReference, target: { most: 1 } }
      : { what: "CPU of a valid /verify against x402-rs", figure: cpu, target: { most: 1 } },
    {
      what: `valid /verify a second, ${atOnce} at a time, against the reference`,
      figure: compareToSide(rounds, ({ perSecond }) => perSecond),
      target: { least: 8 },
    },
  ];
}

/** Measures our facilitator behind a proxy that counts its calls. */
async function measureInvalid({ chain, place, rounds }: BenchSetup): Promise<readonly Figure[]> {
  await using tap = await startRpcTap(chain.url);
  await using side = await startOwn({ ...place, rpcUrl: tap.url });
  const sign = (count: number) => signInvalidBodies(place.token, count);
  const what = `/verify of invalid payments, ${atOnce} at a time`;
  const load = { ...invalid, what, atOnce, requests: { ours: 2 * ownRequests, others: 0 }, sign };
  await sendAll({ ...side, ...postBodies(side, sign(warmUps), invalid), atOnce });
  const recordedCalls = countPaymentCalls(tap.counts);
  const measured = (await compareSides({ sides: [side], rounds }, load)).get(own) ?? [];
  const calls = countPaymentCalls(tap.counts) - recordedCalls;
  print("RPC calls about invalid payments", [{ calls }]);
  return [
    {
      what: "invalid /verify a second",
      figure: findMedian(measured, ({ perSecond }) => perSecond),
      target: { least: 5_000 },
    },
    { what: "RPC calls about invalid payments", figure: calls, target: { most: 0 } },
  ];
}

/** Counts the calls caused by payments; the facilitator's own chain watch makes others. */
function countPaymentCalls(counts: ReadonlyMap<string, number>): number {
  return (counts.get("eth_call") ?? 0) + (counts.get("eth_estimateGas") ?? 0);
}
