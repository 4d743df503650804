import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { buildAnsweringNode, startAnsweringNode } from "./answering-node.ts";
import { measureBehindProxies, settingsBehindProxies as settings, type NamedResponses } from "./behind-proxies.ts";
import { clientShapes, writeDistinctCalls, type LoadOptions } from "./client-shapes.ts";
import { startNginxProxy, type BenchProcess } from "./proxies.ts";
import { measureInRounds } from "./rounds.ts";
import { startGatewayProcess, type BenchSetup } from "./setup.ts";
import type { Figure } from "./table.ts";
import { cpu, drive, rate } from "./wrk.ts";

const chosen: readonly (NamedResponses & Readonly<{ apart: boolean }>)[] = [
  { name: "130 B", leastBytes: 130, mostBytes: 130, framing: "length", apart: true },
  { name: "2 KB", leastBytes: 2_048, mostBytes: 2_048, framing: "length", apart: true },
  { name: "40 B to 64 KB", leastBytes: 40, mostBytes: 65_536, framing: "length", apart: false },
  { name: "40 B to 64 KB, in chunks", leastBytes: 40, mostBytes: 65_536, framing: "chunked", apart: false },
];

/**
 * Measures distinct reads as real clients send them: forwarded by nginx and by the gateway, each directly in front of
 * the node, and by the gateway behind proxies. Every request has its own id and parameters and, behind proxies, its own
 * client address.
 */
export async function measureRealClients(setup: BenchSetup): Promise<readonly Figure[]> {
  const program = buildAnsweringNode(setup.folder);
  const figures: Figure[] = [];
  for (const responses of chosen) figures.push(...(await withAnswers(program, responses, setup)));
  return figures;
}

async function withAnswers(
  program: string,
  responses: (typeof chosen)[number],
  setup: BenchSetup,
): Promise<readonly Figure[]> {
  const { folder } = setup;
  await using scope = new AsyncDisposableStack();
  const [nodePort = 0, nginxPort = 0, fastPort = 0] = await findFreePorts(3);
  const node = scope.use(await startAnsweringNode(program, nodePort, responses));
  const nginx = scope.use(await startNginxProxy(folder, nginxPort, nodePort));
  const gateway = scope.use(await startGatewayProcess(fastPort, node.url, settings));
  const send = (url: string, { pid }: BenchProcess, options: LoadOptions) =>
    drive({ ...setup, url, pid, script: writeDistinctCalls(options) });
  const all = { shapes: clientShapes, forwardedFor: true };
  const [first] = clientShapes;
  if (first === undefined) throw new Error("no shapes are recorded");
  for (let times = 0; times < 2; times += 1) await send(gateway.url, gateway, all);

  const groups = responses.apart
    ? clientShapes.map((shape) => ({ client: shape.client, shapes: [shape] }))
    : [{ client: "all clients in turn", shapes: clientShapes }];
  const figures: Figure[] = [];
  for (const { client, shapes } of groups) {
    const what = `${client}, ${responses.name}`;
    const results = await measureInRounds(what, setup.rounds, {
      nginx: () => send(nginx.url, nginx, { shapes }),
      gateway: () => send(gateway.url, gateway, { shapes }),
    });
    figures.push(
      results.ratio(`${what}: CPU against nginx`, ["gateway", "nginx"], cpu, { most: 1.5 }),
      results.ratio(`${what}: req/s against nginx`, ["gateway", "nginx"], rate, { least: 0.8 }),
    );
  }
  return [...figures, ...(await measureBehindProxies(program, responses, setup))];
}
