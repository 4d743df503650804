import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { buildAnsweringNode, startAnsweringNode, type NodeResponses } from "./answering-node.ts";
import { clientShapes, writeDistinctCalls } from "./client-shapes.ts";
import { startNginxIngress, startNginxProxy, startUnsetNginx, type BenchProcess } from "./proxies.ts";
import { measureInRounds } from "./rounds.ts";
import { startGatewayProcess, type BenchSetup } from "./setup.ts";
import type { Figure } from "./table.ts";
import { cpu, drive } from "./wrk.ts";

/** Named settings. */
export type NamedResponses = NodeResponses & Readonly<{ name: string }>;

/** Settings of a gateway behind a proxy, called from browsers' pages. */
export const settingsBehindProxies = { callers: { trustedProxies: ["127.0.0.1"], corsOrigins: ["*"] } };

/** Measures the gateway only behind proxies, for short responses. */
export async function measureProxiesAlone(setup: BenchSetup): Promise<readonly Figure[]> {
  const program = buildAnsweringNode(setup.folder);
  const responses = { name: "130 B", leastBytes: 130, mostBytes: 130, framing: "length" } as const;
  return measureBehindProxies(program, responses, setup);
}

/**
 * Measures what the gateway adds to an nginx in front of it: one configured as an ingress, with keep-alive connections,
 * and one with nothing but a `proxy_pass`, which opens a connection for each request. Also measured: the gateway
 * without its fast path, against nginx in its place.
 */
export async function measureBehindProxies(
  program: string,
  responses: NamedResponses,
  setup: BenchSetup,
): Promise<readonly Figure[]> {
  const { folder } = setup;
  await using scope = new AsyncDisposableStack();
  const [nodePort = 0, fastPort = 0, slowPort = 0, ...others] = await findFreePorts(8);
  const [nginxPort = 0, ingressPort = 0, ingressToPort = 0, unsetPort = 0, unsetToPort = 0] = others;
  const node = scope.use(await startAnsweringNode(program, nodePort, responses));
  const gateway = scope.use(await startGatewayProcess(fastPort, node.url, settingsBehindProxies));
  const slowSettings = { ...settingsBehindProxies, listener: { fastPath: false } };
  const slow = scope.use(await startGatewayProcess(slowPort, node.url, slowSettings));
  const nginx = scope.use(await startNginxProxy(folder, nginxPort, nodePort));
  const ingress = scope.use(await startNginxIngress(folder, ingressPort, nodePort));
  const ingressTo = scope.use(await startNginxIngress(folder, ingressToPort, fastPort));
  const unset = scope.use(await startUnsetNginx(folder, unsetPort, nodePort));
  const unsetTo = scope.use(await startUnsetNginx(folder, unsetToPort, fastPort));

  const script = writeDistinctCalls({ shapes: clientShapes, forwardedFor: true });
  const send = (url: string, { pid }: BenchProcess) => drive({ ...setup, url, pid, script });
  for (const warmedProcess of [gateway, slow, gateway, slow]) await send(warmedProcess.url, warmedProcess);
  await send(unsetTo.url, gateway);
  const results = await measureInRounds(`all clients in turn, ${responses.name}`, setup.rounds, {
    "nginx as ingress, to the node": () => send(ingress.url, ingress),
    "gateway, behind nginx as ingress": () => send(ingressTo.url, gateway),
    "nginx with a bare proxy_pass, to the node": () => send(unset.url, unset),
    "gateway, behind a bare proxy_pass": () => send(unsetTo.url, gateway),
    nginx: () => send(nginx.url, nginx),
    "gateway without its fast path": () => send(slow.url, slow),
  });
  const pairs = [
    [
      "CPU that the gateway adds to nginx as ingress, against nginx's own",
      "gateway, behind nginx as ingress",
      "nginx as ingress, to the node",
      1.6,
    ],
    [
      "CPU that the gateway adds to a bare proxy_pass, against nginx's own",
      "gateway, behind a bare proxy_pass",
      "nginx with a bare proxy_pass, to the node",
      1.6,
    ],
    ["CPU of the slow path against nginx", "gateway without its fast path", "nginx", 2.5],
  ] as const;
  return pairs.map(([what, measured, base, most]) =>
    results.ratio(`${responses.name}: ${what}`, [measured, base], cpu, { most }),
  );
}
