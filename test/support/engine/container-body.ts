import { z } from "zod";

const list = z.array(z.string()).optional();
const pairs = z.array(z.strictObject({ label: z.string(), value: z.string() })).default([]);

/** The provider's arguments that the program uses for a container; add a translation here before using another. */
const containerInputs = z.strictObject({
  name: z.string(),
  image: z.string(),
  command: list,
  entrypoints: list,
  envs: list,
  labels: pairs,
  user: z.string(),
  groupAdds: list,
  readOnly: z.boolean().default(false),
  tmpfs: z.record(z.string(), z.string()).optional(),
  capabilities: z.strictObject({ drops: z.array(z.string()) }),
  securityOpts: list,
  memory: z.int(),
  memorySwap: z.int(),
  cpus: z.string(),
  ulimits: z.array(z.strictObject({ name: z.string(), soft: z.int(), hard: z.int() })).optional(),
  init: z.boolean(),
  restart: z.string(),
  stopSignal: z.string().optional(),
  stopTimeout: z.int().optional(),
  logDriver: z.string().optional(),
  logOpts: z.record(z.string(), z.string()).optional(),
  volumes: z
    .array(
      z.strictObject({
        volumeName: z.string().optional(),
        hostPath: z.string().optional(),
        containerPath: z.string(),
        readOnly: z.boolean(),
      }),
    )
    .default([]),
  networkMode: z.string().optional(),
  networksAdvanced: z.array(z.strictObject({ name: z.string(), aliases: z.array(z.string()) })).default([]),
  ports: z
    .array(z.strictObject({ internal: z.int(), external: z.int(), ip: z.string(), protocol: z.literal("tcp") }))
    .default([]),
  healthcheck: z
    .strictObject({
      tests: z.array(z.string()),
      interval: z.string(),
      startInterval: z.string().optional(),
      timeout: z.string(),
      startPeriod: z.string(),
      retries: z.int(),
    })
    .optional(),
  uploads: z.array(z.strictObject({ file: z.string(), content: z.string(), permissions: z.string() })).default([]),
  // These arguments control how the provider waits and removes; they are not part of the request to the engine.
  attach: z.boolean().default(false),
  start: z.boolean().default(true),
  mustRun: z.boolean().default(true),
  wait: z.boolean().default(false),
  waitTimeout: z.int().default(60),
  destroyGraceSeconds: z.int().optional(),
});

export type ContainerInputs = z.output<typeof containerInputs>;

/** Checks a container's arguments. @throws {z.ZodError} for one that the translation does not support. */
export function readContainerInputs(inputs: Readonly<Record<string, unknown>>): ContainerInputs {
  return containerInputs.parse(inputs);
}

/**
 * Builds the request with which the Docker provider creates a container with these arguments (Engine API, "Create a
 * container").
 */
export function buildContainerBody(inputs: ContainerInputs): Readonly<Record<string, unknown>> {
  return {
    Image: inputs.image,
    Cmd: inputs.command,
    Entrypoint: inputs.entrypoints,
    Env: inputs.envs,
    Labels: Object.fromEntries(inputs.labels.map(({ label, value }) => [label, value])),
    User: inputs.user,
    StopSignal: inputs.stopSignal,
    StopTimeout: inputs.stopTimeout,
    Healthcheck: inputs.healthcheck === undefined ? undefined : buildHealthcheck(inputs.healthcheck),
    ExposedPorts: Object.fromEntries(inputs.ports.map(({ internal }) => [`${internal}/tcp`, {}])),
    HostConfig: buildHostConfig(inputs),
    NetworkingConfig: {
      // The engine accepts only one network when it creates a container; the others are connected afterwards, before the start.
      EndpointsConfig: Object.fromEntries(
        inputs.networksAdvanced.slice(0, 1).map(({ name, aliases }) => [name, { Aliases: aliases }]),
      ),
    },
  };
}

function buildHostConfig(inputs: ContainerInputs) {
  const mebibyte = 1_048_576;
  return {
    GroupAdd: inputs.groupAdds,
    ReadonlyRootfs: inputs.readOnly,
    Tmpfs: inputs.tmpfs,
    CapDrop: inputs.capabilities.drops,
    SecurityOpt: inputs.securityOpts,
    Memory: inputs.memory * mebibyte,
    MemorySwap: inputs.memorySwap * mebibyte,
    NanoCpus: Math.round(Number(inputs.cpus) * 1e9),
    Ulimits: inputs.ulimits?.map(({ name, soft, hard }) => ({ Name: name, Soft: soft, Hard: hard })),
    Init: inputs.init,
    RestartPolicy: { Name: inputs.restart },
    LogConfig: inputs.logDriver === undefined ? undefined : { Type: inputs.logDriver, Config: inputs.logOpts },
    Binds: inputs.volumes.map(
      ({ volumeName, hostPath, containerPath, readOnly }) =>
        `${volumeName ?? hostPath ?? ""}:${containerPath}:${readOnly ? "ro" : "rw"}`,
    ),
    NetworkMode: inputs.networksAdvanced[0]?.name ?? inputs.networkMode,
    PortBindings: Object.fromEntries(
      inputs.ports.map(({ internal, external, ip }) => [
        `${internal}/tcp`,
        [{ HostIp: ip, HostPort: String(external) }],
      ]),
    ),
  };
}

function buildHealthcheck({ tests, retries, ...spans }: NonNullable<ContainerInputs["healthcheck"]>) {
  return {
    Test: tests,
    Interval: parseNanoseconds(spans.interval),
    StartInterval: spans.startInterval === undefined ? undefined : parseNanoseconds(spans.startInterval),
    Timeout: parseNanoseconds(spans.timeout),
    StartPeriod: parseNanoseconds(spans.startPeriod),
    Retries: retries,
  };
}

function parseNanoseconds(text: string): number {
  const [, hours = "0", minutes = "0", seconds = "0"] = /^(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?$/.exec(text) ?? [];
  return (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1e9;
}
