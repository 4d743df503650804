import { freePorts } from "../../support/free-ports.ts";
import { mixScript } from "./mix.ts";
import { start, type BenchProcess } from "./proxies.ts";
import { measure, startGatewayProcess, type Surroundings } from "./surroundings.ts";
import { print, verdict } from "./table.ts";
import { drive, row } from "./wrk.ts";

const balance =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","latest"]}';

/** Starts anvil with a block a second, and the gateway in front of it. */
export async function startAnvilAndGateway(): Promise<
  AsyncDisposable & Readonly<{ anvil: BenchProcess; gateway: BenchProcess }>
> {
  await using starting = new AsyncDisposableStack();
  const [anvilPort = 0, gatewayPort = 0] = await freePorts(2);
  const args = ["--port", String(anvilPort), "--block-time", "1", "--silent", "--prune-history", "16"];
  const anvil = starting.use(await start("anvil", args, anvilPort));
  const gateway = starting.use(await startGatewayProcess(gatewayPort, anvil.url));
  const resources = starting.move();
  return { anvil, gateway, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Measures a hot read and the realistic mix, through the gateway and at bare anvil. */
export async function againstAnvil(surroundings: Surroundings): Promise<void> {
  await using both = await startAnvilAndGateway();
  const { anvil, gateway } = both;
  await measure(gateway, balance, surroundings);
  const bare = await measure(anvil, balance, surroundings);
  const fronted = await measure(gateway, balance, surroundings);
  print("eth_getBalance at latest (a hot read)", [
    row("bare anvil", bare),
    row("gateway in front of it", fronted),
    verdict("hot read: req/s against bare anvil", fronted.requestsPerSecond / bare.requestsPerSecond, { least: 1.3 }),
  ]);
  const mixed = ({ url, pid }: BenchProcess) => drive({ url, pid, script: mixScript, ...surroundings });
  await mixed(gateway);
  const bareMix = await mixed(anvil);
  const frontedMix = await mixed(gateway);
  print("realistic mix", [
    row("bare anvil", bareMix),
    row("gateway in front of it", frontedMix),
    verdict("mix: req/s against bare anvil", frontedMix.requestsPerSecond / bareMix.requestsPerSecond, { least: 1.5 }),
    verdict("mix: p99 against bare anvil", frontedMix.p99Ms / bareMix.p99Ms, { most: 1 }),
  ]);
}
