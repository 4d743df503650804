import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { makeBlocksEventful } from "./eventful-blocks.ts";
import { mixScript } from "./mix.ts";
import { start, findWorker, type BenchProcess } from "./proxies.ts";
import { measureInRounds } from "./rounds.ts";
import { measure, startGatewayProcess, type BenchSetup } from "./setup.ts";
import type { Figure } from "./table.ts";
import { drive, p99, rate } from "./wrk.ts";

const balance =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","latest"]}';

/** The pair of subjects that is compared. */
export const againstAnvil = ["gateway in front of it", "bare anvil"] as const;

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

/** Measures a hot read and the realistic mix, through the gateway and directly against anvil. */
export async function measureAgainstAnvil(setup: BenchSetup): Promise<readonly Figure[]> {
  await using both = await startAnvilAndGateway();
  const { anvil, gateway } = both;
  const mixed = ({ url, pid }: BenchProcess) => drive({ url, pid, script: mixScript, ...setup });
  await measure(gateway, balance, setup);
  const hot = await measureInRounds("eth_getBalance at latest (a hot read)", setup.rounds, {
    "bare anvil": () => measure(anvil, balance, setup),
    "gateway in front of it": () => measure(gateway, balance, setup),
  });
  await mixed(gateway);
  const mix = await measureInRounds("realistic mix", setup.rounds, {
    "bare anvil": () => mixed(anvil),
    "gateway in front of it": () => mixed(gateway),
  });
  return [
    hot.ratio("hot read (eth_getBalance at latest): req/s against bare anvil", againstAnvil, rate, { least: 1.3 }),
    mix.ratio("realistic mix: req/s against bare anvil", againstAnvil, rate, { least: 1.5 }),
    mix.ratio("realistic mix: p99 against bare anvil", againstAnvil, p99, { most: 1 }),
  ];
}
