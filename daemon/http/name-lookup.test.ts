import type { LookupAddress } from "node:dns";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createNameLookup, UnresolvedNameError } from "./name-lookup.ts";

type Callback = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;

const first: LookupAddress = { address: "192.0.2.7", family: 4 };
const second: LookupAddress = { address: "2001:db8::7", family: 6 };
const failure = (code: string) => Object.assign(new Error(code), { code });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A lookup through a system whose responses the test controls. */
function startLookup() {
  const asked: { hostname: string; callback: Callback }[] = [];
  const lookup = createNameLookup({ lookUp: (hostname, _, callback) => void asked.push({ hostname, callback }) });
  const find = (hostname: string, options: Readonly<{ all?: boolean; family?: number }> = { all: true }) =>
    new Promise<unknown>((resolve, reject) => {
      lookup(hostname, options, (error, address) => (error === null ? resolve(address) : reject(error)));
    });
  const answer = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[] = []) =>
    asked.at(-1)?.callback(error, addresses);
  return { asked, find, answer };
}

it("looks up a name once for concurrent requests", async () => {
  const { asked, find, answer } = startLookup();
  const finds = [find("node.test"), find("node.test"), find("node.test")];
  expect(asked.map(({ hostname }) => hostname)).toEqual(["node.test"]);
  answer(null, [first, second]);
  expect(await Promise.all(finds)).toEqual(Array.from({ length: 3 }, () => [first, second]));
  void find("node.test");
  expect(asked, "and again when it is needed again").toHaveLength(2);
});

it("returns one address, of the requested family", async () => {
  const { find, answer } = startLookup();
  const finds = [find("node.test", {}), find("node.test", { family: 6 }), find("node.test", { all: true, family: 4 })];
  answer(null, [first, second]);
  expect(await Promise.all(finds)).toEqual([first.address, second.address, [first]]);
  const missing = find("node.test", { family: 6 });
  answer(null, [first]);
  await expect(missing).rejects.toMatchObject({ code: "ENOTFOUND" });
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
  const { asked, find, answer } = startLookup();
  const found = find("node.test");
  answer(null, [first]);
  await found;
  const whileSilent = find("node.test");
  await vi.advanceTimersByTimeAsync(500);
  expect(await whileSilent).toEqual([first]);
  const joining = find("node.test");
  expect(asked, "the second query is in flight").toHaveLength(2);
  answer(failure("EAI_AGAIN"));
  expect(await joining).toEqual([first]);
  const moved = find("node.test");
  answer(null, [second]);
  expect(await moved).toEqual([second]);
});

it("distinguishes a name that never resolved from one that the server denies", async () => {
  const { find, answer } = startLookup();
  const unknown = find("node.test");
  answer(failure("EAI_AGAIN"));
  await expect(unknown).rejects.toThrow(UnresolvedNameError);
  const found = find("node.test");
  answer(null, [first]);
  await found;
  const denied = find("node.test");
  answer(failure("ENOTFOUND"));
  await expect(denied).rejects.toMatchObject({ code: "ENOTFOUND" });
});
