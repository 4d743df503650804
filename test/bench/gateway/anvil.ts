import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { makeBlocksEventful } from "./eventful-blocks.ts";
import { mixScript } from "./mix.ts";
import { start, findWorker, type BenchProcess } from "./proxies.ts";
import { measureInRounds, computeRatio } from "./rounds.ts";
import { measure, startGatewayProcess, type Surroundings } from "./surroundings.ts";
import { print, type Figure } from "./table.ts";
import { drive, createRow, type LoadResult } from "./wrk.ts";

const balance =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","latest"]}';

/** Starts anvil with a block per second, each with logs, and the gateway in front of it. */
export async function startAnvilAndGateway(): Promise<
  AsyncDisposable & Readonly<{ anvil: BenchProcess; gateway: BenchProcess }>
> {
  await using starting = new AsyncDisposableStack();
  const [anvilPort = 0, gatewayPort = 0] = await findFreePorts(2);
  const args = ["--port", String(anvilPort), "--block-time", "1", "--silent", "--prune-history", "16"];
  const anvil = findWorker(starting.use(await start("anvil", args, anvilPort)));
  starting.use(await makeBlocksEventful(anvil.url));
  const gateway = starting.use(await startGatewayProcess(gatewayPort, anvil.url));
  const resources = starting.move();
  return { anvil, gateway, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Measures a hot read and the realistic mix, through the gateway and directly at anvil. */
export async function measureAgainstAnvil(surroundings: Surroundings): Promise<readonly Figure[]> {
  await using both = await startAnvilAndGateway();
  const { anvil, gateway } = both;
  const mixed = ({ url, pid }: BenchProcess) => drive({ url, pid, script: mixScript, ...surroundings });
  await measure(gateway, balance, surroundings);
  const hot = await measureInRounds(surroundings.rounds, {
    bare: () => measure(anvil, balance, surroundings),
    fronted: () => measure(gateway, balance, surroundings),
  });
  print("eth_getBalance at latest (a hot read)", [
    ...hot("bare").map((result) => createRow("bare anvil", result)),
    ...hot("fronted").map((result) => createRow("gateway in front of it", result)),
  ]);
  await mixed(gateway);
  const mix = await measureInRounds(surroundings.rounds, { bare: () => mixed(anvil), fronted: () => mixed(gateway) });
  print("realistic mix", [
    ...mix("bare").map((result) => createRow("bare anvil", result)),
    ...mix("fronted").map((result) => createRow("gateway in front of it", result)),
  ]);
  return [
    {
      what: "hot read (eth_getBalance at latest): req/s against bare anvil",
      figure: computeRatio(hot("fronted"), hot("bare"), rate),
      target: { least: 1.3 },
    },
    {
      what: "realistic mix: req/s against bare anvil",
      figure: computeRatio(mix("fronted"), mix("bare"), rate),
      target: { least: 1.5 },
    },
    {
      what: "realistic mix: p99 against bare anvil",
      figure: computeRatio(mix("fronted"), mix("bare"), p99),
      target: { most: 1 },
    },
  ];
}

const rate = ({ requestsPerSecond }: LoadResult) => requestsPerSecond;
const p99 = ({ p99Ms }: LoadResult) => p99Ms;
