import { freePorts } from "../../support/free-ports.ts";
import { haproxyProxy, nginxProxy, responder } from "./proxies.ts";
import { measure, startGatewayProcess, type Surroundings } from "./surroundings.ts";
import { print, verdict } from "./table.ts";
import { row } from "./wrk.ts";

const pass = '{"jsonrpc":"2.0","id":1,"method":"eth_syncing","params":[]}';
const hot = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';

/** Measures the gateway, nginx and HAProxy in front of a native responder whose answers have about so many bytes. */
export async function passThrough(name: string, answerBytes: number, surroundings: Surroundings): Promise<void> {
  const { folder } = surroundings;
  const alone = { ...surroundings, connections: 1 };
  await using scope = new AsyncDisposableStack();
  const [nodePort = 0, nginxPort = 0, haproxyPort = 0, gatewayPort = 0] = await freePorts(4);
  const result = "1".repeat(Math.max(4, answerBytes - 38));
  const node = scope.use(await responder(folder, nodePort, `{"jsonrpc":"2.0","id":1,"result":"0x${result}"}`));
  const nginx = scope.use(await nginxProxy(folder, nginxPort, nodePort));
  const haproxy = scope.use(await haproxyProxy(folder, haproxyPort, nodePort));
  const gateway = scope.use(await startGatewayProcess(gatewayPort, node.url));
  await measure(gateway, pass, surroundings);
  await measure(gateway, hot, surroundings);
  const byNginx = await measure(nginx, pass, surroundings);
  const byHaproxy = await measure(haproxy, pass, surroundings);
  const passed = await measure(gateway, pass, surroundings);
  const answered = await measure(gateway, hot, surroundings);
  print(`${name} replies, ${surroundings.connections} connections`, [
    row("nginx proxy_pass", byNginx),
    row("HAProxy", byHaproxy),
    row("gateway", passed),
    row("gateway, hot read", answered),
    verdict("gateway: CPU against nginx", passed.cpuMicros / byNginx.cpuMicros, { most: 1.5 }),
    verdict("gateway: req/s against nginx", passed.requestsPerSecond / byNginx.requestsPerSecond, { least: 0.8 }),
    verdict("hot read: CPU against nginx", answered.cpuMicros / byNginx.cpuMicros, { most: 0.8 }),
  ]);
  const itself = await measure(node, pass, alone);
  const aloneByNginx = await measure(nginx, pass, alone);
  const alonePassed = await measure(gateway, pass, alone);
  print(`${name} replies, one request at a time`, [
    row("responder itself", itself),
    row("nginx proxy_pass", aloneByNginx),
    row("gateway", alonePassed),
    verdict("gateway: p50 ms added", alonePassed.p50Ms - itself.p50Ms, { most: 0.1 }),
  ]);
}
