import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { recordedStacks, locateRecording } from "../../infra/testing/recorded-stacks.ts";
import { pickComparedInputs } from "../../infra/testing/replacing-inputs.ts";
import { listRegistrations, type Registered, type Registration } from "../../infra/testing/stack-registrations.ts";

const liveMount = (service: string) => ({
  containerPath: "/run/gatehouse/live",
  readOnly: true,
  volumeName: `gh-${service}-live`,
});

/** Volume for the last working settings of a service whose ledger is not a file on a volume. */
const buildStateMount = (service: string) => ({
  containerPath: "/var/lib/gatehouse",
  readOnly: false,
  volumeName: `gh-${service}-state`,
});

/** Settings that stay in a service's environment; all others are in the file, and take effect by hot restart. */
const staysInEnvironment: Readonly<Record<string, RegExp>> = {
  sidecar: /^GATEHOUSE_SIDECAR_(NODE|MONITOR|PUSHGATEWAY|PRUNE_ENABLED|DOCKER|UPKEEP_STATE_DIRECTORY)/,
  facilitator: /^GATEHOUSE_FACILITATOR_(CHAIN_ID|CHAIN_RPC_URL|LEDGER_PATH|\w+_FILE)=/,
  "resource-server": /^GATEHOUSE_RESOURCE_SERVER_(CHAIN_ID|TOKEN_\w+|LEDGER_PATH|\w+_FILE)=/,
};

/**
 * Containers that this upgrade replaces once: their hot-reloaded files moved to a volume, or node.conf is no longer read from its earlier
 * locations. Applies the resulting differences to the last version's
 * inputs.
 */
const replacedOnce: Readonly<Record<string, (state: Inputs) => Inputs>> = {
  "gh-node-conf": ({ command, ...others }) => ({
    ...others,
    command: (command as readonly string[]).filter((word, at, all) => word !== "--adopt" && all[at - 1] !== "--adopt"),
  }),
  ...Object.fromEntries(
    Object.entries(staysInEnvironment).map(([service, stays]) => [
      `gh-${service}`,
      ({ envs, volumes, ...others }: Inputs) => ({
        ...others,
        command: [service, "--hot-restart"],
        envs: withVariables(
          (envs as readonly string[]).filter((variable) => stays.test(variable)),
          [
            `GATEHOUSE_${service.toUpperCase().replace("-", "_")}_SETTINGS_PATH=/run/gatehouse/live/settings.json5`,
            "XDG_STATE_HOME=/var/lib/gatehouse",
          ],
        ),
        volumes: [
          ...(JSON.stringify(volumes).includes("/var/lib/gatehouse") ? [] : [buildStateMount(service)]),
          ...(volumes as readonly unknown[]),
          liveMount(service),
        ],
      }),
    ]),
  ),
};

type Inputs = Readonly<Record<string, unknown>>;

function withVariables(envs: unknown, variables: readonly string[]): readonly string[] {
  const names = new Set(variables.map(nameOf));
  return [...(envs as readonly string[]).filter((other) => !names.has(nameOf(other))), ...variables];
}

function nameOf(variable: string): string {
  return variable.slice(0, variable.indexOf("="));
}

/** Sorts the inputs' variables, because a change of their order replaces nothing. */
function sortVariables(inputs: Inputs): Inputs {
  return Array.isArray(inputs["envs"]) ? { ...inputs, envs: inputs["envs"].toSorted() } : inputs;
}

describe.each(Object.entries(recordedStacks))("pulumi up over the last release's stack %s", (stack, config) => {
  const recorded = JSON.parse(readFileSync(locateRecording(stack), "utf8")) as readonly Registration[];
  let registered: readonly Registered[] = [];
  const successorOf = (urn: string) => registered.find(({ options }) => options.knownAs.includes(urn));

  beforeAll(async () => {
    registered = await listRegistrations(config);
  });

  it("finds every resource by URN or alias, and deletes none", () => {
    expect(recorded.length).toBeGreaterThan(20);
    expect(recorded.map(({ urn }) => urn).filter((urn) => successorOf(urn) === undefined)).toEqual([]);
  });

  it("replaces only the expected containers", () => {
    for (const before of recorded) {
      const { registration: now, options } = successorOf(before.urn) ?? { registration: undefined, options: undefined };
      const ignoreChanges = options?.ignoreChanges ?? [];
      const { replacing: state = {}, ...rest } = before;
      const { replacing = {}, ...others } = now ?? { urn: "" };
      expect({ ...others, urn: before.urn }, before.urn).toEqual(rest);
      const name = before.urn.split("::").at(-1) ?? "";
      const change = before.urn.includes("docker:index/container:Container::") ? replacedOnce[name] : undefined;
      const compared = pickComparedInputs(replacing, { state, ignoreChanges });
      if (change === undefined) expect(compared, before.urn).toEqual(state);
      else expect(sortVariables(compared), before.urn).toEqual(sortVariables(change(state)));
    }
  });

  it("ignores changed health check times of a running container, but no other change", () => {
    const times = ["interval", "startInterval", "timeout", "retries"].map((time) => `healthcheck.${time}`);
    for (const { registration, options } of registered) {
      if (!registration.urn.includes("docker:index/container:Container::")) continue;
      const isRequested = registration.replacing?.["healthcheck"] !== undefined;
      expect(options.ignoreChanges, registration.urn).toEqual(isRequested ? times : []);
    }
  });
});

describe("the recorded stacks", () => {
  it("have protected volumes", () => {
    const recorded = Object.keys(recordedStacks).flatMap(
      (stack) => JSON.parse(readFileSync(locateRecording(stack), "utf8")) as readonly Registration[],
    );
    const kept = recorded.filter(({ isProtected }) => isProtected).map(({ urn }) => urn.split("::").at(-1));
    expect(kept.length).toBeGreaterThan(0);
  });
});
