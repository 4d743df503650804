import { createServer } from "node:net";
import type { StackConfig } from "../config-schema.ts";
import type { ConfigProblem } from "../spec/config-problem.ts";
import { labelPrefix } from "./container-args.ts";
import { askEngine, localSocket, type EngineAnswer } from "./engine-request.ts";

/** The oldest minor version of the Engine API 1 that the stack needs: Docker 20.10. */
const apiMinorMin = 41;

type RunningContainer = Readonly<{
  Names: readonly string[];
  Labels: Readonly<Record<string, string>> | null;
  Ports: readonly Readonly<{ IP?: string; PublicPort?: number }>[];
}>;

/**
 * Asks an engine on this machine for what would stop the deployment half way: that it does not answer or is too old, that a port
 * to publish is taken, that an image is neither there nor to be had. An engine elsewhere is left to the provider.
 *
 * @param prefix of the stack's names; what its own containers publish is not taken.
 * @returns one problem for each key of the configuration that has to change.
 */
export async function engineProblems(config: StackConfig, prefix: string): Promise<readonly ConfigProblem[]> {
  const socketPath = localSocket(config.dockerEngine);
  if (socketPath === undefined) return [];
  let version: EngineAnswer;
  try {
    version = await askEngine(socketPath, "/version");
  } catch (error) {
    return [unreachable(config.dockerEngine, error as NodeJS.ErrnoException)];
  }
  const { ApiVersion: api = "" } = JSON.parse(version.text) as { ApiVersion?: string };
  if (Number(api.split(".")[1] ?? 0) < apiMinorMin) {
    const message = `found an engine with API version ${api}; expected 1.${apiMinorMin} or later. Update Docker to 20.10 or later.`;
    return [{ key: "dockerEngine", message }];
  }
  const images = Object.entries(namedImages(config)).map(([key, image]) => missingImage(socketPath, key, image));
  return [...(await takenPorts(socketPath, config, prefix)), ...(await Promise.all(images)).flat()];
}

function unreachable(engine: string, { code, message }: NodeJS.ErrnoException): ConfigProblem {
  const advice =
    code === "EACCES"
      ? "you may not use this socket; join its group (often `docker`) or run as a user who may"
      : "start the Docker engine, or set its address with `pulumi config set dockerEngine …`";
  return { key: "dockerEngine", message: `found ${engine}, which does not answer (${code ?? message}); ${advice}.` };
}

async function takenPorts(socketPath: string, config: StackConfig, prefix: string): Promise<readonly ConfigProblem[]> {
  const wanted = {
    gatewayPort: { address: config.publishAddress, port: config.gatewayPort },
    resourceServerPort: { address: config.publishAddress, port: config.resourceServerPort },
    statusPort: { address: "127.0.0.1", port: config.statusPort },
  };
  const containers = JSON.parse((await askEngine(socketPath, "/containers/json")).text) as readonly RunningContainer[];
  const problems: ConfigProblem[] = [];
  for (const [key, { address, port }] of Object.entries(wanted)) {
    const holder = containers.find(({ Ports }) =>
      Ports.some(({ IP = "", PublicPort }) => PublicPort === port && sameAddress(IP, address)),
    );
    if (holder?.Labels?.[`${labelPrefix}.stack`] === prefix) continue;
    const who = holder === undefined ? undefined : `the container ${holder.Names[0]?.slice(1) ?? ""}`;
    const taker = who ?? ((await isListening(address, port)) ? "another program of this machine" : undefined);
    if (taker === undefined) continue;
    const message = `found ${port}, which ${taker} already listens on. Stop it, or choose another port with \`pulumi config set ${key} …\`.`;
    problems.push({ key, message });
  }
  return problems;
}

const everyAddress = new Set(["0.0.0.0", "::", ""]);

function sameAddress(one: string, other: string): boolean {
  return one === other || everyAddress.has(one) || everyAddress.has(other);
}

function isListening(address: string, port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    // Only EADDRINUSE means taken: the engine may use addresses and low ports that this user may not.
    server.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "EADDRINUSE"));
    server.listen(port, address, () => server.close(() => resolve(false)));
  });
}

/** The images that are not built here, by key. */
function namedImages(config: StackConfig): Readonly<Record<string, string>> {
  const { gatehouseImage, devnetImage, nodeImage } = config;
  const builds = gatehouseImage === undefined || devnetImage === undefined;
  const named = { gatehouseImage, devnetImage, nodeImage, baseImage: builds ? config.baseImage : undefined };
  return Object.fromEntries(
    Object.entries(named).flatMap(([key, image]) => (image === undefined ? [] : [[key, image] as const])),
  );
}

/** An image that the engine lacks is looked up in its registry through the engine; one that needs a log-in is left to the pull. */
async function missingImage(socketPath: string, key: string, image: string): Promise<readonly ConfigProblem[]> {
  const there = await askEngine(socketPath, `/images/${encodeURI(image)}/json`);
  if (there.status !== 404) return [];
  const offered = await askEngine(socketPath, `/distribution/${encodeURI(image)}/json`);
  if (offered.status < 400 || /denied|unauthorized|authentication/i.test(offered.text)) return [];
  const { message: said = "" } = JSON.parse(offered.text) as { message?: string };
  const message = `found ${image}, which the engine does not have and can't get: ${said.trim().slice(0, 300)}. Load or pull it, or name another with \`pulumi config set ${key} …\`.`;
  return [{ key, message }];
}
