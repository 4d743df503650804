import type { LookupAddress } from "node:dns";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createNameLookup, UnresolvedNameError } from "./name-lookup.ts";

type Callback = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;

const first: LookupAddress = { address: "192.0.2.7", family: 4 };
const secondAddress: LookupAddress = { address: "2001:db8::7", family: 6 };
const failure = (code: string) => Object.assign(new Error(code), { code });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A lookup whose responses from the system the test controls. */
function startLookup() {
  const asked: { hostname: string; callback: Callback }[] = [];
  const lookup = createNameLookup({ lookUp: (hostname, _, callback) => void asked.push({ hostname, callback }) });
  const find = (hostname: string, options: Readonly<{ all?: boolean; family?: number }> = { all: true }) =>
    new Promise<unknown>((resolve, reject) => {
      lookup(hostname, options, (error, address) => (error === null ? resolve(address) : reject(error)));
    });
  const respond = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[] = []) =>
    asked.at(-1)?.callback(error, addresses);
  return { asked, find, respond };
}

it("looks up a name once for concurrent requests", async () => {
  const { asked, find, respond } = startLookup();
  const finds = [find("node.test"), find("node.test"), find("node.test")];
  expect(asked.map(({ hostname }) => hostname)).toEqual(["node.test"]);
  respond(null, [first, secondAddress]);
  expect(await Promise.all(finds)).toEqual(Array.from({ length: 3 }, () => [first, secondAddress]));
  void find("node.test");
  expect(asked, "and again when it is needed again").toHaveLength(2);
});

it("returns one address, of the requested family", async () => {
  const { find, respond } = startLookup();
  const finds = [find("node.test", {}), find("node.test", { family: 6 }), find("node.test", { all: true, family: 4 })];
  respond(null, [first, secondAddress]);
  expect(await Promise.all(finds)).toEqual([first.address, secondAddress.address, [first]]);
  const missingLookup = find("node.test", { family: 6 });
  respond(null, [first]);
  await expect(missingLookup).rejects.toMatchObject({ code: "ENOTFOUND" });
});

it("resolves localhost without a query", async () => {
  const { asked, find } = startLookup();
  expect(await find("LocalHost")).toEqual([
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ]);
  expect(await find("db.localhost", {})).toBe("127.0.0.1");
  expect(asked).toEqual([]);
});

it("uses the last known address while no name server responds, and the new one as soon as one does", async () => {
  const { asked, find, respond } = startLookup();
  const found = find("node.test");
  respond(null, [first]);
  await found;
  const whileSilent = find("node.test");
  await vi.advanceTimersByTimeAsync(500);
  expect(await whileSilent).toEqual([first]);
  const joinedLookup = find("node.test");
  expect(asked, "the second query is in flight").toHaveLength(2);
  respond(failure("EAI_AGAIN"));
  expect(await joinedLookup).toEqual([first]);
  const moved = find("node.test");
  respond(null, [secondAddress]);
  expect(await moved).toEqual([secondAddress]);
});

it("distinguishes a name that never resolved from one that the server denies", async () => {
  const { find, respond } = startLookup();
  const unknownLookup = find("node.test");
  respond(failure("EAI_AGAIN"));
  await expect(unknownLookup).rejects.toThrow(UnresolvedNameError);
  const found = find("node.test");
  respond(null, [first]);
  await found;
  const deniedLookup = find("node.test");
  respond(failure("ENOTFOUND"));
  await expect(deniedLookup).rejects.toMatchObject({ code: "ENOTFOUND" });
});
