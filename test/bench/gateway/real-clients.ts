import { freePorts } from "../../support/free-ports.ts";
import { buildAnsweringNode, startAnsweringNode, type NodeAnswers } from "./answering-node.ts";
import { clientShapes, distinctCalls, type LoadOptions } from "./client-shapes.ts";
import { nginxIngress, nginxProxy, type BenchProcess } from "./proxies.ts";
import { inRounds, ratio } from "./rounds.ts";
import { startGatewayProcess, type Surroundings } from "./surroundings.ts";
import { print, verdicts, type Figure } from "./table.ts";
import { drive, row, type LoadResult } from "./wrk.ts";

const chosen: readonly (NodeAnswers & Readonly<{ name: string; apart: boolean }>)[] = [
  { name: "130 B", leastBytes: 130, mostBytes: 130, framing: "length", apart: true },
  { name: "2 KB", leastBytes: 2_048, mostBytes: 2_048, framing: "length", apart: true },
  { name: "40 B to 64 KB", leastBytes: 40, mostBytes: 65_536, framing: "length", apart: false },
  { name: "40 B to 64 KB, in chunks", leastBytes: 40, mostBytes: 65_536, framing: "chunked", apart: false },
];

/** What the gateway behind the ingress and the browsers' pages are let do. */
const settings = { callers: { trustedProxies: ["127.0.0.1"], corsOrigins: ["*"] } };

/**
 * Measures distinct reads as real clients send them: nginx that passes them on and the gateway, each straight before the node and behind an
 * nginx as ingress. Every request has an id and parameters of its own, and a client's address of its own behind the ingress.
 */
export async function realClients(surroundings: Surroundings): Promise<void> {
  const program = buildAnsweringNode(surroundings.folder);
  const figures: Figure[] = [];
  for (const answers of chosen) figures.push(...(await withAnswers(program, answers, surroundings)));
  print("distinct reads of real clients, the farthest from its target first", verdicts(figures));
}

async function withAnswers(
  program: string,
  answers: (typeof chosen)[number],
  surroundings: Surroundings,
): Promise<readonly Figure[]> {
  const { folder } = surroundings;
  await using scope = new AsyncDisposableStack();
  const [nodePort = 0, nginxPort = 0, ingressPort = 0, bothPort = 0, fastPort = 0, slowPort = 0] = await freePorts(6);
  const node = scope.use(await startAnsweringNode(program, nodePort, answers));
  const nginx = scope.use(await nginxProxy(folder, nginxPort, nodePort));
  const gateway = scope.use(await startGatewayProcess(fastPort, node.url, settings));
  const slow = scope.use(await startGatewayProcess(slowPort, node.url, { ...settings, listener: { fastPath: false } }));
  const ingress = scope.use(await nginxIngress(folder, ingressPort, nodePort));
  const ingressToGateway = scope.use(await nginxIngress(folder, bothPort, fastPort));

  const send = (url: string, { pid }: BenchProcess, options: LoadOptions) =>
    drive({ ...surroundings, url, pid, script: distinctCalls(options) });
  const all = { shapes: clientShapes, forwardedFor: true };
  const [first] = clientShapes;
  if (first === undefined) throw new Error("no shapes are recorded");
  for (const warmed of [gateway, slow, gateway, slow]) await send(warmed.url, warmed, all);

  const groups = answers.apart
    ? clientShapes.map((shape) => ({ client: shape.client, shapes: [shape] }))
    : [{ client: "all clients in turn", shapes: clientShapes }];
  const figures: Figure[] = [];
  for (const { client, shapes } of groups) {
    const what = `${client}, ${answers.name}`;
    const results = await inRounds(surroundings.rounds, {
      nginx: () => send(nginx.url, nginx, { shapes }),
      gateway: () => send(gateway.url, gateway, { shapes }),
    });
    print(what, [...results("nginx").map(named("nginx")), ...results("gateway").map(named("gateway"))]);
    figures.push(
      {
        what: `${what}: CPU against nginx`,
        figure: ratio(results("gateway"), results("nginx"), cpu),
        target: { most: 1.5 },
      },
      {
        what: `${what}: req/s against nginx`,
        figure: ratio(results("gateway"), results("nginx"), rate),
        target: { least: 0.8 },
      },
    );
  }
  const behind = await inRounds(surroundings.rounds, {
    ingress: () => send(ingress.url, ingress, all),
    added: () => send(ingressToGateway.url, gateway, all),
    nginx: () => send(nginx.url, nginx, all),
    slow: () => send(slow.url, slow, all),
  });
  print(`all clients in turn, ${answers.name}`, [
    ...behind("ingress").map(named("nginx as ingress, to the node")),
    ...behind("added").map(named("gateway, behind nginx as ingress")),
    ...behind("nginx").map(named("nginx")),
    ...behind("slow").map(named("gateway without its fast path")),
  ]);
  figures.push(
    {
      what: `${answers.name}: CPU that the gateway adds to nginx as ingress, against nginx's own`,
      figure: ratio(behind("added"), behind("ingress"), cpu),
      target: { most: 1.6 },
    },
    {
      what: `${answers.name}: CPU of the slow path against nginx`,
      figure: ratio(behind("slow"), behind("nginx"), cpu),
      target: { most: 2.5 },
    },
  );
  return figures;
}

const cpu = ({ cpuMicros }: LoadResult) => cpuMicros;
const rate = ({ requestsPerSecond }: LoadResult) => requestsPerSecond;

function named(what: string) {
  return (result: LoadResult) => row(what, result);
}
