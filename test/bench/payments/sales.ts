import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { print, type Figure } from "../gateway/table.ts";
import { quantile } from "../measurement.ts";
import { sendAll, type RawResult } from "./raw-load.ts";
import {
  formatRequest,
  own,
  signRequests,
  startExpressSeller,
  startOwnSeller,
  startStubs,
  type Seller,
} from "./sellers.ts";

export type SalesOptions = Readonly<{
  rounds: number;
  /** Sales of each side in a round; there are four times as many unpaid requests. */
  sales: number;
  atOnce: number;
}>;

type Rounds = readonly Readonly<{ ours: RawResult; others: RawResult }>[];

/**
 * Measures paid sales and unpaid requests of our resource server, whose sales are on disk, against `@x402/express`, which keeps none: in
 * turn, over one stub facilitator, each payment another one and signed beforehand.
 */
export async function measureSales(options: SalesOptions): Promise<readonly Figure[]> {
  await using resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-sales-"));
  resources.defer(() => rm(folder, { recursive: true }));
  const stubs = resources.use(await startStubs());
  const sellers = {
    ours: resources.use(await startOwnSeller(stubs.url, folder)),
    others: resources.use(await startExpressSeller(stubs.url)),
  };
  const measure = (what: string, status: number, requests: (seller: Seller) => Promise<readonly string[]>) =>
    compare(what, sellers, options, async (seller) => ({
      ...seller,
      status,
      requests: await requests(seller),
      atOnce: options.atOnce,
    }));
  // Both compile what they run often first.
  await measure("warm-up, unpaid", 402, buildUnpaid(options.sales));
  await measure("warm-up, paid", 200, buildPaid(Math.ceil(options.sales / 2)));
  const unpaidRounds = await measure("unpaid 402", 402, buildUnpaid(4 * options.sales));
  const paidRounds = await measure("paid sale", 200, buildPaid(options.sales));
  const ratio = (rounds: Rounds) => findMedian(rounds, ({ ours, others }) => ours.perSecond / others.perSecond);
  return [
    { what: "paid sales a second, durable, to `@x402/express`'s", figure: ratio(paidRounds), target: { least: 1.5 } },
    { what: "unpaid 402 a second to `@x402/express`'s", figure: ratio(unpaidRounds), target: { least: 2 } },
    {
      what: "CPU µs an unpaid 402",
      figure: findMedian(unpaidRounds, ({ ours }) => ours.cpuMicros),
      target: { most: 60 },
    },
  ];
}

const buildUnpaid = (count: number) => async (seller: Seller) =>
  Array.from({ length: count }, () => formatRequest(seller));
const buildPaid = (count: number) => (seller: Seller) => signRequests(seller, count);

async function compare(
  what: string,
  { ours, others }: Readonly<{ ours: Seller; others: Seller }>,
  { rounds }: SalesOptions,
  prepare: (seller: Seller) => Promise<Parameters<typeof sendAll>[0]>,
): Promise<Rounds> {
  const measured: { ours: RawResult; others: RawResult }[] = [];
  for (let round = 0; round < rounds; round += 1)
    measured.push({ ours: await sendAll(await prepare(ours)), others: await sendAll(await prepare(others)) });
  const row = (side: string, of: (round: Rounds[number]) => RawResult) => ({
    side,
    "a second": findMedian(measured, (round) => of(round).perSecond),
    "CPU µs": findMedian(measured, (round) => of(round).cpuMicros),
    "p50 ms": findMedian(measured, (round) => of(round).p50Ms),
    "p99 ms": findMedian(measured, (round) => of(round).p99Ms),
  });
  print(what, [row(own, (round) => round.ours), row(others.name, (round) => round.others)]);
  return measured;
}

function findMedian(rounds: Rounds, figure: (round: Rounds[number]) => number): number {
  return quantile(rounds.map(figure), 0.5);
}
