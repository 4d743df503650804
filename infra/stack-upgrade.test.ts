import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { recordedStacks, recordingOf } from "./testing/recorded-stacks.ts";
import { registrationsOf, type AliasedRegistration, type Registration } from "./testing/stack-registrations.ts";

describe.each(Object.entries(recordedStacks))("pulumi up over the last version's stack %s", (stack, config) => {
  const recorded = JSON.parse(readFileSync(recordingOf(stack), "utf8")) as readonly Registration[];
  let registered: readonly AliasedRegistration[] = [];
  const successorOf = (urn: string) => registered.find(({ knownAs }) => knownAs.includes(urn));

  beforeAll(async () => {
    registered = await registrationsOf(config);
  }, 30_000);

  it("knows every resource by its URN or an alias, so that it deletes none", () => {
    expect(recorded.length).toBeGreaterThan(20);
    expect(recorded.map(({ urn }) => urn).filter((urn) => successorOf(urn) === undefined)).toEqual([]);
  });

  it("replaces none: the inputs that would, the providers and what protects data are the same", () => {
    for (const { urn, ...before } of recorded) {
      const { urn: _urn, knownAs: _knownAs, ...now } = successorOf(urn) ?? { urn: "", knownAs: [] };
      expect(now, urn).toEqual(before);
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
