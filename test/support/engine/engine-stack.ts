import type { PolicyResource } from "#policies/rule.ts";
import { mountpointOf } from "#infra/testing/recording-mocks.ts";
import { until } from "#daemon/testing/until.ts";
import { readContainerInputs, type ContainerInputs } from "./container-body.ts";
import { createContainer } from "./create-container.ts";
import { connectEngine, type EngineApi } from "./engine-api.ts";
import { removeContainer } from "./remove-container.ts";

const stackLabel = "io.gatehouse.stack";

export type ContainerState = Readonly<{
  Name: string;
  RestartCount: number;
  State: Readonly<{
    Running: boolean;
    StartedAt: string;
    ExitCode: number;
    Health?: Readonly<{ Status: string; Log: readonly Readonly<{ End: string; ExitCode: number }>[] }>;
  }>;
}>;

/** A stack that runs on an engine. Disposing of it removes everything with its label. */
export type EngineStack = AsyncDisposable &
  Readonly<{
    api: EngineApi;
    inspect: (container: string) => Promise<ContainerState>;
    replace: (resource: PolicyResource) => Promise<void>;
  }>;

/**
 * Handles a program's resources like the Docker provider: creates networks, volumes and containers in the order of
 * registration, uploads files, and waits if the program requests it.
 *
 * @throws {Error} with the name of the container that did not start, after removing everything.
 */
export async function runOnEngine(
  resources: readonly PolicyResource[],
  {
    url,
    prefix,
    keepsOnFailure = false,
  }: Readonly<{
    url: string;
    prefix: string;
    /** Whether created resources remain after a failure, as with `pulumi up`. */ keepsOnFailure?: boolean;
  }>,
): Promise<EngineStack> {
  const api = connectEngine(url);
  const inspect = async (container: string) =>
    (await api.call("GET", `/containers/${container}/json`)) as ContainerState;
  const stack: EngineStack = {
    api,
    inspect,
    replace: async ({ type, props }) => {
      await removeContainer(api, readContainerInputs(props).name);
      await make(stack, type, props);
    },
    [Symbol.asyncDispose]: async () => {
      await removeAll(api, prefix);
      await api[Symbol.asyncDispose]();
    },
  };
  try {
    for (const { type, props } of resources) await make(stack, type, props);
  } catch (error) {
    await (keepsOnFailure ? api : stack)[Symbol.asyncDispose]();
    throw error;
  }
  return stack;
}

async function make(stack: EngineStack, type: string, props: PolicyResource["props"]): Promise<void> {
  const labels = () =>
    Object.fromEntries(
      (props["labels"] as { label: string; value: string }[]).map(({ label, value }) => [label, value]),
    );
  const { name, driver, internal } = props as { name: string; driver?: string; internal?: boolean };
  if (type === "docker:index/network:Network") {
    const body = { Name: name, Driver: driver, Internal: internal, Labels: labels(), CheckDuplicate: true };
    await stack.api.call("POST", "/networks/create", body);
  } else if (type === "docker:index/volume:Volume") {
    const DriverOpts = await resolveDriverOptions(stack.api, props["driverOpts"]);
    await stack.api.call("POST", "/volumes/create", { Name: name, Labels: labels(), DriverOpts });
  } else if (type === "docker:index/container:Container") {
    await runContainer(stack, readContainerInputs(props));
  } else if (type.startsWith("docker:") && type !== "docker:index/remoteImage:RemoteImage") {
    throw new Error(`the tests can't create a ${type}`);
  }
}

/** Resolves a volume's options, which may contain another volume's path, known only to the engine. */
async function resolveDriverOptions(api: EngineApi, options: unknown): Promise<Readonly<Record<string, string>>> {
  const { device, ...rest } = (options ?? {}) as Readonly<Record<string, string>>;
  if (device?.startsWith(mountpointOf) !== true) return { ...rest };
  const [volume = "", ...inner] = device.slice(mountpointOf.length).split("/");
  const { Mountpoint } = (await api.call("GET", `/volumes/${volume}`)) as { Mountpoint: string };
  return { ...rest, device: [Mountpoint, ...inner].join("/") };
}

async function runContainer({ api, inspect }: EngineStack, inputs: ContainerInputs): Promise<void> {
  const { name } = inputs;
  await createContainer(api, inputs);
  if (!inputs.start) return;
  await api.call("POST", `/containers/${name}/start`);
  if (!inputs.mustRun) {
    const { StatusCode: status } = (await api.call("POST", `/containers/${name}/wait`)) as { StatusCode: number };
    if (status !== 0) throw new Error(`${name} ended with ${status}`);
  } else if (inputs.wait) {
    await until(
      `${name} is healthy`,
      inputs.waitTimeout * 1_000,
      async () => (await inspect(name)).State.Health?.Status === "healthy",
    ).catch(async (error: unknown) => {
      const { State: state } = await inspect(name);
      throw new Error(`${(error as Error).message}: ${JSON.stringify(state)}`);
    });
  }
}

async function removeAll(api: EngineApi, prefix: string): Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`${stackLabel}=${prefix}`] }));
  const containers = (await api.call("GET", `/containers/json?all=true&filters=${filters}`)) as { Id: string }[];
  await Promise.all(containers.map(({ Id: id }) => removeContainer(api, id)));
  const networks = (await api.call("GET", `/networks?filters=${filters}`)) as { Id: string }[];
  for (const { Id: id } of networks) await api.call("DELETE", `/networks/${id}`);
  const { Volumes: volumes } = (await api.call("GET", `/volumes?filters=${filters}`)) as {
    Volumes: { Name: string }[] | null;
  };
  for (const { Name: name } of volumes ?? []) await api.call("DELETE", `/volumes/${name}`);
}
