import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { startFakeNode, type FakeNode } from "./fake-node.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";

export type StartedGateway = Readonly<{ node: FakeNode; gateway: TestGateway }>;

const hooks = { each: [beforeEach, afterEach], all: [beforeAll, afterAll] } as const;

/** The two ways in which a listener serves HTTP, with the setting for each. */
export const bothPaths = [
  ["the fast path", true],
  ["node:http", false],
] as const;

/**
 * Starts a fake node and a gateway for each test, or one for all, and passes them to `started`. Returns a function that starts them again
 * with other settings, within a test.
 */
export function useGateway(
  given: Record<string, object | string>,
  started: (pair: StartedGateway) => unknown,
  scope: keyof typeof hooks = "each",
) {
  const [before, after] = hooks[scope];
  let pair: StartedGateway;
  const start = async (settings: typeof given, limits: Parameters<typeof startFakeNode>[0] = {}) => {
    const node = await startFakeNode(limits);
    pair = { node, gateway: await startTestGateway(node, settings) };
    await started(pair);
  };
  const stop = async () => {
    await pair.gateway[Symbol.asyncDispose]();
    await pair.node[Symbol.asyncDispose]();
  };
  before(() => start(given));
  after(stop);
  return async (...args: Parameters<typeof start>) => {
    await stop();
    await start(...args);
  };
}
