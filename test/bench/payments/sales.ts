import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { print, type Figure } from "../gateway/table.ts";
import { drive } from "../gateway/wrk.ts";
import { quantile } from "../measurement.ts";
import { sendAll, type LoadResult } from "./load.ts";
import { own, signRequests, startExpressSeller, startOwnSeller, startStubs, type Seller } from "./sellers.ts";

export type SalesOptions = Readonly<{
  rounds: number;
  /** Sales per side and round. */
  sales: number;
  /** Duration of unpaid requests, per side and round. Default: four seconds. */
  unpaidSeconds?: number;
  atOnce: number;
}>;

const isOk = (response: string) => response.startsWith("HTTP/1.1 200 ");

type Rates = Pick<LoadResult, "perSecond" | "cpuMicros" | "p50Ms" | "p99Ms">;
type Rounds = readonly Readonly<{ ours: Rates; others: Rates }>[];

/**
 * Measures paid sales and unpaid requests of our resource server, which stores its sales on disk, against `@x402/express`, which stores
 * none: in turn, with one stub facilitator and a different payment per sale, signed in advance.
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
  const unpaid = async ({ url, pid }: Seller, seconds = options.unpaidSeconds ?? 4) => {
    const load = await drive({ url: `${url}/data`, pid, script: "", connections: options.atOnce, seconds, folder });
    if (load.rejected !== load.requests) throw new Error(`${load.requests - load.rejected} responses are not 402`);
    const { requestsPerSecond: perSecond, cpuMicros, p50Ms, p99Ms } = load;
    return { perSecond, cpuMicros, p50Ms, p99Ms };
  };
  const paid = async (seller: Seller, sales = options.sales) => {
    const requests = await signRequests(seller, sales);
    const load = await sendAll({ ...seller, requests, isExpected: isOk, atOnce: options.atOnce });
    if (load.goodShare < 1) throw new Error(`unexpected response: ${load.example}`);
    return load;
  };
  // Lets both sides compile their hot code first.
  for (const seller of Object.values(sellers)) {
    await unpaid(seller, 1);
    await paid(seller, Math.ceil(options.sales / 2));
  }
  const unpaidRounds = await compare("unpaid 402", sellers, options, unpaid);
  const paidRounds = await compare("paid sale", sellers, options, paid);
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

async function compare(
  what: string,
  { ours, others }: Readonly<{ ours: Seller; others: Seller }>,
  { rounds }: SalesOptions,
  run: (seller: Seller) => Promise<Rates>,
): Promise<Rounds> {
  const measured: { ours: Rates; others: Rates }[] = [];
  for (let round = 0; round < rounds; round += 1) measured.push({ ours: await run(ours), others: await run(others) });
  const row = (side: string, of: (round: Rounds[number]) => Rates) => ({
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
