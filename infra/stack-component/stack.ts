import {
  ComponentResource,
  getStack,
  isSecret,
  log,
  output,
  secret,
  unsecret,
  type ComponentResourceOptions,
  type Inputs,
  type Output,
} from "@pulumi/pulumi";
import { ConfigError, type ConfigProblem } from "../config/config-problem.ts";
import { secretKeys } from "../config/config-schema.ts";
import { deploymentSecret } from "../config/pulumi-config.ts";
import { deployStack } from "../deploy-stack.ts";
import { listUnready, type UnreadyService } from "../unready-services.ts";
import { preflight } from "../preflight/preflight.ts";
import type { GivenConfiguration } from "../services/built-service.ts";
import { buildGrafanaOutput, buildStackOutputs, type StackOutputs } from "../stack-outputs.ts";
import { componentType } from "./package-schema.ts";
import { parseInputs, type StackInputs } from "./stack-inputs.ts";

/** Message for a preview that can't show the resources of a new or existing stack. The engine shows unregistered resources as deleted. */
const unknownInputs =
  "some inputs are unknown in this preview, so it shows only the component, and its existing children as deleted, which protectData rejects. Create or update the resource that provides them first with `pulumi up --target <its URN>`, or skip the preview with `pulumi up --skip-preview`.";

type PublishedData = StackOutputs &
  Readonly<{
    configuration: Readonly<Record<string, GivenConfiguration>>;
    grafana: ReturnType<typeof buildGrafanaOutput>;
    notReady: ReturnType<typeof listUnready>;
  }>;

/**
 * The whole system as one component: a guarded node, its Pushgateway, a facilitator and a resource server, on a Docker host or in a
 * Kubernetes namespace. docs/components.md lists its inputs and outputs. It creates a provider unless the option `provider` supplies one.
 *
 * @example
 * import { Stack } from "gatehouse-evm/pulumi";
 *
 * const stack = new Stack("pay", {
 *   target: "kubernetes",
 *   renderTo: "rendered",
 *   gatehouseImage: "registry.example/gatehouse:1",
 *   devnetImage: "registry.example/gatehouse-devnet:1",
 *   devAccounts: true,
 *   tokenAddress: token,
 * });
 * stack.status.apply((url) => url); // http://sidecar-status:9600/status
 */
export class Stack extends ComponentResource<PublishedData | undefined> {
  /** URLs by audience: the public, holders of a purchased token, operators. */
  readonly urls: Output<StackOutputs["urls"]>;
  /** URL of the sidecar's status as JSON; without the path, it is the URL of the sidecar's page. */
  readonly status: Output<string>;
  /** Commands that show the running system. */
  readonly tryThis: Output<StackOutputs["tryThis"]>;
  /** The account that pays the gas for settlements, and how to fund it. */
  readonly signer: Output<StackOutputs["signer"]>;
  /** Digests of each service's settings and files, for `gatehouse doctor --drift`. */
  readonly configuration: Output<PublishedData["configuration"]>;
  /** Grafana's user and password, if the stack includes Grafana. */
  readonly grafana: Output<Readonly<{ user: string; password: string }> | undefined>;
  /** Services that are running but not ready yet, with reasons; `undefined` if they can be reached only through a provider that was passed in. */
  readonly notReady: Output<readonly UnreadyService[] | undefined>;
  /** Rejects if the stack fails; if nothing awaits it, Pulumi exits with the error. */
  readonly #deployed: Promise<void>;

  constructor(name: string, args: StackInputs, opts?: ComponentResourceOptions) {
    const inputs = markSecrets(args);
    super(componentType, name, inputs, opts);
    this.#deployed = this.getData().then(() => undefined);
    // Grafana's password is the only secret output. A failure is reported only through `deployed`.
    const published = unsecret(output(inputs)).apply(() => this.getData().catch(() => undefined));
    const report = <Value>(read: (data: PublishedData) => Value) =>
      published.apply((all) => all && read(all as PublishedData)) as Output<Value>;
    this.urls = report(({ urls }) => urls);
    this.status = report(({ urls }) => getStatusUrl(urls));
    this.tryThis = report(({ tryThis }) => tryThis);
    this.signer = report(({ signer }) => signer);
    this.configuration = report(({ configuration }) => configuration);
    this.grafana = published.apply((all) => output((all as PublishedData | undefined)?.grafana));
    this.notReady = published.apply((all) => output((all as PublishedData | undefined)?.notReady));
  }

  /**
   * Resolves once all parts of the stack are registered.
   *
   * @throws {ConfigError} with the problems found in the inputs.
   */
  async deployed(): Promise<void> {
    await this.#deployed;
  }

  protected override async initialize(
    inputs: Inputs,
    _options?: ComponentResourceOptions,
    name = "",
  ): Promise<PublishedData | undefined> {
    const known = await resolveInputs(inputs);
    if (known === undefined) {
      await log.info(unknownInputs, this);
      return undefined;
    }
    try {
      return await this.#deploy(known, name);
    } catch (error) {
      throw error instanceof ConfigError ? toInputError(error, name) : error;
    }
  }

  async #deploy(inputs: Readonly<Record<string, unknown>>, name: string): Promise<PublishedData> {
    const { config, prefix } = parseInputs(inputs, { name, stack: getStack() });
    const provider = this.getProvider(
      config.target === "docker" ? "docker:index/container:Container" : "kubernetes:core/v1:Namespace",
    );
    await preflight(config, { prefix, environment: process.env, hasProvider: provider !== undefined });
    // Every image has a reference, so nothing is built and no directory is needed.
    const warn = (warning: ConfigProblem) => {
      const { key, message } = toInputProblem(warning);
      void log.warn(`${key}: ${message}`, this);
    };
    const { configuration, ready } = await deployStack(config, {
      prefix,
      root: ".",
      scope: { parent: this, provider },
      warn,
    });
    const outputs = buildStackOutputs(config);
    const grafana = buildGrafanaOutput(config, { prefix, secret: deploymentSecret });
    const notReady = provider === undefined ? listUnready(config, { prefix, deployed: ready }) : undefined;
    const data = { ...outputs, configuration, grafana, notReady };
    this.registerOutputs({ ...data, status: getStatusUrl(outputs.urls) });
    return data;
  }
}

/** Marks secret inputs as secrets for Pulumi, regardless of how they were passed. */
function markSecrets(args: StackInputs): Inputs {
  const hidden = new Set<string>(secretKeys);
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => [
      key,
      hidden.has(key) && value !== undefined ? secret<unknown>(value) : value,
    ]),
  );
}

/** Resolves the inputs' values. Returns `undefined` if some are unknown until other resources exist; a preview does not create those. */
async function resolveInputs(inputs: Inputs): Promise<Readonly<Record<string, unknown>> | undefined> {
  let known: Readonly<Record<string, unknown>> | undefined;
  const seen = output(inputs).apply((values) => {
    known = values;
  });
  // Resolves only after the output was inspected, or skipped as unknown.
  await isSecret(seen);
  return known;
}

function getStatusUrl({ operations }: StackOutputs["urls"]): string {
  return operations["status"] ?? "";
}

function toInputProblem({ key, message, inputMessage = message }: ConfigProblem): ConfigProblem {
  return { key, message: inputMessage };
}

function toInputError({ problems }: ConfigError, name: string): ConfigError {
  return new ConfigError(problems.map(toInputProblem), {
    what: `the inputs of ${name}; nothing was changed`,
    linePrefix: "",
  });
}
