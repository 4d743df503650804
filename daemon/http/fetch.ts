import { lookupName } from "./name-lookup.ts";

/**
 * Creates a `fetch` that resolves names by {@link lookupName}, so that an unresolvable name blocks no other destination; Node's own accepts
 * no lookup. Loaded on first use: it takes 13 MiB.
 */
export function createFetch(): typeof globalThis.fetch {
  let loading: Promise<typeof globalThis.fetch> | undefined;
  return async (input, init) => {
    loading ??= load();
    return (await loading)(input, init);
  };
}

async function load(): Promise<typeof globalThis.fetch> {
  const { Agent, fetch } = await import("undici");
  const dispatcher = new Agent({ connect: { lookup: lookupName } });
  // Node's types and the library's follow two versions of the same standard.
  const fetchBy = fetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return (input, init) => fetchBy(input, { ...init, dispatcher });
}
