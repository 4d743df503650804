import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { findFirstCore, keepToCore } from "./one-core.ts";
import { startHaproxy, startNginxProxy, startResponder } from "./proxies.ts";
import { computeAdded, measureInRounds, computeRatio } from "./rounds.ts";
import { measure, startGatewayProcess, type Surroundings } from "./surroundings.ts";
import { print, type Figure } from "./table.ts";
import { createRow, type LoadResult } from "./wrk.ts";

const pass = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing","params":[]}';
const hot = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';

/**
 * Measures the gateway, nginx and HAProxy in front of a native responder whose responses have about this many bytes.
 */
export async function passThrough(
  name: string,
  answerBytes: number,
  surroundings: Surroundings,
): Promise<readonly Figure[]> {
  const { folder } = surroundings;
  await using scope = new AsyncDisposableStack();
  const [nodePort = 0, nginxPort = 0, haproxyPort = 0, gatewayPort = 0] = await findFreePorts(4);
  const digits = "1".repeat(Math.max(4, answerBytes - 38));
  const node = scope.use(await startResponder(folder, nodePort, `{"jsonrpc":"2.0","id":1,"result":"0x${digits}"}`));
  const nginx = scope.use(await startNginxProxy(folder, nginxPort, nodePort));
  const haproxy = scope.use(await startHaproxy(folder, haproxyPort, nodePort));
  const gateway = scope.use(await startGatewayProcess(gatewayPort, node.url));
  await measure(gateway, pass, surroundings);
  await measure(gateway, hot, surroundings);
  const many = await measureInRounds(surroundings.rounds, {
    nginx: () => measure(nginx, pass, surroundings),
    haproxy: () => measure(haproxy, pass, surroundings),
    gateway: () => measure(gateway, pass, surroundings),
    hot: () => measure(gateway, hot, surroundings),
  });
  print(`${name} replies, ${surroundings.connections} connections`, [
    ...many("nginx").map((result) => createRow("nginx proxy_pass", result)),
    ...many("haproxy").map((result) => createRow("HAProxy", result)),
    ...many("gateway").map((result) => createRow("gateway", result)),
    ...many("hot").map((result) => createRow("gateway, hot read", result)),
  ]);
  const figures: Figure[] = [
    {
      what: `${name}, the same request again and again: CPU against nginx`,
      figure: computeRatio(many("gateway"), many("nginx"), cpu),
      target: { most: 1.5 },
    },
    {
      what: `${name}, the same request again and again: req/s against nginx`,
      figure: computeRatio(many("gateway"), many("nginx"), rate),
      target: { least: 0.8 },
    },
    {
      what: `${name}, hot read: CPU against nginx that passes it on`,
      figure: computeRatio(many("hot"), many("nginx"), cpu),
      target: { most: 0.8 },
    },
  ];
  const lone = async (where: string, around: Surroundings) => {
    const one = await measureInRounds(around.rounds, {
      responder: () => measure(node, pass, around),
      nginx: () => measure(nginx, pass, around),
      gateway: () => measure(gateway, pass, around),
    });
    print(`${name} replies, one request at a time, ${where}`, [
      ...one("responder").map((result) => createRow("responder itself", result)),
      ...one("nginx").map((result) => createRow("nginx proxy_pass", result)),
      ...one("gateway").map((result) => createRow("gateway", result)),
      { "p50 ms added by nginx": computeAdded(one("nginx"), one("responder"), p50).toFixed(3) },
    ]);
    figures.push({
      what: `${name}, one request at a time, ${where}: p50 ms added`,
      figure: computeAdded(one("gateway"), one("responder"), p50),
      target: { most: 0.1 },
    });
  };
  await lone("on all cores", { ...surroundings, connections: 1 });
  const core = findFirstCore();
  for (const { pid } of [node, nginx, gateway]) keepToCore(pid, core);
  await lone("on one core", { ...surroundings, connections: 1, core });
  return figures;
}

const cpu = ({ cpuMicros }: LoadResult) => cpuMicros;
const rate = ({ requestsPerSecond }: LoadResult) => requestsPerSecond;
const p50 = ({ p50Ms }: LoadResult) => p50Ms;
