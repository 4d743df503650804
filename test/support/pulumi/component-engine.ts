import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import {
  credentials,
  Server,
  ServerCredentials,
  type ServiceError,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
// Default imports, because Node finds no named exports in protobuf's generated files.
import aliasMessages from "@pulumi/pulumi/proto/alias_pb.js";
import engineService from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import type { LogRequest } from "@pulumi/pulumi/proto/engine_pb.js";
import providerService from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import providerMessages, {
  type ConstructRequest,
  type ConstructResponse,
  type GetSchemaResponse,
} from "@pulumi/pulumi/proto/provider_pb.js";
import monitorService from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import monitorMessages, {
  type RegisterResourceRequest,
  type ResourceInvokeRequest,
  type SupportsFeatureRequest,
} from "@pulumi/pulumi/proto/resource_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";

type Values = Readonly<Record<string, struct.JavaScriptValue>>;

export type RegisteredResource = Readonly<{
  type: string;
  name: string;
  parent: string;
  provider: string;
  inputs: Values;
  /** Names under which a stack's state may contain the resource. */
  aliases: readonly string[];
}>;

export type RequestedComponent = Readonly<{
  type?: string;
  name?: string;
  inputs: Values;
  alias?: string;
  providers?: Readonly<Record<string, string>>;
  isPreview?: boolean;
}>;

/**
 * Plays the part of Pulumi's engine for a component's plugin: starts the plugin, calls it, and records its registrations.
 */
export type ComponentEngine = AsyncDisposable &
  Readonly<{
    takeRegistered: () => readonly RegisteredResource[];
    logged: readonly string[];
    schema: () => Promise<string>;
    /** @throws {ServiceError} the plugin's errors. */
    construct: (asked: RequestedComponent) => Promise<Readonly<{ urn: string; state: Values }>>;
  }>;

const [project, stack] = ["shop", "test"];

export const programUrn = formatUrn("pulumi:pulumi:Stack", `${project}-${stack}`);

export const givenProvider = { urn: formatUrn("pulumi:providers:kubernetes", "ours"), id: "ours-id" };

/**
 * Starts a plugin like Pulumi's language host for Node.
 *
 * @param directory of the plugin; Pulumi's SDK is the one found from this directory.
 */
export async function startComponentEngine(directory: string): Promise<ComponentEngine> {
  await using resources = new AsyncDisposableStack();
  const registered: RegisteredResource[] = [];
  const logged: string[] = [];
  const monitor = resources.use(await serve(monitorService.ResourceMonitorService, createMonitor(registered)));
  const engine = resources.use(await serve(engineService.EngineService, { log: noteDown(logged) }));
  const runner = createRequire(join(directory, "index.cjs")).resolve("@pulumi/pulumi/cmd/run-plugin");
  // Pulumi captures a stack trace for every promise, which takes most of the time.
  const plugin = spawn(process.execPath, ["--stack-trace-limit=0", runner, directory, engine.address], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(plugin, "exit");
  resources.defer(async () => {
    plugin.kill();
    await ended;
  });
  const [port] = (await Promise.race([once(plugin.stdout, "data"), ended.then(() => ["none: the plugin ended"])])) as [
    Buffer | string,
  ];
  const client = new providerService.ResourceProviderClient(
    `127.0.0.1:${String(port).trim()}`,
    credentials.createInsecure(),
  );
  resources.defer(() => client.close());
  const held = resources.move();
  return {
    takeRegistered: () => registered.splice(0),
    logged,
    schema: async () => {
      const asked = new providerMessages.GetSchemaRequest();
      return (await waitForResponse<GetSchemaResponse>((done) => client.getSchema(asked, done))).getSchema();
    },
    construct: async (asked) => {
      const request = buildRequest(asked, monitor.address);
      const response = await waitForResponse<ConstructResponse>((done) => client.construct(request, done));
      return { urn: response.getUrn(), state: response.getState()?.toJavaScript() ?? {} };
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function buildRequest(
  {
    type = "gatehouse:index:Stack",
    name = "pay",
    inputs,
    alias,
    providers = {},
    isPreview = false,
  }: RequestedComponent,
  monitor: string,
): ConstructRequest {
  const request = new providerMessages.ConstructRequest();
  request.setProject(project).setStack(stack).setParallel(4).setDryrun(isPreview).setMonitorendpoint(monitor);
  request.setType(type).setName(name).setParent(programUrn);
  request.setInputs(struct.Struct.fromJavaScript(inputs));
  for (const [packageName, reference] of Object.entries(providers)) {
    request.getProvidersMap().set(packageName, reference);
  }
  if (alias !== undefined) {
    const before = new aliasMessages.Alias();
    before.setUrn(alias);
    request.addAliases(before);
  }
  return request;
}

type Callback<Response> = (error: ServiceError | null, response: Response) => void;

function waitForResponse<Response>(ask: (done: Callback<Response>) => unknown): Promise<Response> {
  return new Promise((resolve, reject) => {
    ask((error, response) => (error === null ? resolve(response) : reject(error)));
  });
}

type Handler<Request> = (call: Readonly<{ request: Request }>, done: (error: null, response: unknown) => void) => void;

const supportsFeature: Handler<SupportsFeatureRequest> = ({ request }, done) => {
  const response = new monitorMessages.SupportsFeatureResponse();
  // With output values, the plugin would send values in a different form.
  response.setHassupport(request.getId() !== "outputValues");
  done(null, response);
};

const registerResourceOutputs: Handler<unknown> = (_, done) => done(null, new empty.Empty());

/** The only call is for the provider that a component was given. */
const invoke: Handler<ResourceInvokeRequest> = ({ request }, done) => {
  const { urn } = request.getArgs()?.toJavaScript() ?? {};
  const response = new monitorMessages.ResourceInvokeResponse();
  response.setReturn(struct.Struct.fromJavaScript({ urn: urn ?? "", id: givenProvider.id, state: {} }));
  done(null, response);
};

function createMonitor(registered: RegisteredResource[]): UntypedServiceImplementation {
  const registerResource: Handler<RegisterResourceRequest> = ({ request }, done) => {
    const [type, name] = [request.getType(), request.getName()];
    registered.push({
      type,
      name,
      parent: request.getParent(),
      provider: request.getProvider(),
      inputs: request.getObject()?.toJavaScript() ?? {},
      aliases: request.getAliasesList().map((alias) => alias.getUrn()),
    });
    const response = new monitorMessages.RegisterResourceResponse();
    response.setUrn(formatUrn(type, name)).setId(`${name}-id`).setObject(request.getObject());
    done(null, response);
  };
  return { supportsFeature, registerResource, registerResourceOutputs, invoke };
}

function noteDown(logged: string[]): Handler<LogRequest> {
  return ({ request }, done) => {
    logged.push(request.getMessage());
    done(null, new empty.Empty());
  };
}

function formatUrn(type: string, name: string): string {
  return `urn:pulumi:${stack}::${project}::${type}::${name}`;
}

async function serve(
  service: Parameters<Server["addService"]>[0],
  handlers: UntypedServiceImplementation,
): Promise<AsyncDisposable & Readonly<{ address: string }>> {
  const server = new Server();
  server.addService(service, handlers);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    address: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}
