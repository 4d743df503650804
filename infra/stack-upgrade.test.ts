import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { recordedStacks, recordingOf } from "./testing/recorded-stacks.ts";
import { comparedInputs } from "./testing/replacing-inputs.ts";
import { registrationsOf, type Registered, type Registration } from "./testing/stack-registrations.ts";

describe.each(Object.entries(recordedStacks))("pulumi up over the last version's stack %s", (stack, config) => {
  const recorded = JSON.parse(readFileSync(recordingOf(stack), "utf8")) as readonly Registration[];
  let registered: readonly Registered[] = [];
  const successorOf = (urn: string) => registered.find(({ options }) => options.knownAs.includes(urn));

  beforeAll(async () => {
    registered = await registrationsOf(config);
  }, 30_000);

  it("knows every resource by its URN or an alias, so that it deletes none", () => {
    expect(recorded.length).toBeGreaterThan(20);
    expect(recorded.map(({ urn }) => urn).filter((urn) => successorOf(urn) === undefined)).toEqual([]);
  });

  it("replaces none: the inputs that would, the providers and what protects data are the same", () => {
    for (const before of recorded) {
      const { registration: now, options } = successorOf(before.urn) ?? { registration: undefined, options: undefined };
      const ignoreChanges = options?.ignoreChanges ?? [];
      const { replacing: state = {}, ...rest } = before;
      const { replacing = {}, ...others } = now ?? { urn: "" };
      expect({ ...others, urn: before.urn }, before.urn).toEqual(rest);
      expect(comparedInputs(replacing, { state, ignoreChanges }), before.urn).toEqual(state);
    }
  });

  it("lets a container that runs keep the times of its health check, and follows every other change", () => {
    const times = ["interval", "startInterval", "timeout", "retries"].map((time) => `healthcheck.${time}`);
    for (const { registration, options } of registered) {
      if (!registration.urn.includes("docker:index/container:Container::")) continue;
      const isAsked = registration.replacing?.["healthcheck"] !== undefined;
      expect(options.ignoreChanges, registration.urn).toEqual(isAsked ? times : []);
    }
  });
});

describe("the recorded stacks", () => {
  it("have volumes that Pulumi protects", () => {
    const recorded = Object.keys(recordedStacks).flatMap(
      (stack) => JSON.parse(readFileSync(recordingOf(stack), "utf8")) as readonly Registration[],
    );
    const kept = recorded.filter(({ isProtected }) => isProtected).map(({ urn }) => urn.split("::").at(-1));
    expect(kept.length).toBeGreaterThan(0);
  });
});
