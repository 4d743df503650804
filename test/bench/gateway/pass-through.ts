import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { findFirstCore, keepToCore } from "./one-core.ts";
import { startHaproxy, startNginxProxy, startResponder } from "./proxies.ts";
import { measureInRounds } from "./rounds.ts";
import { measure, startGatewayProcess, type BenchSetup } from "./setup.ts";
import type { Figure } from "./table.ts";
import { cpu, p50, rate } from "./wrk.ts";

const pass = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing","params":[]}';
const hot = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';

/**
 * Measures the gateway, nginx and HAProxy in front of a native responder whose responses have about this many bytes.
 */
export async function passThrough(name: string, answerBytes: number, setup: BenchSetup): Promise<readonly Figure[]> {
  const { folder } = setup;
  await using scope = new AsyncDisposableStack();
  const [nodePort = 0, nginxPort = 0, haproxyPort = 0, gatewayPort = 0] = await findFreePorts(4);
  const digits = "1".repeat(Math.max(4, answerBytes - 38));
  const node = scope.use(await startResponder(folder, nodePort, `{"jsonrpc":"2.0","id":1,"result":"0x${digits}"}`));
  const nginx = scope.use(await startNginxProxy(folder, nginxPort, nodePort));
  const haproxy = scope.use(await startHaproxy(folder, haproxyPort, nodePort));
  const gateway = scope.use(await startGatewayProcess(gatewayPort, node.url));
  await measure(gateway, pass, setup);
  await measure(gateway, hot, setup);
  const many = await measureInRounds(`${name} replies, ${setup.connections} connections`, setup.rounds, {
    nginx: () => measure(nginx, pass, setup),
    HAProxy: () => measure(haproxy, pass, setup),
    gateway: () => measure(gateway, pass, setup),
    "gateway, hot read": () => measure(gateway, hot, setup),
  });
  const same = `${name}, the same request again and again`;
  const figures: Figure[] = [
    many.ratio(`${same}: CPU against nginx`, ["gateway", "nginx"], cpu, { most: 1.5 }),
    many.ratio(`${same}: req/s against nginx`, ["gateway", "nginx"], rate, { least: 0.8 }),
    many.ratio(`${name}, hot read: CPU against nginx that passes it on`, ["gateway, hot read", "nginx"], cpu, {
      most: 0.8,
    }),
  ];
  const lone = async (where: string, around: BenchSetup) => {
    const one = await measureInRounds(`${name} replies, one request at a time, ${where}`, around.rounds, {
      responder: () => measure(node, pass, around),
      nginx: () => measure(nginx, pass, around),
      gateway: () => measure(gateway, pass, around),
    });
    const what = `${name}, one request at a time, ${where}: p50 ms added`;
    figures.push(one.added(what, ["gateway", "responder"], p50, { most: 0.1 }));
  };
  await lone("on all cores", { ...setup, connections: 1 });
  const core = findFirstCore();
  for (const { pid } of [node, nginx, gateway]) keepToCore(pid, core);
  await lone("on one core", { ...setup, connections: 1, core });
  return figures;
}
