import { freePorts } from "../../support/free-ports.ts";
import { firstCore, keepToCore } from "./one-core.ts";
import { haproxyProxy, nginxProxy, responder } from "./proxies.ts";
import { added, inRounds, ratio } from "./rounds.ts";
import { measure, startGatewayProcess, type Surroundings } from "./surroundings.ts";
import { print, verdict } from "./table.ts";
import { row, type LoadResult } from "./wrk.ts";

const pass = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing","params":[]}';
const hot = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';

/** Measures the gateway, nginx and HAProxy in front of a native responder whose answers have about so many bytes. */
export async function passThrough(name: string, answerBytes: number, surroundings: Surroundings): Promise<void> {
  const { folder } = surroundings;
  await using scope = new AsyncDisposableStack();
  const [nodePort = 0, nginxPort = 0, haproxyPort = 0, gatewayPort = 0] = await freePorts(4);
  const digits = "1".repeat(Math.max(4, answerBytes - 38));
  const node = scope.use(await responder(folder, nodePort, `{"jsonrpc":"2.0","id":1,"result":"0x${digits}"}`));
  const nginx = scope.use(await nginxProxy(folder, nginxPort, nodePort));
  const haproxy = scope.use(await haproxyProxy(folder, haproxyPort, nodePort));
  const gateway = scope.use(await startGatewayProcess(gatewayPort, node.url));
  await measure(gateway, pass, surroundings);
  await measure(gateway, hot, surroundings);
  const many = await inRounds(surroundings.rounds, {
    nginx: () => measure(nginx, pass, surroundings),
    haproxy: () => measure(haproxy, pass, surroundings),
    gateway: () => measure(gateway, pass, surroundings),
    hot: () => measure(gateway, hot, surroundings),
  });
  print(`${name} replies, ${surroundings.connections} connections`, [
    ...many("nginx").map((result) => row("nginx proxy_pass", result)),
    ...many("haproxy").map((result) => row("HAProxy", result)),
    ...many("gateway").map((result) => row("gateway", result)),
    ...many("hot").map((result) => row("gateway, hot read", result)),
    verdict("gateway: CPU against nginx", ratio(many("gateway"), many("nginx"), cpu), { most: 1.5 }),
    verdict("gateway: req/s against nginx", ratio(many("gateway"), many("nginx"), rate), { least: 0.8 }),
    verdict("hot read: CPU against nginx", ratio(many("hot"), many("nginx"), cpu), { most: 0.8 }),
  ]);
  const lone = async (where: string, around: Surroundings) => {
    const one = await inRounds(around.rounds, {
      responder: () => measure(node, pass, around),
      nginx: () => measure(nginx, pass, around),
      gateway: () => measure(gateway, pass, around),
    });
    print(`${name} replies, one request at a time, ${where}`, [
      ...one("responder").map((result) => row("responder itself", result)),
      ...one("nginx").map((result) => row("nginx proxy_pass", result)),
      ...one("gateway").map((result) => row("gateway", result)),
      verdict("nginx: p50 ms added", added(one("nginx"), one("responder"), p50), { most: 0.1 }),
      verdict("gateway: p50 ms added", added(one("gateway"), one("responder"), p50), { most: 0.1 }),
    ]);
  };
  await lone("on all cores", { ...surroundings, connections: 1 });
  const core = firstCore();
  for (const { pid } of [node, nginx, gateway]) keepToCore(pid, core);
  await lone("on one core", { ...surroundings, connections: 1, core });
}

const cpu = ({ cpuMicros }: LoadResult) => cpuMicros;
const rate = ({ requestsPerSecond }: LoadResult) => requestsPerSecond;
const p50 = ({ p50Ms }: LoadResult) => p50Ms;
